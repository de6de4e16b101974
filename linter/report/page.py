"""What a format must know of the place its text will be shown in."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

_DEFAULT_WIDTH = 100
_MIN_WIDTH = 40


class Page:
    """The paper: width in columns, what it can show, and what the reader wants to see on it.

    `sources` is the text of paths that are not to be read from disk.
    """

    __slots__ = ("colour", "notes", "sources", "statistics", "suppressed", "unicode", "width")

    def __init__(
        self,
        width: int = _DEFAULT_WIDTH,
        *,
        colour: bool = False,
        unicode: bool = True,
        notes: bool = False,
        statistics: bool = False,
        suppressed: bool = False,
        sources: Mapping[str, bytes] | None = None,
    ) -> None:
        self.width = width
        self.colour = colour
        self.unicode = unicode
        self.notes = notes
        self.statistics = statistics
        self.suppressed = suppressed
        self.sources = sources or {}


def page_for(
    stream: TextIO | None,
    *,
    notes: bool = False,
    statistics: bool = False,
    suppressed: bool = False,
    sources: Mapping[str, bytes] | None = None,
) -> Page:
    """The page that `stream` is; None is a file, which is plain UTF-8 text."""
    if stream is None:
        return Page(notes=notes, statistics=statistics, suppressed=suppressed, sources=sources)
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return Page(
        _width(stream),
        colour=colour_wanted(stream),
        unicode=encoding.lower().startswith("utf"),
        notes=notes,
        statistics=statistics,
        suppressed=suppressed,
        sources=sources,
    )


def colour_wanted(stream: TextIO) -> bool:
    """Colour is for terminals that have it, unless NO_COLOR is set (https://no-color.org)."""
    environ = os.environ
    if not stream.isatty() or environ.get("NO_COLOR") or environ.get("TERM") == "dumb":
        return False
    return os.name != "nt" or "WT_SESSION" in environ or "TERM" in environ


def _width(stream: TextIO) -> int:
    """COLUMNS, or the terminal's width, or a width that suits a log."""
    columns = os.environ.get("COLUMNS", "")
    if columns.isdigit() and int(columns):
        return max(int(columns), _MIN_WIDTH)
    try:
        return max(os.get_terminal_size(stream.fileno()).columns, _MIN_WIDTH)
    except (OSError, ValueError):
        return _DEFAULT_WIDTH
