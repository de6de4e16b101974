"""Positions as clients count them: lines from 0, columns in UTF-8, UTF-16 or UTF-32 units, as was negotiated."""

from __future__ import annotations

from collections.abc import Sequence

from lsprotocol import types

from moelint.linter.model import Region

UTF8, UTF16, UTF32 = "utf-8", "utf-16", "utf-32"


def units(text: str, encoding: str) -> int:
    """The length of `text` in code units of `encoding`."""
    if encoding == UTF32 or text.isascii():
        return len(text)
    if encoding == UTF8:
        return len(text.encode("utf-8", "surrogatepass"))
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def characters(line: str, count: int, encoding: str) -> int:
    """How many characters of `line` its first `count` code units are; a cut through a character counts it as a whole,
    what lies behind the end is the end."""
    if encoding == UTF32 or line.isascii():
        return min(count, len(line))
    total = 0
    for number, character in enumerate(line):
        if total >= count:
            return number
        total += units(character, encoding)
    return len(line)


def to_position(lines: Sequence[str], line: int, column: int, encoding: str) -> types.Position:
    """The position of a line and column, both from 1, the column in characters. `lines` may be older than the
    finding: what is not there any more is clamped."""
    if line > len(lines):
        last = len(lines) - 1
        return types.Position(last, units(lines[last], encoding))
    return types.Position(line - 1, units(lines[line - 1][: column - 1], encoding))


def to_range(lines: Sequence[str], region: Region, encoding: str) -> types.Range:
    """The range of a region of the text with these lines."""
    return types.Range(
        to_position(lines, region.line, region.col, encoding),
        to_position(lines, region.end_line, region.end_col, encoding),
    )


def line_range(lines: Sequence[str], line: int, encoding: str) -> types.Range:
    """The range of line `line`, from 1, without the space before it."""
    text = lines[min(line, len(lines)) - 1]
    start = len(text) - len(text.lstrip())
    return to_range(lines, Region(line, start + 1, line, len(text) + 1), encoding)


def region_of(lines: Sequence[str], span: types.Range, encoding: str) -> Region:
    """The region that a client's range stands for."""
    (line, col), (end_line, end_col) = (
        (place.line + 1, characters(lines[place.line], place.character, encoding) + 1)
        if place.line < len(lines)
        else (len(lines), len(lines[-1]) + 1)
        for place in (span.start, span.end)
    )
    return Region(line, col, end_line, end_col)
