"""Which buffer is written, read and returned: the choices and uses of a function, with their tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from moelint.linter.analysis.module import terminal_name
from moelint.linter.analysis.walk import children, walk
from moelint.rules._truth import Outcome


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of two buffers is handed to a call that fills it."""

    test: ast.expr
    then: str
    other: str
    outcomes: tuple[Outcome, ...]
    direct: bool
    """The call takes the choice itself, not a local that holds it."""


@dataclass(frozen=True, slots=True, eq=False)
class Use:
    """A buffer is scaled by the factor, or returned by a short way."""

    node: ast.expr | ast.stmt
    buffer: str
    outcomes: tuple[Outcome, ...]


def view_of(node: ast.expr) -> str:
    """The local that an expression is a view of."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def sites(body: list[ast.stmt], outcomes: tuple[Outcome, ...], spelled: frozenset[str]) -> Iterator[Choice | Use]:
    """The choices and uses of a block in source order, with the tests they stand under."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _branches(statement, outcomes)
            yield from sites(statement.body, (*outcomes, (statement.test, True)), spelled)
            yield from sites(statement.orelse, (*outcomes, (statement.test, False)), spelled)
            if isinstance(statement.body[-1], (ast.Return, ast.Raise)):
                outcomes = (*outcomes, (statement.test, False))
        elif isinstance(statement, ast.Return) and statement.value is not None:
            if outcomes and body == [statement] and view_of(statement.value):
                yield Use(statement, view_of(statement.value), outcomes)
            yield from _expression(statement.value, outcomes, spelled, returned=True)
        elif isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
            for inner in (statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])):
                yield from sites(inner, outcomes, spelled)
        else:
            yield from _expression(statement, outcomes, spelled)


def _expression(
    node: ast.AST, outcomes: tuple[Outcome, ...], spelled: frozenset[str], returned: bool = False
) -> Iterator[Choice | Use]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return
    if isinstance(node, ast.IfExp):
        for part, outcome in ((node.body, True), (node.orelse, False)):
            inside = (*outcomes, (node.test, outcome))
            if returned and view_of(part):
                yield Use(part, view_of(part), inside)
            yield from _expression(part, inside, spelled)
        yield from _expression(node.test, outcomes, spelled)
        return
    if isinstance(node, ast.Call):
        for argument in operands(node):
            yield from _choices(argument, outcomes, True)
    elif isinstance(node, ast.Assign):
        yield from _choices(node.value, outcomes, False)
    read = _scaled(node, spelled)
    if read and isinstance(node, (ast.expr, ast.stmt)):
        yield Use(node, read, outcomes)
    for child in children(node):
        yield from _expression(child, outcomes, spelled)


def _choices(node: ast.expr, outcomes: tuple[Outcome, ...], direct: bool) -> Iterator[Choice]:
    if isinstance(node, ast.IfExp):
        then, other = view_of(node.body), view_of(node.orelse)
        if then and other and then != other:
            yield Choice(node.test, then, other, outcomes, direct)
        yield from _choices(node.body, (*outcomes, (node.test, True)), direct)
        yield from _choices(node.orelse, (*outcomes, (node.test, False)), direct)


def _branches(node: ast.If, outcomes: tuple[Outcome, ...]) -> Iterator[Choice]:
    """The same call on both sides, working on different buffers."""
    for mine in (part for statement in node.body for part in walk(statement) if isinstance(part, ast.Call)):
        for beside in (part for statement in node.orelse for part in walk(statement) if isinstance(part, ast.Call)):
            if terminal_name(mine.func) == terminal_name(beside.func):
                for one, two in zip(operands(mine), operands(beside), strict=False):
                    if view_of(one) and view_of(two) and view_of(one) != view_of(two):
                        yield Choice(node.test, view_of(one), view_of(two), outcomes, True)


def operands(call: ast.Call) -> list[ast.expr]:
    """What a call works on: the object of an in-place method, and the arguments."""
    in_place = isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")
    owner = [call.func.value] if in_place and isinstance(call.func, ast.Attribute) else []
    return [*owner, *call.args, *(keyword.value for keyword in call.keywords)]


def _scaled(node: ast.AST, spelled: frozenset[str]) -> str:
    """The buffer that a product or a call reads together with the factor: the first one of a call."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        parts = [node.left, node.right]
    elif isinstance(node, ast.Call):
        parts = operands(node)
    else:
        return ""
    if not any(_is_factor(operand, spelled) for operand in parts):
        return ""
    return next((view_of(operand) for operand in parts if not _is_factor(operand, spelled)), "")


def _is_factor(node: ast.expr, spelled: frozenset[str]) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_factor(node.body, spelled) or _is_factor(node.orelse, spelled)
    return isinstance(node, (ast.Name, ast.Attribute)) and terminal_name(node) in spelled
