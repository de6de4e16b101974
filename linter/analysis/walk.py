"""All nodes below a node, level by level, as `ast.walk` gives them but without contexts, and remembered for functions
and classes, which many rules walk."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import chain

_NODES = "_moelint_nodes"
_KEPT = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Module)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and everything below it. The tree must not change afterwards."""
    kept = isinstance(node, _KEPT)
    below: list[ast.AST] | None = node.__dict__.get(_NODES) if kept else None
    if below is None:
        below = []
        _add_children(node, below)
        for child in below:
            _add_children(child, below)
        if kept:
            node.__dict__[_NODES] = below
    return chain((node,), below)


def _add_children(node: ast.AST, into: list[ast.AST]) -> None:
    values = node.__dict__
    for name in node._fields:
        value = values.get(name)
        if value.__class__ is list:
            into += [item for item in value if isinstance(item, ast.AST)]
        elif name != "ctx" and isinstance(value, ast.AST):
            into.append(value)
