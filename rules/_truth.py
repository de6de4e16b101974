"""Conditions as boolean functions, for a factor other than 1: can some outcomes occur together?"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping

from moelint.linter.analysis.module import source_text, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node

_NEGATIVE = (ast.NotEq, ast.IsNot, ast.NotIn)
_EQUALITY: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "==", ast.Is: "is", ast.IsNot: "is", ast.In: "in", ast.NotIn: "in"
}  # fmt: skip
Outcome = tuple[ast.expr, bool]
"""A test and how it comes out."""


class Conditions:
    """Boolean functions of the tests of one function. Locals with one value are looked into; a test whether there is
    a factor worth the name is answered with yes."""

    def __init__(self, bound: Mapping[str, list[ast.expr]], spelled: frozenset[str]) -> None:
        self.bound = bound
        self.spelled = spelled
        self.diagrams = Diagrams()

    def ask_factor(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether any of the tests depends on the factor."""
        return any(self._is_factor(node) for test, _ in outcomes for node in self._inside(test))

    def names_in(self, test: ast.expr) -> set[str]:
        """The locals that a test is made of."""
        return {node.id for node in self._inside(test) if isinstance(node, ast.Name)}

    def can_all_hold(self, outcomes: Iterable[Outcome]) -> bool:
        """Whether there is a case in which every test comes out as stated."""
        result = TRUE
        for test, wanted in outcomes:
            node = self.formula(test)
            result = self.diagrams.conj(result, node if wanted else self.diagrams.neg(node))
        return result != FALSE

    def formula(self, test: ast.expr) -> Node:
        """The boolean function of a test."""
        diagrams = self.diagrams
        if isinstance(test, ast.BoolOp):
            result = self.formula(test.values[0])
            for part in test.values[1:]:
                join = diagrams.conj if isinstance(test.op, ast.And) else diagrams.disj
                result = join(result, self.formula(part))
            return result
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return diagrams.neg(self.formula(test.operand))
        if isinstance(test, ast.Call) and terminal_name(test.func) == "bool" and len(test.args) == 1:
            return self.formula(test.args[0])
        if isinstance(test, ast.Constant):
            return TRUE if test.value else FALSE
        if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in _EQUALITY:
            left, operator, right = test.left, test.ops[0], test.comparators[0]
            if self._is_factor(left) or self._is_factor(right):
                node = FALSE
            else:
                node = diagrams.literal(f"{source_text(left)} {_EQUALITY[type(operator)]} {source_text(right)}")
            return diagrams.neg(node) if isinstance(operator, _NEGATIVE) else node
        if self._is_factor(test):
            return TRUE
        value = self._single(test)
        return diagrams.literal(source_text(test)) if value is None else self.formula(value)

    def _single(self, node: ast.AST) -> ast.expr | None:
        """The value of a local that is given one only, and before this place."""
        values = self.bound.get(node.id, []) if isinstance(node, ast.Name) else []
        return values[0] if len(values) == 1 and values[0].lineno < node.lineno else None  # type: ignore[attr-defined]

    def _is_factor(self, node: ast.AST) -> bool:
        return isinstance(node, (ast.Name, ast.Attribute)) and terminal_name(node) in self.spelled

    def _inside(self, test: ast.expr) -> Iterator[ast.AST]:
        for node in walk(test):
            yield node
            value = self._single(node)
            if value is not None:
                yield from self._inside(value)
