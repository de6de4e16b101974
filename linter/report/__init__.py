"""Reports: what a run found, in the formats that were asked for.

A format is one module in `formats/` with a function `render(report, page) -> str`; its file name is the format's name,
with `_` for `-`.
On the start-up path: what only some formats need is imported by them.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

from moelint.linter.errors import UsageError
from moelint.linter.outputs import format_names, parse_outputs
from moelint.linter.report.page import page_for
from moelint.linter.report.summary import summary_line

__all__ = ["format_names", "parse_outputs", "write"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Protocol, TextIO

    from moelint.linter.model import Report
    from moelint.linter.outputs import Output
    from moelint.linter.report.page import Page

    class Options(Protocol):
        """What a report must know of the command line."""

        @property
        def notes(self) -> bool:
            """Show notes in the text formats."""

        @property
        def statistics(self) -> bool:
            """Add the table of counts per rule to the text formats."""

        @property
        def show_suppressed(self) -> bool:
            """Put what comments and the baseline hide into the formats that can mark it as hidden."""

    class Format(Protocol):
        """A module in `formats/`."""

        def render(self, report: Report, page: Page) -> str:
            """The whole report as text that ends in a newline, or is empty."""


def write(
    outputs: Sequence[Output],
    report: Report,
    options: Options,
    *,
    sources: Mapping[str, bytes] | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
) -> None:
    """Write `report` in every format, then one summary line to standard error.

    `sources` holds the text of paths that are not to be read from disk (standard input). Raises UsageError for a file
    that cannot be written; a reader that closes the pipe early is no error.
    """
    stdout, stderr = stdout or sys.stdout, stderr or sys.stderr
    gap = ""
    for name, file in outputs:
        page = page_for(
            stdout if file is None else None,
            notes=options.notes,
            statistics=options.statistics,
            suppressed=options.show_suppressed,
            sources=sources,
        )
        style: Format = import_module(f"{__name__}.formats.{name.replace('-', '_')}")
        text = style.render(report, page)
        if file is None:
            _print(text, stdout)
            gap = "\n" if text and stderr.isatty() else ""
        else:
            _save(text, file)
    _print(f"{gap}{summary_line(report, notes=options.notes)}\n", stderr)


def _print(text: str, stream: TextIO) -> None:
    """Write what the stream's encoding can hold, the rest as escapes."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    try:
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        stream.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _save(text: str, file: str) -> None:
    try:
        os.makedirs(os.path.dirname(file) or ".", exist_ok=True)
        with open(file, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error
