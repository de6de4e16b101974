"""The command lines: moelint, and one equivalent check in each of its peers."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from measure import Contestant
from pattern import ATTRIBUTE

HERE = Path(__file__).resolve().parent
BIN = Path(sys.executable).parent
PYLINT_DONE = frozenset(code for code in range(32) if not code & 1)
"""pylint's exit code is a bit mask; bit 0 is a fatal message."""


def executable(name: str) -> str | None:
    """Beside this interpreter first, then on the path."""
    return shutil.which(name, path=os.pathsep.join((str(BIN), os.environ.get("PATH", ""))))


def version(name: str) -> str:
    """What the tool says of itself, or that it is missing."""
    path = executable(name)
    if path is None:
        return "not found, left out"
    said = subprocess.run([path, "--version"], stdin=subprocess.DEVNULL, capture_output=True, text=True).stdout
    numbers = re.search(r"\d+\.\d+(?:\.\w+)*", said)
    return numbers[0] if numbers else "unknown"


def lines(text: str) -> int:
    return sum(1 for line in text.splitlines() if line.strip())


def mentions(text: str) -> int:
    return sum(1 for line in text.splitlines() if f"read of {ATTRIBUTE}" in line)


def place(target: Path) -> tuple[Path, str]:
    """Where to stand and what to name there."""
    return (target, ".") if target.is_dir() else (target.parent, target.name)


def moelint(name: str, target: Path, *options: str) -> Contestant:
    folder, inside = place(target)
    return Contestant(name, [str(BIN / "moelint"), "check", *options, inside], folder, lines)


def interpreter(cwd: Path) -> Contestant:
    return Contestant("python -c pass", [sys.executable, "-c", "pass"], cwd)


def ripgrep(target: Path) -> Contestant | None:
    path = executable("rg")
    if path is None:
        return None
    return Contestant("rg -l", [path, "-uu", "-l", "-t", "py", ATTRIBUTE, "."], target, lines)


def ruff(target: Path) -> Contestant:
    options = ["--select", "F", "--no-cache", "--isolated", "--no-respect-gitignore", "--quiet"]
    folder, inside = place(target)
    return Contestant("ruff F", [str(BIN / "ruff"), "check", *options, inside], folder)


def ast_grep(target: Path) -> Contestant | None:
    path = executable("ast-grep")
    if path is None:
        return None
    command = [
        path,
        "run",
        "--pattern",
        f"$OWNER.{ATTRIBUTE}",
        "--lang",
        "python",
        "--no-ignore",
        "vcs",
        "--json=stream",
    ]
    return Contestant("ast-grep", [*command, "."], target, lines)


def flake8(target: Path) -> Contestant:
    command = [str(BIN / "flake8"), "--config", str(HERE / "flake8.ini"), "--exclude", ".git", "."]
    return Contestant("flake8 plug-in", command, target, mentions)


def pylint(target: Path, files: list[Path], scratch: Path) -> Contestant:
    """pylint is given the files by name: its own walk leaves out folders without an `__init__.py`."""
    options = ["--load-plugins=attribute_pylint", "--disable=all", "--enable=attribute-read", "-j2"]
    names = [str(path.relative_to(target)) for path in files]
    environment = {"PYTHONPATH": str(HERE), "PYLINTHOME": str(scratch), "PYLINTRC": os.devnull}
    command = [str(BIN / "pylint"), *options, *names]
    return Contestant("pylint checker", command, target, mentions, PYLINT_DONE, environment)
