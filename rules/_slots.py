"""Writes into the trailing columns of top-k weights, where the weight of a fused shared expert lives."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from moelint.linter.analysis.module import Function, Module, terminal_name

_WEIGHTS = re.compile(r"weight|(^|_)scores?$|^w$|probs?$")
_TAIL = re.compile(rb"(:|\.\.\.), *-|:\]|, [a-z_.]+\] *[*/+-]?=")
_FILLS = frozenset({"fill_", "copy_"})


@dataclass(frozen=True, slots=True, eq=False)
class ColumnWrite:
    """One write. `branches` are the `if` statements around it, outermost first, with the side it is on."""

    statement: ast.stmt
    base: ast.expr
    value: ast.expr
    function: Function
    branches: tuple[tuple[ast.If, bool], ...]

    @property
    def relative(self) -> bool:
        """Whether the column is changed by a multiple or a difference, not set."""
        return isinstance(self.statement, ast.AugAssign)

    @property
    def target(self) -> str:
        return ast.unparse(self.base)


def column_writes(module: Module, function: Function) -> Iterator[ColumnWrite]:
    """The writes of a function and of those nested in it, in source order."""
    if _TAIL.search(module.source.segment(function.node)):
        yield from _in_block(function.node.body, function, ())


def names_weights(node: ast.expr, module: Module) -> bool:
    """Whether a tensor is called like top-k weights."""
    name = terminal_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
    return name in module.profile.topk_weights or _WEIGHTS.search(name.lower()) is not None


def _in_block(
    body: list[ast.stmt], function: Function, branches: tuple[tuple[ast.If, bool], ...]
) -> Iterator[ColumnWrite]:
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _in_block(statement.body, function, (*branches, (statement, True)))
            yield from _in_block(statement.orelse, function, (*branches, (statement, False)))
            continue
        for base, value in _written(statement):
            yield ColumnWrite(statement, base, value, function, branches)
        for name in ("body", "orelse", "finalbody"):
            yield from _in_block(getattr(statement, name, []), function, branches)
        for handler in getattr(statement, "handlers", []):
            yield from _in_block(handler.body, function, branches)


def _written(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Subscript) and _is_tail(target.slice):
                yield target.value, statement.value
    elif isinstance(statement, ast.AugAssign):
        if isinstance(statement.target, ast.Subscript) and _is_tail(statement.target.slice):
            yield statement.target.value, statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _FILLS and call.args:
            place = call.func.value
            if isinstance(place, ast.Subscript) and _is_tail(place.slice):
                yield place.value, call.args[0]


def _is_tail(index: ast.expr) -> bool:
    """`[:, -1]`, `[:, -n:]`, `[..., k:]`, `[:, k]`: the trailing columns of a two-dimensional tensor."""
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2:
        return False
    last = index.elts[-1]
    if isinstance(last, ast.Slice):
        return last.lower is not None and last.upper is None and not isinstance(last.lower, ast.Constant)
    return isinstance(last, (ast.UnaryOp, ast.Name, ast.Attribute, ast.BinOp))
