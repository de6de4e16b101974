"""The text of a file, plain enough for libcst, and the way from there back to the bytes of the file."""

from __future__ import annotations

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from difflib import SequenceMatcher

from moelint.linter.decoding import declared_encoding, to_utf8
from moelint.linter.model import Edit, Region

BOM = b"\xef\xbb\xbf"
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")


def encoding_of(data: bytes) -> str:
    """The encoding in which a file is to be written again."""
    return "utf-8" if data.startswith(BOM) else declared_encoding(data) or "utf-8"


def parses(data: bytes) -> bool:
    """Whether the bytes are a Python file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(to_utf8(data).decode("utf-8-sig"))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
    return True


class Text:
    """`plain` is the text without byte order mark and form feeds and with `\\n` as line end, as libcst keeps it; edits
    of it become edits of the file, which lose none of these.

    Raises UnicodeError or LookupError for bytes that do not become the same bytes again.
    """

    def __init__(self, data: bytes) -> None:
        self._encoding = encoding_of(data)
        self._mark = len(BOM) if data.startswith(BOM) else 0
        self._text = data[self._mark :].decode(self._encoding)
        if self._text.encode(self._encoding) != data[self._mark :]:
            raise UnicodeError("the text cannot be written again as it is")
        self._line_starts = [0, *(match.end() for match in _LINE_END.finditer(self._text))]
        self._origin = _origins(self._text)
        """For each character of `plain`, where it is in the text; at last, the length of the text."""
        self.plain = "".join("\n" if self._text[at] == "\r" else self._text[at] for at in self._origin[:-1])
        end = _LINE_END.search(self._text)
        self._line_end = end[0] if end else "\n"

    @property
    def decoded(self) -> str:
        """The text as it is, without the byte order mark."""
        return self._text

    def offset(self, line: int, col: int) -> int:
        """The character of `plain` at a place of the file; lines and columns count from 1."""
        return bisect_left(self._origin, self._line_starts[line - 1] + col - 1)

    def edits_to(self, new: str) -> tuple[Edit, ...]:
        """The smallest edits, of whole runs of lines less what is equal at both ends, that make `plain` into `new`."""
        return tuple(self.edit(*change) for change in _changes(self.plain, new))

    def edit(self, start: int, end: int, new: str) -> Edit:
        """Put `new` in place of the characters `start` to `end` of `plain`."""
        first = self._origin[start]
        last = first if start == end else self._after(end - 1)
        byte = self._mark + len(self._text[:first].encode(self._encoding))
        length = len(self._text[first:last].encode(self._encoding))
        region = Region(*self._place(first), *self._place(last))
        return Edit(byte, byte + length, new.replace("\n", self._line_end), region)

    def _after(self, position: int) -> int:
        at = self._origin[position]
        return at + (2 if self._text.startswith("\r\n", at) else 1)

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._line_starts, at)
        return line, at - self._line_starts[line - 1] + 1


def _origins(text: str) -> list[int]:
    found = [at for at, char in enumerate(text) if char != "\f" and not (char == "\n" and text[at - 1 : at] == "\r")]
    return [*found, len(text)]


def _changes(old: str, new: str) -> Iterator[tuple[int, int, str]]:
    before, after = _LINE.findall(old), _LINE.findall(new)
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _trimmed(len("".join(before[:i1])), "".join(before[i1:i2]), "".join(after[j1:j2]))


def _trimmed(start: int, before: str, after: str) -> tuple[int, int, str]:
    """A change without what is equal at its ends."""
    shortest = min(len(before), len(after))
    head = 0
    while head < shortest and before[head] == after[head]:
        head += 1
    tail = 0
    while tail < shortest - head and before[-1 - tail] == after[-1 - tail]:
        tail += 1
    return start + head, start + len(before) - tail, after[head : len(after) - tail]
