"""All nodes below a node, level by level, as `ast.walk` gives them but without contexts and operators, and remembered
for statements, which many rules walk, and which outlive edits of others in an editor."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Iterator
from itertools import chain
from typing import TypeVar

_T = TypeVar("_T")
_NODES = "_moelint_nodes"
_FACTS = "_moelint_facts"
_MOST_FACTS = 64
"""In an editor a node outlives many questions."""
_KEPT = (ast.stmt, ast.Module)
_CHILDLESS = frozenset({ast.Constant, ast.Name, ast.Global, ast.Nonlocal})
_PLAIN = frozenset(
    {"ctx", "op", "ops", "attr", "arg", "asname", "module", "level", "kind", "type_comment", "simple", "is_async"}
    | {"conversion", "kwd_attrs", "type_ignores"}
)
"""Fields that hold no node, or one in which there is nothing to see."""


class _Fields(dict[type[ast.AST], tuple[str, ...]]):
    """Kind of node -> its fields that hold nodes, in order."""

    def __missing__(self, kind: type[ast.AST]) -> tuple[str, ...]:
        names = () if kind in _CHILDLESS else tuple(name for name in kind._fields if name not in _PLAIN)
        self[kind] = names
        return names


_FIELDS = _Fields()


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """`node` and everything below it. The tree must not change afterwards."""
    kept = isinstance(node, _KEPT)
    below: list[ast.AST] | None = node.__dict__.get(_NODES) if kept else None
    if below is None:
        below = children(node)
        fields = _FIELDS
        for child in below:
            if fields[child.__class__]:
                below += children(child)
        if kept:
            node.__dict__[_NODES] = below
    return chain((node,), below)


def children(node: ast.AST) -> list[ast.AST]:
    """The nodes directly below a node, in source order within each field."""
    found: list[ast.AST] = []
    values = node.__dict__
    for name in _FIELDS[node.__class__]:
        value = values.get(name)
        if value.__class__ is list:
            found += [item for item in value if item is not None]
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def remembered(statement: ast.stmt, key: Hashable, work_out: Callable[[], _T]) -> _T:
    """What `work_out` gives, remembered on a statement. It must follow from the nodes below the statement and `key`
    alone, and hold neither a position nor anything of the module around."""
    facts: dict[Hashable, _T] | None = statement.__dict__.get(_FACTS)
    if facts is None:
        facts = statement.__dict__[_FACTS] = {}
    elif len(facts) > _MOST_FACTS:
        facts.clear()
    if key not in facts:
        facts[key] = work_out()
    return facts[key]
