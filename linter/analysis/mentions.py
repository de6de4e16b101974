"""Which parts of a module mention a name at all: a look at the bytes, before any walk."""

from __future__ import annotations

import ast
from bisect import bisect_left
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.module import Module
from moelint.linter.analysis.walk import children
from moelint.linter.source import Source


def mentions(module: Module, node: ast.AST, names: frozenset[str]) -> bool:
    """Whether any of `names` occurs in the lines of `node`."""
    lines = module.source.lines_naming(names)
    first = bisect_left(lines, node.lineno)  # type: ignore[attr-defined]
    return first < len(lines) and lines[first] <= node.end_lineno  # type: ignore[attr-defined]


def mentioning_lines(source: Source, names: frozenset[str]) -> Iterator[tuple[int, bytes]]:
    """Number and text of the lines in which one of `names` occurs."""
    return ((line, source.lines[line - 1]) for line in source.lines_naming(names))


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
            stack.extend(children(current))
