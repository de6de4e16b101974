"""Which parts of a module mention a name at all: a look at the bytes, before any walk."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import lru_cache

from moelint.linter.analysis.module import Module


def mentions(module: Module, node: ast.AST, names: frozenset[str]) -> bool:
    """Whether any of `names` occurs in the lines of `node`."""
    lines = _lines(module, names)
    first = bisect_left(lines, node.lineno)  # type: ignore[attr-defined]
    return first < len(lines) and lines[first] <= node.end_lineno  # type: ignore[attr-defined]


def mentioning_lines(module: Module, names: frozenset[str]) -> Iterator[tuple[int, bytes]]:
    """Number and text of the lines in which one of `names` occurs."""
    return ((line, module.source.lines[line - 1]) for line in _lines(module, names))


def covers(node: ast.AST, lines: Iterable[int]) -> bool:
    """Whether one of `lines` is a line of `node`."""
    return any(node.lineno <= line <= node.end_lineno for line in lines)  # type: ignore[attr-defined]


def walk_mentions(module: Module, node: ast.AST, names: frozenset[str]) -> Iterator[ast.AST]:
    """All nodes below `node`, but for the statements that mention none of `names`."""
    stack = [node]
    while stack:
        current = stack.pop()
        if not isinstance(current, ast.stmt) or mentions(module, current, names):
            yield current
            stack.extend(ast.iter_child_nodes(current))


@lru_cache(maxsize=16)
def _lines(module: Module, names: frozenset[str]) -> list[int]:
    """The numbers of the lines in which one of `names` occurs, in order."""
    text = b"\n".join(module.source.lines)
    found: set[int] = set()
    for name in names:
        wanted = name.encode()
        line, seen, position = 1, 0, text.find(wanted)
        while position >= 0:
            line += text.count(b"\n", seen, position)
            seen = position
            found.add(line)
            position = text.find(wanted, position + len(wanted))
    return sorted(found)
