"""The text that editors hold, which wins over what is on disk.

pygls (2.1.1) keeps documents too, but splits their lines at form feeds and Unicode separators, where the protocol and
Python's parser do not; so an edit behind one of these would land in the wrong place.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import accumulate

from lsprotocol import types
from pygls import uris

from moelint.linter.decoding import declared_encoding
from moelint.linter.server.positions import characters

_LINE_END = re.compile(r"\r\n|\n|\r")
_SUFFIXES = (".py", ".pyi")


class Text:
    """One state of a text, and what is derived from it."""

    def __init__(self, text: str) -> None:
        self.text = text

    @cached_property
    def lines(self) -> list[str]:
        """The lines without their ends; at least one."""
        return self.text.split("\n") if "\r" not in self.text else _LINE_END.split(self.text)

    @cached_property
    def data(self) -> bytes:
        """The bytes that saving would write, in the encoding that the text itself declares."""
        data = self.text.encode("utf-8", "surrogatepass")
        encoding = declared_encoding(data)
        if encoding is not None:
            try:
                return self.text.encode(encoding)
            except (LookupError, UnicodeEncodeError):
                return data
        return data

    def offset(self, place: types.Position, encoding: str) -> int:
        """The index of the character at a client's position; behind the last line it is the end."""
        if place.line >= len(self.lines):
            return len(self.text)
        return self._starts[place.line] + characters(self.lines[place.line], place.character, encoding)

    @cached_property
    def _starts(self) -> list[int]:
        if "\r" in self.text:
            return [0, *(match.end() for match in _LINE_END.finditer(self.text))]
        return [place + line for line, place in enumerate(accumulate(map(len, self.lines), initial=0))]

    def edited(self, change: types.TextDocumentContentChangeEvent, encoding: str) -> Text:
        """The text after one change."""
        if isinstance(change, types.TextDocumentContentChangeWholeDocument):
            return Text(change.text)
        start = self.offset(change.range.start, encoding)
        end = max(start, self.offset(change.range.end, encoding))
        return Text(f"{self.text[:start]}{change.text}{self.text[end:]}")


class Document(Text):
    """One state of an open document. `serial` is different for every state of every document."""

    def __init__(self, uri: str, path: str, version: int, serial: int, text: str, language: str) -> None:
        super().__init__(text)
        self.uri = uri
        self.path = path
        self.version = version
        self.serial = serial
        self.language = language

    @property
    def is_python(self) -> bool:
        return self.language == "python" or self.path.endswith(_SUFFIXES)


class Documents:
    """The open documents by address. `encoding` is the negotiated one."""

    def __init__(self) -> None:
        self.encoding = "utf-16"
        self._open: dict[str, Document] = {}
        self._serial = 0

    def __iter__(self) -> Iterator[Document]:
        return iter(tuple(self._open.values()))

    def __len__(self) -> int:
        return len(self._open)

    def get(self, uri: str) -> Document | None:
        return self._open.get(uri)

    def open(self, item: types.TextDocumentItem) -> Document:
        return self._put(item.uri, item.version, item.text, item.language_id)

    def change(
        self, uri: str, version: int, changes: Iterable[types.TextDocumentContentChangeEvent]
    ) -> Document | None:
        """The document after `changes`, made one after the other; None if it is not open."""
        document = self._open.get(uri)
        if document is None:
            return None
        text: Text = document
        for change in changes:
            text = text.edited(change, self.encoding)
        return self._put(uri, version, text.text, document.language)

    def close(self, uri: str) -> None:
        self._open.pop(uri, None)

    def by_path(self, path: str) -> Document | None:
        """The open document of a file."""
        return next((document for document in self._open.values() if document.path == path), None)

    def _put(self, uri: str, version: int, text: str, language: str) -> Document:
        self._serial += 1
        document = self._open[uri] = Document(uri, path_of(uri), version, self._serial, text, language)
        return document


def path_of(uri: str) -> str:
    """The path of a document. One that is nowhere on disk gets a name in the current folder."""
    path = uris.to_fs_path(uri) if uri.startswith("file:") else None
    return os.path.normpath(path) if path else os.path.abspath(re.sub(r"[^\w.-]+", "_", uri))


@lru_cache(maxsize=64)
def uri_of(path: str) -> str:
    """The address of a file."""
    return uris.from_fs_path(os.path.abspath(path)) or ""


def lines_on_disk(path: str) -> Sequence[str]:
    """The lines of a file that is not open, as far as they can be decoded."""
    try:
        with open(path, "rb") as stream:
            data = stream.read()
    except OSError:
        return [""]
    encoding = declared_encoding(data) or "utf-8"
    try:
        return Text(data.decode(encoding, "replace").removeprefix("\ufeff")).lines
    except LookupError:
        return Text(data.decode("utf-8", "replace")).lines
