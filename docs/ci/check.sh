#!/bin/sh
# Check the repository around the current folder, in any CI: check.sh [BASE]
#
# With BASE, a branch or commit, only what the changes since then bring counts. MOELINT says what pip is to install; it
# goes into an environment of its own in .moelint-venv. Exit code: 0 nothing found, 1 findings, 2 an error.
set -eu

base=${1:-}
venv=.moelint-venv
cd "$(git rev-parse --show-toplevel)"

if [ ! -x "$venv/bin/moelint" ]; then
    : "${MOELINT:?set it to what pip is to install}"
    "${PYTHON:-python3}" -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet "$MOELINT"
fi

code=0
"$venv/bin/moelint" check --output concise --output json:moelint.json ${base:+--diff-base "$base"} || code=$?
if [ -e moelint-baseline.jsonl ]; then
    "$venv/bin/moelint" baseline prune --check || code=$((code ? code : $?))
fi
exit "$code"
