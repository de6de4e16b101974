"""Text that is safe to print: one line, no control characters, paths as the user would type them."""

from __future__ import annotations

import os
import sys

_CONTROL = (*range(0x20), *range(0x7F, 0xA0))
_DIRECTION = (0x200E, 0x200F, *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_UNSAFE = dict.fromkeys((*_CONTROL, *_DIRECTION), "\ufffd")
"""Characters that could drive a terminal, and those that reorder or break a line."""


def one_line(text: str) -> str:
    """`text` with line breaks, and every run of white space, folded to one space."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """`text` with control and direction characters replaced by U+FFFD."""
    return text if text.isascii() and text.isprintable() else text.translate(_UNSAFE)


def shown_path(path: str) -> str:
    """`path` relative to the working directory where it lies below it, with `/` between the parts."""
    if os.path.isabs(path):
        try:
            relative = os.path.relpath(path)
        except (OSError, ValueError):
            relative = path
        if relative.split(os.sep)[0] != os.pardir:
            path = relative
    elif path.startswith("." + os.sep):
        path = os.path.normpath(path)
    return path.replace(os.sep, "/") if sys.platform == "win32" else path
