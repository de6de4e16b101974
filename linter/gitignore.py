"""`.gitignore` files where there is no git to ask.

Most of them name nothing that matters here. That is seen without `pathspec`, whose import costs more than a walk.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from pathspec import GitIgnoreSpec

_SPECIAL = frozenset("*?[\\")


def not_ignored(files: list[str], starts: Sequence[str]) -> list[str]:
    """`files` without those that a `.gitignore` names; of several that speak, the innermost decides. `starts` are the
    folders of these, as the paths of the files begin with them."""
    lines = {start: _lines(start) for start in sorted(starts, key=len)}
    if not any(_may_name(patterns, start, files) for start, patterns in lines.items()):
        return files
    from pathspec import GitIgnoreSpec

    specs = {start: GitIgnoreSpec.from_lines(filter(_is_valid, patterns)) for start, patterns in lines.items()}
    return [path for path in files if not _is_ignored(path, specs)]


def _may_name(lines: Sequence[str], start: str, files: Sequence[str]) -> bool:
    """Whether some pattern may cover a file below `start`: false only if surely none does."""
    parts = {part for path in files if path.startswith(start) for part in path[len(start) :].split(os.sep)}
    return any(_may_cover(line, parts) for line in lines)


def _may_cover(line: str, parts: set[str]) -> bool:
    if line.startswith(("#", "!")):
        return False
    name = line.rstrip().rstrip("/").rpartition("/")[2]
    if not name:
        return False
    end = name.removeprefix("*")
    if not _SPECIAL.isdisjoint(end):
        return True
    return name in parts if end == name else any(part.endswith(end) for part in parts)


def _is_ignored(path: str, specs: dict[str, GitIgnoreSpec]) -> bool:
    ignored = False
    for start, spec in specs.items():
        if path.startswith(start):
            verdict = spec.check_file(path[len(start) :].replace(os.sep, "/")).include
            ignored = ignored if verdict is None else verdict
    return ignored


def _is_valid(line: str) -> bool:
    """Whether `pathspec` understands a line; git passes over what it does not understand."""
    import re

    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _lines(start: str) -> list[str]:
    try:
        with open(f"{start}.gitignore", encoding="utf-8", errors="surrogateescape") as stream:
            return stream.read().splitlines()
    except OSError:
        return []
