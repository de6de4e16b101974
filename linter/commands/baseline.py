"""`moelint baseline`: write down what is there today, so that only what is new counts."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from moelint.linter import baseline, check, options, ratchet
from moelint.linter.errors import UsageError
from moelint.linter.model import Report
from moelint.linter.plan import plan_for
from moelint.linter.registry import entries
from moelint.linter.report.formats.concise import render
from moelint.linter.report.page import Page
from moelint.linter.report.summary import plural
from moelint.linter.report.text import one_line, shown_path

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from moelint.linter.baseline import Entry, Verdict
    from moelint.linter.model import Finding
    from moelint.linter.plan import Plan

_OK, _FAILED, _ERROR = 0, 1, 2
_HELP = """\
Keep the findings of today from counting.

  create   write a new baseline of all findings
  update   bring it up to date; refuses to add anything unless --grow says so
  prune    take out what is gone, follow what moved
  show     list what is in it

Paths and other options are those of `moelint check`; --baseline FILE names the file.
"""


def main(argv: Sequence[str]) -> int:
    """Run one of the actions. What they do not know of `argv` are options and paths of `moelint check`.

    Exit code: 0 done, 1 refused or a file could not be checked, 2 wrong usage or an internal error.
    """
    parser = _parser()
    own, rest = parser.parse_known_args(argv)
    if (own.grow and own.action != "update") or (own.check and own.action != "prune"):
        parser.error(f"--grow goes with update, --check with prune, and neither with {own.action}")
    wanted = options.parse(rest)
    plan = plan_for(wanted)
    file = shown_path(plan.baseline or os.path.join(plan.root, baseline.DEFAULT))
    if own.action == "show":
        sys.stdout.write(_listing(baseline.read(file)))
        return _OK
    if own.action == "create" and os.path.lexists(file):
        raise UsageError(f"{file} is there already; `moelint baseline update --grow` takes new findings in")
    outcome = check.run(wanted.paths, plan)
    run = ratchet.Run(plan, wanted.paths, outcome.paths, check.report(outcome))
    code = {"create": _create, "update": _update, "prune": _prune}[own.action](run, file, own, plan)
    return max(code, _failures(run.report))


def _create(run: ratchet.Run, file: str, own: Namespace, plan: Plan) -> int:
    found = baseline.entries_of(run.report.findings, _folder(file), own.reason)
    baseline.write(file, found)
    _say(f"{file}: {_size(found)}")
    if plan.baseline is None:
        _say(f'to use it, put `baseline = "{os.path.basename(file)}"` into the table [tool.moelint] of pyproject.toml')
    _say(f"to merge it without conflicts, put `{os.path.basename(file)} merge=union` into .gitattributes")
    return _OK


def _update(run: ratchet.Run, file: str, own: Namespace, plan: Plan) -> int:
    verdict = run.compare(file)
    new = [finding for finding in verdict.new if finding.severity != "note"]
    if new and not own.grow:
        _show(new)
        _say(f"{file}: unchanged, because {plural(len(new), 'finding')} would be added; --grow adds them")
        return _FAILED
    added = baseline.entries_of(new, _folder(file), own.reason)
    all_of_them = baseline.summed((*verdict.entries, *added))
    baseline.write(file, all_of_them)
    _say(f"{file}: {_size(all_of_them)}; {sum(entry.allowed for entry in added)} added, {_changes(verdict)}")
    return _OK


def _prune(run: ratchet.Run, file: str, own: Namespace, plan: Plan) -> int:
    verdict = run.compare(file)
    for entry in verdict.stale:
        print(f"{_place(entry)}: {entry.allowed} gone")
    if own.check:
        current = baseline.is_current(file, verdict.entries)
        state = "current" if current else f"not current, {_changes(verdict)}"
        _say(f"{file}: {state}")
        return _OK if current else _FAILED
    baseline.write(file, verdict.entries)
    _say(f"{file}: {_size(verdict.entries)}; {_changes(verdict)}")
    return _OK


def _changes(verdict: Verdict) -> str:
    return f"{sum(entry.allowed for entry in verdict.stale)} gone, {len(verdict.moved)} moved"


def _failures(report: Report) -> int:
    """Say what could not be checked, which no baseline can hold, and how bad that is."""
    if not report.diagnostics:
        return _OK
    sys.stderr.write(render(Report((), report.diagnostics, (), 0, 0, 0), Page()))
    return _ERROR if any(item.internal for item in report.diagnostics) else _FAILED


def _show(findings: Sequence[Finding]) -> None:
    sys.stdout.write(render(Report(tuple(findings), (), (), 0, 0, 0), Page()))


def _listing(listed: Sequence[Entry]) -> str:
    lines = [
        f"{_place(entry)}: {entry.allowed}{f' -- {one_line(entry.reason)}' if entry.reason else ''}" for entry in listed
    ]
    return "".join(f"{line}\n" for line in [*lines, _size(listed)])


def _place(entry: Entry) -> str:
    return one_line(f"{entry.key.path}: {entry.key.code} {_name(entry.key.code)} in {entry.key.qualname}")


def _name(code: str) -> str:
    return _names().get(code, "unknown-rule")


@cache
def _names() -> dict[str, str]:
    return {rule.code: rule.name for rule in entries()}


def _size(sized: Sequence[Entry]) -> str:
    files = len({entry.key.path for entry in sized})
    return f"{plural(sum(entry.allowed for entry in sized), 'finding')} in {plural(files, 'file')}"


def _folder(file: str) -> str:
    return os.path.dirname(os.path.abspath(file))


def _say(text: str) -> None:
    print(f"moelint: {text}", file=sys.stderr)


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser, RawDescriptionHelpFormatter

    parser = ArgumentParser(
        "moelint baseline",
        usage="moelint baseline ACTION [OPTIONS] [PATHS]",
        description=_HELP,
        formatter_class=RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("action", metavar="ACTION", choices=("create", "update", "prune", "show"), help="one of those")
    parser.add_argument("--reason", default="", metavar="TEXT", help="why what is added may stay")
    parser.add_argument("--grow", action="store_true", help="update: add what is new")
    parser.add_argument(
        "--check", action="store_true", help="prune: write nothing, exit with 1 if there is anything to do"
    )
    return parser
