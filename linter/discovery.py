"""Which files a run checks."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_SUFFIXES = (".py", ".pyi")


def walk(folder: str, skip: frozenset[str]) -> list[str]:
    """Every Python file below `folder`, sorted; folders are descended into whether or not they are packages."""
    found: list[str] = []
    stack = [folder]
    while stack:
        with os.scandir(stack.pop()) as entries:
            for entry in entries:
                name = entry.name
                if name.endswith(_SUFFIXES):
                    if entry.is_file():
                        found.append(entry.path)
                elif name not in skip and entry.is_dir(follow_symlinks=False):
                    stack.append(entry.path)
    found.sort()
    return found


def discover(paths: Iterable[str], skip: frozenset[str]) -> list[str]:
    """The files that `paths` stand for, in order."""
    from moelint.linter.errors import UsageError

    found: list[str] = []
    for path in paths:
        if os.path.isdir(path):
            found += [name[2:] if name.startswith("./") else name for name in walk(path, skip)]
        elif os.path.exists(path):
            found.append(path)
        else:
            raise UsageError(f"{path}: no such file or folder")
    return found
