"""Path conditions as sets of atomic tests: enough to see that two branches exclude each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

from moelint.linter.analysis.module import source_text


class Atom(NamedTuple):
    """`subject == value` (or the truth of `subject`, where `value` is None), or its contrary."""

    subject: str
    value: str | None
    positive: bool

    def contrary(self) -> Atom:
        return self._replace(positive=not self.positive)


Path = frozenset[Atom]
EMPTY: Path = frozenset()


def atoms(test: ast.expr, positive: bool, aliases: Mapping[str, ast.expr], depth: int = 4) -> Path:
    """What is known after `test` came out as `positive`. `aliases` are the local names bound to tests."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return atoms(test.operand, not positive, aliases, depth)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) == positive:
        whole = Atom(_text(test), None, positive)
        return frozenset({whole}).union(*(atoms(part, positive, aliases, depth) for part in test.values))
    if isinstance(test, ast.NamedExpr):
        return atoms(test.value, positive, aliases, depth)
    if isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and test.func.id == "bool" and test.args:
        return atoms(test.args[0], positive, aliases, depth)
    if isinstance(test, ast.Name) and test.id in aliases and depth:
        return atoms(aliases[test.id], positive, aliases, depth - 1)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.comparators[0], ast.Constant):
        operator, value = test.ops[0], test.comparators[0].value
        if isinstance(operator, (ast.Eq, ast.Is, ast.NotEq, ast.IsNot)):
            equal = isinstance(operator, (ast.Eq, ast.Is)) == positive
            if isinstance(value, bool):
                return atoms(test.left, value if equal else not value, aliases, depth)
            return frozenset({Atom(_text(test.left), repr(value), equal)})
    subject = _text(test)
    if positive and isinstance(test, (ast.Name, ast.Attribute)):
        return frozenset({Atom(subject, None, True), Atom(subject, "None", False)})
    return frozenset({Atom(subject, None, positive)})


def test_aliases(statement: ast.Assign) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds to a test."""
    value = statement.value
    negated = isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.Not)
    if negated or isinstance(value, (ast.Compare, ast.BoolOp)):
        for target in statement.targets:
            if isinstance(target, ast.Name):
                yield target.id, value


@lru_cache(maxsize=1024)
def _text(node: ast.expr) -> str:
    return source_text(node)


def feasible(path: Path) -> bool:
    """Whether no two atoms of a path contradict each other."""
    values: dict[str, str] = {}
    for atom in path:
        if atom.contrary() in path:
            return False
        if atom.positive and atom.value is not None:
            if values.setdefault(atom.subject, atom.value) != atom.value:
                return False
            if Atom(atom.subject, None, True) in path and atom.value in ("None", "0", "''"):
                return False
    return True
