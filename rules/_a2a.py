"""All-to-all routes of a class and the back ends they are taken for."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.guards import Guards
from moelint.linter.analysis.module import Class, Function
from moelint.linter.analysis.walk import walk
from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.rule import Profile, Source

A2A = "a2a"


def names_back_end(source: Source, profile: Profile) -> bool:
    """Whether a file names anything that an all-to-all back end is tested by."""
    groups = {**profile.backend_sources, **profile.backend_predicates}
    return any(group == A2A and name.encode() in source.data for name, group in groups.items())


def route_tests(forward: Function, cls: Class) -> Iterator[ast.expr]:
    """The tests of `forward` under which it returns the result of another method of its class."""
    for statement in walk(forward.node):
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


def all_to_all_methods(cls: Class, guards: Guards) -> set[str]:
    """The methods that `forward` hands on to only where there is an all-to-all back end, and the `op_*` stages; empty
    where the class has no `forward` to tell."""
    forward = guards.module.function("forward", cls)
    if forward is None:
        return set()
    found = {name for name in cls.methods if name.startswith("op_")}
    _collect(forward.node.body, TRUE, forward, guards, found)
    return found


def _collect(body: list[ast.stmt], condition: Node, forward: Function, guards: Guards, found: set[str]) -> None:
    diagrams = guards.diagrams
    for statement in body:
        if isinstance(statement, ast.If):
            test = guards.truth(statement.test, forward)
            _collect(statement.body, diagrams.conj(condition, test), forward, guards, found)
            _collect(statement.orelse, diagrams.minus(condition, test), forward, guards, found)
            if statement.body and isinstance(statement.body[-1], ast.Return):
                condition = diagrams.minus(condition, test)
        elif isinstance(statement, ast.Return) and isinstance(statement.value, ast.Call):
            callee = statement.value.func
            without = diagrams.restrict(diagrams.exists(condition, lambda variable: variable != A2A), {A2A: "none"})
            if isinstance(callee, ast.Attribute) and without == FALSE:
                found.add(callee.attr)


def back_ends(guards: Guards, tests: Iterable[ast.expr], function: Function) -> Node:
    """The set of all-to-all back ends that the tests single out; a test that holds without one is turned round."""
    result = FALSE
    for test in tests:
        node = guards.truth(test, function)
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
