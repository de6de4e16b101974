"""The bytes of a Python file as UTF-8, as PEP 263 has them read."""

from __future__ import annotations

import re

_COOKIE = re.compile(rb"^[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK = re.compile(rb"^[ \t\f]*(?:#.*)?$")
_BOM = b"\xef\xbb\xbf"


def to_utf8(data: bytes) -> bytes:
    """`data` in UTF-8. Raises SyntaxError with what is wrong, and where: an unknown encoding, or bytes it lacks."""
    name = declared_encoding(data)
    if name is None or _is_utf8(name):
        if not data.isascii():
            _decode(data, "utf-8")
        return data
    if data.startswith(_BOM):
        raise SyntaxError(f"the file starts with a UTF-8 mark and says that it is {name}", ("", 1, None, None))
    return _decode(data, name).encode("utf-8")


def declared_encoding(data: bytes) -> str | None:
    """The encoding that a comment in one of the first two lines names."""
    for line in data.removeprefix(_BOM)[:4096].splitlines()[:2]:
        match = _COOKIE.match(line)
        if match:
            return match[1].decode("ascii", "replace")
        if not _BLANK.match(line):
            return None
    return None


def _is_utf8(name: str) -> bool:
    return re.fullmatch(r"utf-?8(?:-.*)?", name.lower().replace("_", "-")) is not None


def _decode(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except LookupError:
        raise SyntaxError(f"the encoding {encoding!r} is unknown", ("", 1, None, None)) from None
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SyntaxError(f"byte 0x{data[error.start]:02x} is not {encoding}", ("", line, None, None)) from None
