"""Path patterns of the configuration.

A pattern is matched against a path relative to the configuration's folder, with `/` between its parts. It covers what
it names and all below. Without a `/` (a last one does not count) it may name a part at any depth, with one it starts
at the configuration's folder. `*` and `?` stay within a part, `**` as a part stands for any number of parts, `[...]`
is a set of characters, a `!` in front turns the pattern round.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import re

_SPECIAL = frozenset("*?[")


class Globs:
    """A list of patterns: true for a path that any of them covers."""

    __slots__ = ("_names", "_regexes", "_turned")

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._names = frozenset(p for p in patterns if not _SPECIAL.intersection(p) and "/" not in p and p[:1] != "!")
        rest = [p for p in patterns if p not in self._names]
        self._regexes = [_compile(p) for p in rest if p[:1] != "!"]
        self._turned = [_compile(p[1:]) for p in rest if p[:1] == "!"]

    def matches(self, path: str) -> bool:
        """Whether `path` (relative, `/` as separator) is covered."""
        if not self._names.isdisjoint(path.split("/")):
            return True
        return any(r.match(path) for r in self._regexes) or any(not r.match(path) for r in self._turned)


@lru_cache(maxsize=64)
def globs(patterns: tuple[str, ...]) -> Globs:
    """The compiled form of a list of patterns."""
    return Globs(patterns)


def flaw(pattern: str) -> str | None:
    """What is wrong with a pattern, or None."""
    body = pattern[1:] if pattern[:1] == "!" else pattern
    if not body.strip("/") or "\0" in body:
        return "the pattern is empty"
    if "\\" in body:
        return "use '/' between folders; a backslash has no meaning here"
    if "{" in body or "}" in body:
        return "braces are not understood; write one pattern for each alternative"
    for part in body.strip("/").split("/"):
        if part in ("", ".", ".."):
            return f"a pattern may not contain the part {part!r}"
        if "**" in part and part != "**":
            return "'**' must stand alone between two '/'"
        position = part.find("[")
        while position >= 0:
            end = _set_end(part, position)
            if end < 0:
                return "'[' is not closed"
            if _reversed_range(part[position + 1 : end]):
                return f"the range in {part[position : end + 1]!r} runs backwards"
            position = part.find("[", end)
    return None


def _set_end(part: str, start: int) -> int:
    """The position of the `]` that closes the set opened at `start`; the first character may be a `]` itself."""
    first = start + 2 if part[start + 1 : start + 2] in ("!", "^") else start + 1
    return part.find("]", first + 1)


def _reversed_range(content: str) -> bool:
    body = content[1:] if content[:1] in ("!", "^") else content
    return any(body[i] == "-" and body[i - 1] > body[i + 1] for i in range(1, len(body) - 1))


def _compile(pattern: str) -> re.Pattern[str]:
    import re

    body = pattern.rstrip("/")
    parts = body.strip("/").split("/")
    source = "" if "/" in body else "(?:.*/)?"
    for index, part in enumerate(parts):
        last = index == len(parts) - 1
        if part == "**":
            source += ".+" if last else "(?:[^/]+/)*"
        else:
            source += _part(part) + ("" if last else "/")
    return re.compile(source + r"(?:/|\Z)", re.DOTALL)


def _part(part: str) -> str:
    import re

    source, position = "", 0
    while position < len(part):
        char = part[position]
        position += 1
        if char == "*":
            source += "[^/]*"
        elif char == "?":
            source += "[^/]"
        elif char == "[" and (end := _set_end(part, position - 1)) >= 0:
            content = part[position:end]
            turned = content[:1] in ("!", "^")
            inner = "".join(c if c == "-" else re.escape(c) for c in content[turned:])
            source += f"(?!/)[{'^' if turned else ''}{inner}]"
            position = end + 1
        else:
            source += re.escape(char)
    return source
