"""One source file: bytes, text, and the way from `ast` positions to regions."""

from __future__ import annotations

import ast
from bisect import bisect_right
from functools import cached_property, lru_cache
from itertools import accumulate

from moelint.linter.model import Region


class Source:
    """The bytes of a file and what is derived from them. `path` is as the user will see it."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self._segments: dict[ast.AST, bytes] = {}
        self._holding: dict[bytes, list[int]] = {}
        self._naming: dict[frozenset[str], list[int]] = {}

    @cached_property
    def text(self) -> str:
        """The decoded text, without a byte order mark. Raises UnicodeDecodeError."""
        return self.data.decode("utf-8-sig")

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines as the parser counts them: split at `\\n`, `\\r\\n` and `\\r` only."""
        return self._plain.split(b"\n")

    @cached_property
    def _plain(self) -> bytes:
        """The lines, each but the last with a `\\n` at its end."""
        data = self.data[3:] if self.data.startswith(b"\xef\xbb\xbf") else self.data
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data

    @cached_property
    def _starts(self) -> list[int]:
        """Where each line starts in `_plain`, and where one behind the last would."""
        return [place + line for line, place in enumerate(accumulate(map(len, self.lines), initial=0))]

    def lines_naming(self, names: frozenset[str]) -> list[int]:
        """The numbers of the lines in which one of `names` occurs, in order."""
        found = self._naming.get(names)
        if found is None:
            found = sorted({line for word in _shortest(names) for line in self._lines_holding(word)})
            self._naming[names] = found
        return found

    def _lines_holding(self, word: bytes) -> list[int]:
        found = self._holding.get(word)
        if found is None:
            found = self._holding[word] = []
            text, starts = self._plain, self._starts
            position = text.find(word)
            while position >= 0:
                line = bisect_right(starts, position)
                found.append(line)
                position = text.find(word, starts[line])
        return found

    def region(self, node: ast.AST) -> Region:
        """The span of a node that carries positions."""
        line, col = node.lineno, node.col_offset  # type: ignore[attr-defined]
        end_line, end_col = node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
        return Region(line, self._column(line, col), end_line, self._column(end_line, end_col))

    def line_text(self, line: int) -> str:
        """Line `line` (1-based), decoded, without its end."""
        return self.lines[line - 1].decode("utf-8", "replace") if 0 < line <= len(self.lines) else ""

    def segment(self, node: ast.AST) -> bytes:
        """The whole lines that a node spans."""
        found = self._segments.get(node)
        if found is None:
            starts = self._starts
            found = self._plain[starts[node.lineno - 1] : starts[node.end_lineno] - 1]  # type: ignore[attr-defined]
            self._segments[node] = found
        return found

    def _column(self, line: int, offset: int) -> int:
        raw = self.lines[line - 1][:offset]
        return (len(raw) if raw.isascii() else len(raw.decode("utf-8", "replace"))) + 1


@lru_cache(maxsize=64)
def _shortest(names: frozenset[str]) -> list[bytes]:
    """The names without those that contain another one."""
    return [name.encode() for name in names if not any(other != name and other in name for other in names)]
