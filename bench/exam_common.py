"""What the exams share: releases on disk, moelint run as a user would run it, and its JSON report read back."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
_DEFINITIONS = ("def ", "async def ", "class ")


class ExamError(Exception):
    """The exam cannot be held; the text says why."""


@dataclass(frozen=True, slots=True)
class Span:
    """Lines of one file, 1-based, both ends included. `path` is relative to the folder that was checked."""

    path: str
    first: int
    last: int

    def meets(self, other: Span) -> bool:
        return self.path == other.path and self.first <= other.last and other.first <= self.last

    def __str__(self) -> str:
        return f"{self.path}:{self.first}" + (f"-{self.last}" if self.last != self.first else "")


@dataclass(frozen=True, slots=True)
class Found:
    """A finding of the report: what it is, where it is, and the places it refers to."""

    code: str
    name: str
    family: str
    severity: str
    message: str
    span: Span
    related: tuple[Span, ...]

    @property
    def is_note(self) -> bool:
        return self.severity == "note"

    def __str__(self) -> str:
        return f"{self.span} {self.code} {self.name} ({self.severity})"


@dataclass(frozen=True, slots=True)
class Run:
    """One run over a folder. `code` is the exit code."""

    folder: Path
    code: int
    files: int
    findings: tuple[Found, ...]
    diagnostics: tuple[str, ...]

    def text(self, span: Span) -> str:
        """The first line of a span, as it stands in the file."""
        return _lines(self.folder / span.path)[span.first - 1].strip()


def run(folder: Path, *more: str, sound: bool = True) -> Run:
    """Check `folder` with the command of this interpreter's environment, whatever the configuration and the cache, and
    with `more` options.
    Raises ExamError where it leaves no report, and where a `sound` run is wanted and it ends with something else than
    0 or 1."""
    with tempfile.TemporaryDirectory(prefix="moelint-exam-") as scratch:
        report = Path(scratch, "report.json")
        command = [sys.executable, "-m", "moelint", "check", "--isolated", "--no-cache", "--no-progress"]
        done = subprocess.run(
            [*command, "--output", f"json:{report}", *more],
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        )
        if not report.is_file() or (sound and done.returncode not in (0, 1)):
            raise ExamError(f"moelint on {folder} ended with {done.returncode}:\n{done.stderr[-2000:]}")
        data = json.loads(report.read_text("utf-8"))
    return Run(
        folder,
        done.returncode,
        data["summary"]["files"],
        tuple(_found(folder, item) for item in data["findings"]),
        tuple(f"{item['path']}:{item['line']} {item['code']} {item['message']}" for item in data["diagnostics"]),
    )


def _found(folder: Path, item: dict[str, Any]) -> Found:
    return Found(
        item["code"],
        item["name"],
        item["family"],
        item["severity"],
        " ".join(item["message"].split()),
        _span(folder, item),
        tuple(_span(folder, place) for place in item["related"]),
    )


def _span(folder: Path, place: dict[str, Any]) -> Span:
    """The lines of a place; of a definition the first, since to point at a function is not to report its body."""
    path, region = str(place["path"]), place["region"]
    first, last = int(region["line"]), int(region["end_line"])
    if last > first:
        text = _lines(folder / path)[first - 1][region["column"] - 1 :]
        last = first if text.startswith(_DEFINITIONS) else last
    return Span(path, first, last)


def _lines(path: Path) -> list[str]:
    return path.read_bytes().decode("utf-8", "replace").split("\n")


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options that the exams share."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument(
        "--releases",
        type=Path,
        default=ROOT / ".releases",
        metavar="DIR",
        help="where NAME-VERSION folders are, and where missing ones are unpacked (default: .releases)",
    )
    return parser


def release(name: str, releases: Path) -> Path:
    """The folder of a release, `NAME-VERSION`, fetched if it is not there. Raises ExamError."""
    folder = releases / name
    if not folder.is_dir():
        package, _, version = name.partition("-")
        command = [sys.executable, str(ROOT / "tools" / "fetch_release.py"), f"{package}=={version}"]
        done = subprocess.run([*command, "--into", str(releases)], capture_output=True, text=True, errors="replace")
        if done.returncode or not folder.is_dir():
            raise ExamError(f"{name} is not in {releases} and cannot be fetched:\n{done.stderr[-2000:]}")
    return folder.resolve()


def percent(part: int, whole: int) -> float:
    """Of nothing, everything."""
    return 100.0 * part / whole if whole else 100.0


def hold(exam: Callable[[], int]) -> int:
    """The exit code of an exam; 2 where it cannot be held."""
    try:
        return exam()
    except ExamError as problem:
        print(f"exam: {problem}", file=sys.stderr)
        return 2
