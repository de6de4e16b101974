"""Source frames: the lines around a region, laid out in terminal cells, and the marks under the region.

Pure layout: tabs, wide and invisible characters and lines longer than the page are dealt with here, colours are not.
"""

from __future__ import annotations

import os
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from moelint.linter.model import Region
from moelint.linter.report.text import printable
from moelint.linter.source import Source

_TAB = 4
_SHOWN_LINES = 6
"""Of a longer region the first lines and the last one are shown."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a frame. `number` is None where lines are left out; the marks span the cells `[start, end)`."""

    number: int | None
    text: str = ""
    start: int = 0
    end: int = 0
    inside: bool = False
    """The line belongs to a region of several lines."""

    @property
    def marked(self) -> bool:
        return self.end > self.start


class Unreadable(Exception):
    """The source cannot be shown; the text says why."""


class Sources:
    """Sources by path, read when they are first wanted."""

    def __init__(self, given: Mapping[str, bytes]) -> None:
        self._given = given
        self._read: dict[str, Source | Unreadable] = {}

    def get(self, path: str) -> Source:
        """The source of `path` as it is now. Raises Unreadable."""
        found = self._read.get(path)
        if found is None:
            found = self._read[path] = self._load(path)
        if isinstance(found, Unreadable):
            raise found
        return found

    def _load(self, path: str) -> Source | Unreadable:
        data = self._given.get(path)
        try:
            if data is None:
                with open(path, "rb") as stream:
                    data = stream.read()
        except (OSError, ValueError) as error:
            return Unreadable((isinstance(error, OSError) and error.strerror) or str(error))
        return Source(os.fspath(path), data)


def frame(source: Source, region: Region, width: int, context: int, *, unicode: bool = True) -> list[Row]:
    """The region's lines, with up to `context` lines before and after, in at most `width` cells.

    Without `unicode` every character that is not ASCII is shown as question marks of the same width.
    Raises Unreadable if the region lies behind the end of the file, which must have changed since it was checked.
    """
    count = len(source.lines)
    if not 0 < region.line <= count:
        raise Unreadable("the file has changed since it was checked")
    last = min(max(region.end_line, region.line), count)
    first_shown, last_shown = region.line, last
    for number in range(region.line - 1, max(region.line - context, 1) - 1, -1):
        if source.line_text(number).strip():
            first_shown = number
    for number in range(last + 1, min(last + context, count) + 1):
        if source.line_text(number).strip():
            last_shown = number
    lines = {number: _Line(source.line_text(number), unicode) for number in range(first_shown, last_shown + 1)}
    spans = {number: _span(lines[number], region, number, last) for number in range(region.line, last + 1)}
    left = _left_edge(lines[region.line], spans[region.line], width)
    if left:
        lines = {number: line for number, line in lines.items() if number in spans}
    return list(_rows(lines, spans, left, width))


def _rows(lines: dict[int, _Line], spans: dict[int, tuple[int, int]], left: int, width: int) -> Iterator[Row]:
    begin, end = min(spans), max(spans)
    long = end - begin + 1 > _SHOWN_LINES
    for number, line in lines.items():
        if long and begin + _SHOWN_LINES - 2 <= number < end:
            if number == end - 1:
                yield Row(None, inside=True)
            continue
        text, start, stop = line.cut(left, width, *(spans[number] if number in (begin, end) else (0, 0)))
        yield Row(number, text, start, stop, inside=begin != end and number in spans)


class _Line:
    """A line in cells: `at[i]` is the cell at which character `i` starts."""

    def __init__(self, raw: str, unicode: bool) -> None:
        self.raw = raw
        self._ellipsis = "…" if unicode else "~"
        self.shown: Sequence[str] = raw
        self.at: Sequence[int] = range(len(raw) + 1)
        if not (raw.isascii() and raw.isprintable()):
            self._lay_out(unicode)

    def _lay_out(self, unicode: bool) -> None:
        self.shown, self.at = shown_all, at = [], [0]
        for char in self.raw:
            cell = at[-1]
            shown = " " * (_TAB - cell % _TAB) if char == "\t" else printable(char)
            if not (unicode or shown.isascii()):
                shown = "?" * cells(shown)
            shown_all.append(shown)
            at.append(cell + cells(shown))

    def cell(self, col: int) -> int:
        """The cell of the 1-based column `col`, which may lie behind the end."""
        return self.at[min(max(col, 1) - 1, len(self.raw))]

    def cut(self, left: int, width: int, start: int, end: int) -> tuple[str, int, int]:
        """The text of the cells `[left, left + width)` and the span moved into it; an ellipsis marks each cut."""
        total = self.at[-1]
        right = left + width
        low, high = left + (left > 0), right - (total > right)
        first, last = bisect_left(self.at, low), bisect_right(self.at, high) - 1
        pad = self.at[first] - left if first < last else 0
        text = self._ellipsis.ljust(pad) if left and total > left else " " * pad
        text = (text + "".join(self.shown[first:last])).rstrip() + (self._ellipsis if total > right else "")
        start, end = max(start - left, 0), min(end - left, width)
        return text, start, max(end, start)


def _span(line: _Line, region: Region, number: int, last: int) -> tuple[int, int]:
    """The cells of the region on one of its lines; never empty, so that there is something to point at."""
    indent = len(line.raw) - len(line.raw.lstrip()) + 1
    start = line.cell(region.col if number == region.line else indent)
    end = line.cell(region.end_col if number == last == region.end_line else len(line.raw.rstrip()) + 1)
    return start, max(end, start + 1)


def _left_edge(line: _Line, span: tuple[int, int], width: int) -> int:
    """How many cells to leave out on the left so that the region is in view with some of what precedes it."""
    total, (start, end) = line.at[-1], span
    if total <= width or end < width:
        return 0
    lead = max((width - (end - start)) // 2, width // 8)
    return max(0, min(start - lead, total - width))


def cells(text: str) -> int:
    """The width of `text` on a terminal."""
    if text.isascii():
        return len(text)
    return sum(_char_cells(char) for char in text)


def _char_cells(char: str) -> int:
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in ("W", "F") else 1
