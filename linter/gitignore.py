"""`.gitignore` files where there is no git to ask."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache

from pathspec import GitIgnoreSpec


def not_ignored(files: Iterable[str], starts: Iterable[str]) -> list[str]:
    """`files` without those that a `.gitignore` names; of several that speak, the innermost decides. `starts` are the
    folders of these, as the paths of the files begin with them."""
    starts = sorted(starts, key=len)
    return [path for path in files if not _is_ignored(path, starts)]


def _is_ignored(path: str, starts: list[str]) -> bool:
    ignored = False
    for start in starts:
        if path.startswith(start):
            verdict = _spec(start).check_file(path[len(start) :].replace(os.sep, "/")).include
            ignored = ignored if verdict is None else verdict
    return ignored


@cache
def _spec(start: str) -> GitIgnoreSpec:
    try:
        with open(start + ".gitignore", encoding="utf-8", errors="surrogateescape") as stream:
            return GitIgnoreSpec.from_lines(stream)
    except OSError:
        return GitIgnoreSpec.from_lines([])
