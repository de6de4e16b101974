"""All-to-all routes of a class and the back ends they are taken for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.guards import Guards
from moelint.linter.analysis.module import Class, Function
from moelint.linter.diagram import FALSE, TRUE, Node

A2A = "a2a"


def route_tests(forward: Function, cls: Class) -> Iterator[ast.expr]:
    """The tests of `forward` under which it returns the result of another method of its class."""
    for statement in ast.walk(forward.node):
        if isinstance(statement, ast.If):
            for inner in (*statement.body, *statement.orelse):
                call = inner.value if isinstance(inner, ast.Return) else None
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Attribute)
                    and isinstance(call.func.value, ast.Name)
                    and (call.func.attr in cls.methods or call.func.attr.startswith("forward_"))
                    and call.func.attr != "forward"
                ):
                    yield statement.test


def back_ends(guards: Guards, tests: Iterable[ast.expr], function: Function) -> Node:
    """The set of all-to-all back ends that the tests single out; a test that holds without one is turned round."""
    result = FALSE
    for test in tests:
        node = guards.formula(test, function)
        if A2A in guards.diagrams.support(node):
            node = guards.diagrams.exists(node, lambda variable: variable != A2A)
            if guards.diagrams.restrict(node, {A2A: "none"}) == TRUE:
                node = guards.diagrams.neg(node)
            result = guards.diagrams.disj(result, node)
    return result


def in_words(guards: Guards, node: Node) -> str:
    """A set of back ends for a message."""
    words = []
    for cube in guards.diagrams.cubes(node):
        positive, values = cube[A2A]
        names = ", ".join(str(value) for value in values)
        words.append(names if positive else f"all but {names}")
    return " and ".join(words)
