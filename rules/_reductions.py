"""Sums over ranks: which calls are collectives, and under which tests they run."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, FunctionNode, Module, terminal_name
from moelint.linter.analysis.walk import remembered, walk

_SUMS = frozenset({"all_reduce", "allreduce", "psum"})
_HELPER = re.compile(r"_?maybe_\w*reduce")
_SIZE = re.compile(r"size|world|rank|^(tp|ep|dp|etp)$")
Tests = tuple[ast.expr, ...]


def is_collective(module: Module, node: ast.AST) -> bool:
    """Whether a node is a call that sums over ranks without asking anybody."""
    name = terminal_name(node.func) if isinstance(node, ast.Call) else ""
    return name in _SUMS or name in module.profile.collectives


def is_reduce_helper(module: Module, name: str) -> bool:
    """Whether a function of this name knows by itself if a sum is still owed."""
    return name in module.profile.reduce_helpers or _HELPER.match(name) is not None


def collectives(module: Module, node: FunctionNode) -> Iterator[tuple[ast.Call, Tests]]:
    """The collectives of a function, each with the tests it stands under: those around it and those of earlier
    early returns. Nested functions are left out."""
    if mentions(module, node, _SUMS | module.profile.collectives):
        key = "collectives", module.profile.collectives
        yield from remembered(node, key, lambda: list(_in_block(module, node.body, ())))


def _in_block(module: Module, body: list[ast.stmt], tests: Tests) -> Iterator[tuple[ast.Call, Tests]]:
    for statement in body:
        yield from _in_node(module, statement, tests)
        if isinstance(statement, ast.If) and statement.body and isinstance(statement.body[-1], (ast.Return, ast.Raise)):
            tests = (*tests, statement.test)


def _in_node(module: Module, node: ast.AST, tests: Tests) -> Iterator[tuple[ast.Call, Tests]]:
    if isinstance(node, ast.Call) and is_collective(module, node):
        yield node, tests
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    inside = (*tests, node.test) if isinstance(node, (ast.If, ast.IfExp, ast.While)) else tests
    for name, value in ast.iter_fields(node):
        if name in ("body", "orelse", "finalbody") and isinstance(value, list):
            yield from _in_block(module, value, inside)
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.AST):
                    yield from _in_node(module, item, tests)
        elif isinstance(value, ast.AST):
            yield from _in_node(module, value, tests if name == "test" else inside)


def only_counts_ranks(test: ast.expr) -> bool:
    """Whether a test asks for nothing but the size of a group."""
    names = [
        node.attr if isinstance(node, ast.Attribute) else node.id
        for node in walk(test)
        if isinstance(node, (ast.Attribute, ast.Name))
    ]
    bases = {terminal_name(node.value) for node in walk(test) if isinstance(node, ast.Attribute)}
    return all(_SIZE.search(name) or name in bases for name in names)


def local_values(function: Function) -> dict[str, list[ast.expr]]:
    """Local name -> the expressions bound to it by assignments, tuples of equal length taken apart."""
    return remembered(function.node, "local values", lambda: _local_values(function.node))


def _local_values(function: FunctionNode) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                parts = target.elts if isinstance(target, ast.Tuple) else []
                if isinstance(node.value, ast.Tuple) and len(parts) == len(node.value.elts):
                    pairs = list(zip(parts, node.value.elts, strict=True))
                for part, value in pairs:
                    if isinstance(part, ast.Name):
                        found.setdefault(part.id, []).append(value)
    return found
