"""Differences between two texts as edits of whole lines."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher

from lsprotocol import types

from moelint.linter.decoding import to_utf8
from moelint.linter.server.documents import Document
from moelint.linter.server.positions import units


def edits_to(document: Document, data: bytes, encoding: str) -> list[types.TextEdit]:
    """The edits that turn a document into the text with the bytes `data`."""
    new = to_utf8(data).decode("utf-8-sig").splitlines(keepends=True)
    old = document.text.removeprefix("\ufeff").splitlines(keepends=True)
    starts = _Starts(old, encoding)
    return [
        types.TextEdit(types.Range(starts.of(first), starts.of(last)), "".join(new[begin:end]))
        for tag, first, last, begin, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    ]


class _Starts:
    """Where the pieces that `splitlines` makes begin, in the protocol's lines, which are fewer."""

    def __init__(self, pieces: Sequence[str], encoding: str) -> None:
        self._places = [types.Position(0, 0)]
        line = column = 0
        for piece in pieces:
            if piece.endswith(("\n", "\r")):
                line, column = line + 1, 0
            else:
                column += units(piece, encoding)
            self._places.append(types.Position(line, column))

    def of(self, number: int) -> types.Position:
        return self._places[number]
