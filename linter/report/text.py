"""Text that is safe to print: one line, no control characters, paths as the user would type them."""

from __future__ import annotations

import os
import re
import sys

_UNSAFE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""Control characters that could drive a terminal, and those that reorder or break a line."""


def one_line(text: str) -> str:
    """`text` with line breaks, and every run of white space, folded to one space."""
    return printable(" ".join(text.split()))


def printable(text: str) -> str:
    """`text` with control and direction characters replaced by U+FFFD."""
    return _UNSAFE.sub("\ufffd", text)


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
