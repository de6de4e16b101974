"""One source file: bytes, text, and the way from `ast` positions to regions."""

from __future__ import annotations

import ast
from functools import cached_property

from moelint.linter.model import Region


class Source:
    """The bytes of a file and what is derived from them. `path` is as the user will see it."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.data = data
        self._segments: dict[ast.AST, bytes] = {}

    @cached_property
    def text(self) -> str:
        """The decoded text, without a byte order mark. Raises UnicodeDecodeError."""
        return self.data.decode("utf-8-sig")

    @cached_property
    def lines(self) -> list[bytes]:
        """The lines as the parser counts them: split at `\\n`, `\\r\\n` and `\\r` only."""
        data = self.data[3:] if self.data.startswith(b"\xef\xbb\xbf") else self.data
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return data.split(b"\n")

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
            found = b"\n".join(self.lines[node.lineno - 1 : node.end_lineno])  # type: ignore[attr-defined]
            self._segments[node] = found
        return found

    def _column(self, line: int, offset: int) -> int:
        raw = self.lines[line - 1][:offset]
        return (len(raw) if raw.isascii() else len(raw.decode("utf-8", "replace"))) + 1
