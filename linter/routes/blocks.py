"""MoE blocks of a module: the classes that build routed experts, and those that put a shared expert beside one."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from moelint.linter.routes.exact import is_entry
from moelint.linter.routes.facts import RouteFacts
from moelint.linter.routes.project import SourceModule

_ROUTE_METHOD = re.compile(r"^(forward\w*|op_\w+|__init__|_forward\w*)$")


@dataclass(frozen=True, slots=True)
class Block:
    """A class whose routes are analysed, or a function that calls an entry."""

    module: str
    name: str
    path: str
    line: int
    node: ast.ClassDef | ast.FunctionDef


def find_blocks(module: SourceModule, facts: RouteFacts, path: str) -> list[Block]:
    """Blocks in source order: builders of experts, their subclasses with routes of their own, and composites."""
    classes = [node for node in module.tree.body if isinstance(node, ast.ClassDef)]
    builders = {node.name for node in classes if _builds_experts(node, facts)}
    inherited = set(builders)
    for node in classes:
        bases = {base.id for base in node.bases if isinstance(base, ast.Name)}
        if bases & inherited and any(_ROUTE_METHOD.match(name) for name in _methods(node)):
            inherited.add(node.name)
    found = []
    for node in classes:
        if node.name in inherited or _is_composite(node, inherited, facts):
            found.append(Block(module.name, node.name, path, node.lineno, node))
    for statement in module.tree.body:
        if isinstance(statement, ast.FunctionDef) and is_entry(statement, facts.entries):
            found.append(Block(module.name, statement.name, path, statement.lineno, statement))
    return found


def mentions_factory(text: str, facts: RouteFacts) -> bool:
    """A cheap test whether a module can hold a block."""
    return any(f"{factory}(" in text for factory in (*facts.experts_factories, *facts.entries))


def _methods(node: ast.ClassDef) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {
        statement.name: statement
        for statement in node.body
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def _builds_experts(node: ast.ClassDef, facts: RouteFacts) -> bool:
    methods = _methods(node)
    init = methods.get("__init__")
    if init is None or "forward" not in methods:
        return False
    for statement in ast.walk(init):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            callee: ast.expr = statement.value.func
            while isinstance(callee, ast.Call):
                callee = callee.func
            name = callee.attr if isinstance(callee, ast.Attribute) else getattr(callee, "id", "")
            if name in facts.experts_factories or _bound_to_factory(name, init, facts):
                return True
    return False


def _bound_to_factory(name: str, init: ast.FunctionDef | ast.AsyncFunctionDef, facts: RouteFacts) -> bool:
    """`impl = get_impl(...)` before `self.experts = impl(...)`."""
    for statement in ast.walk(init):
        if isinstance(statement, ast.Assign) and any(
            isinstance(target, ast.Name) and target.id == name for target in statement.targets
        ):
            for part in ast.walk(statement.value):
                if isinstance(part, ast.Name) and part.id in facts.experts_factories:
                    return True
    return False


def _is_composite(node: ast.ClassDef, blocks: set[str], facts: RouteFacts) -> bool:
    """Builds a block and a separate shared expert beside it."""
    init = _methods(node).get("__init__")
    if init is None:
        return False
    makes = shared = False
    for statement in ast.walk(init):
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            callee = statement.value.func
            makes = makes or (isinstance(callee, ast.Name) and callee.id in blocks)
            target = statement.targets[0]
            shared = shared or (
                isinstance(target, ast.Attribute) and re.search(facts.shared_attributes, target.attr) is not None
            )
    return makes and shared
