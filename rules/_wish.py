"""Repairs that hand the experts' wish on to the router."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from moelint.linter.analysis.events import FlagSet, Handed, Scale
from moelint.linter.analysis.module import Class, Function, Module, statements, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.repair import GiveKeyword, InsertAfter, Repair, Replace
from moelint.rules._sites import guards_of


def wish_for_literal(event: FlagSet, module: Module) -> Repair | None:
    """Puts the experts' wish in place of a router's literal fold flag."""
    if event.call is None or module.real_name(event.call.func) not in module.profile.routers:
        return None
    if event.name not in module.profile.flags:
        return None
    wish = _wish_before(event.function, event.value, module)
    return _repair(module, event.function, (Replace(event.value, wish),)) if wish is not None else None


def wish_for_missing(event: Handed, module: Module) -> Repair | None:
    """Gives a router the experts' wish as its fold flag, or sets it once both are there."""
    flags = sorted(module.profile.flags)
    function = event.function
    if len(flags) != 1 or function is None:
        return None
    wish = _wish_before(function, event.call, module)
    if wish is not None:
        return _repair(module, function, (GiveKeyword(event.call, flags[0], wish),))
    experts = _experts(function, module)
    record = module.profile.router_records.get(module.real_name(event.call.func))
    router = next(iter(_targets(event.statement)), None)
    if experts is None or record is None or router is None or not _follows(function, event.statement, experts[0]):
        return None
    line = f"{ast.unparse(router)}.{record}.{flags[0]} = {experts[1]}"
    return _repair(module, function, (InsertAfter(experts[0], line),))


def _repair(
    module: Module, function: Function | None, steps: tuple[Replace | GiveKeyword | InsertAfter, ...]
) -> Repair:
    """Safe where nothing but the experts can apply what the router does not fold."""
    cls = function.cls if function is not None else None
    alone = cls is not None and not any(
        isinstance(event, Scale) and event.function is not None and event.function.cls is cls
        for event in module.flow.events
    )
    return Repair("Hand on the experts' wish", steps, alone)


def _wish_before(function: Function | None, node: ast.expr, module: Module) -> str | None:
    """The experts' wish, if they exist at `node`."""
    experts = _experts(function, module) if function is not None else None
    if experts is None or function is None:
        return None
    statement, wish = experts
    before = (statement.end_lineno or 0, statement.end_col_offset or 0) <= (node.lineno, node.col_offset)
    return wish if before and statement in function.node.body else None


def _experts(function: Function, module: Module) -> tuple[ast.stmt, str] | None:
    """The one statement of a constructor that builds the block's experts and gives them the factor, and their wish.

    None where there are several, or where their type is not known to have a wish.
    """
    cls: Class | None = function.cls
    if cls is None or function.outer is not None or not function.node.args.args:
        return None
    receiver = function.node.args.args[0].arg
    found: list[tuple[ast.stmt, str]] = []
    for statement in statements(function.node.body):
        for target in _targets(statement):
            if target.attr in module.profile.experts and terminal_name(target.value) == receiver:
                value = statement.value if isinstance(statement, (ast.Assign, ast.AnnAssign)) else None
                wish = module.profile.wish_holders.get(_constructor(value, function, module))
                if wish is None or not _gets_factor(value, module):
                    return None
                found.append((statement, f"{receiver}.{target.attr}.{wish}"))
    return found[0] if len(found) == 1 else None


def _constructor(value: ast.expr | None, function: Function, module: Module) -> str:
    """The name of what is called first: `make` of `make(kind)(size)`, also where `make(kind)` has a name of its own."""
    if not isinstance(value, ast.Call):
        return ""
    callee = guards_of(module).holders.resolve(value.func, function)
    while isinstance(callee, ast.Call):
        callee = callee.func
    return module.real_name(callee)


def _gets_factor(value: ast.expr | None, module: Module) -> bool:
    """Whether the experts are given the factor, so that they can apply it where they do not wish a fold."""
    return isinstance(value, ast.Call) and any(
        isinstance(part, ast.keyword) and part.arg in module.profile.factor for part in walk(value)
    )


def _targets(statement: ast.stmt) -> Iterator[ast.Attribute]:
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    yield from (target for target in targets if isinstance(target, ast.Attribute))


def _follows(function: Function, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether both are steps of the constructor itself, in this order."""
    body = function.node.body
    return first in body and second in body and body.index(first) < body.index(second)
