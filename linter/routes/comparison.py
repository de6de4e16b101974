"""Comparisons of values as conditions."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes.machine import Machine
from moelint.linter.routes.values import (
    ClassValue,
    Const,
    FunctionValue,
    Instance,
    Member,
    Scalar,
    Sequence,
    Symbol,
    Tensor,
    Value,
)

_ORDER: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Is: operator.eq,
    ast.Eq: operator.eq,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_NEGATED: dict[type[ast.cmpop], ast.cmpop] = {ast.IsNot: ast.Is(), ast.NotEq: ast.Eq(), ast.NotIn: ast.In()}
_FLIPPED: dict[type[ast.cmpop], ast.cmpop] = {
    ast.Gt: ast.Lt(),
    ast.GtE: ast.LtE(),
    ast.Lt: ast.Gt(),
    ast.LtE: ast.GtE(),
}
_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Is: "is",
    ast.Eq: "==",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}


def values(machine: Machine, op: ast.cmpop, a: Value, b: Value) -> Node:
    """The condition `a op b`."""
    kind = type(op)
    if kind in _NEGATED:
        return machine.diagrams.neg(values(machine, _NEGATED[kind], a, b))
    if kind in _FLIPPED and isinstance(a, Const) and not isinstance(b, Const):
        return values(machine, _FLIPPED[kind], b, a)
    if isinstance(a, Const) and isinstance(b, Const):
        return _constants(machine, kind, a, b)
    if kind in (ast.Is, ast.Eq):
        known = _equal(machine, a, b)
        if known is None:
            known = _equal(machine, b, a)
        if known is not None:
            return known
        if isinstance(a, (Tensor, Instance, ClassValue, FunctionValue)) or isinstance(
            b, (Tensor, Instance, ClassValue, FunctionValue)
        ):
            if a == b:
                return TRUE
            return FALSE if not isinstance(a, Symbol) and not isinstance(b, Symbol) else machine.atom(f"{a} is {b}")
        if a == b:
            return TRUE
    if kind is ast.In and isinstance(b, Sequence):
        result = FALSE
        for entry in b.items:
            for guard, item in entry:
                equal = values(machine, ast.Eq(), a, item)
                result = machine.diagrams.disj(result, machine.diagrams.conj(guard, equal))
        return result
    if isinstance(a, Symbol) and isinstance(b, Const) and isinstance(b.value, (int, float)):
        known = _against_number(machine, kind, a, b.value)
        if known is not None:
            return known
    return machine.atom(f"{a} {_SIGNS[kind]} {b}"[:200])


def _constants(machine: Machine, kind: type[ast.cmpop], a: Const, b: Const) -> Node:
    try:
        if kind is ast.In:
            return TRUE if a.value in b.value else FALSE
        return TRUE if _ORDER[kind](a.value, b.value) else FALSE
    except TypeError:
        return machine.atom(f"{a} {_SIGNS[kind]} {b}")


def _equal(machine: Machine, x: Value, y: Value) -> Node | None:
    """`x == y` where `y` is a constant or an enumeration member; None where that says nothing."""
    if isinstance(y, Const):
        if y.value is None:
            return machine.is_none(x) if isinstance(x, Symbol) else FALSE
        if isinstance(x, Symbol):
            if y.value is True:
                return machine.truth_of(x)
            if y.value is False or (y.value == 0 and not isinstance(y.value, str)):
                return machine.is_zero(x)
            return machine.contracts.equals_constant(machine, x, y.value)
        if isinstance(x, Member):
            return TRUE if x.value == y.value else FALSE
        if isinstance(x, (Scalar, Tensor, Instance)):
            return FALSE
    if isinstance(y, Member):
        if isinstance(x, Symbol):
            return machine.contracts.equals_member(machine, x, y)
        if isinstance(x, Member):
            return TRUE if x == y else FALSE
    return None


def _against_number(machine: Machine, kind: type[ast.cmpop], a: Symbol, number: float) -> Node | None:
    """Comparisons of a symbol with a number, as far as "is positive" and "is greater than k" can say them."""
    diagrams = machine.diagrams
    positive = machine.truth_of(a)
    if (kind is ast.Gt and number == 0) or (kind is ast.GtE and number == 1):
        return positive
    if (kind is ast.LtE and number == 0) or (kind is ast.Lt and number == 1):
        return diagrams.neg(positive)
    if kind is ast.Lt and number == 0:
        return FALSE
    if kind is ast.GtE and number == 0:
        return TRUE
    if kind is ast.Gt:
        return diagrams.conj(machine.atom(f"{a}>{number}"), positive)
    if kind is ast.LtE:
        return diagrams.neg(diagrams.conj(machine.atom(f"{a}>{number}"), positive))
    if kind in (ast.Lt, ast.GtE) and isinstance(number, int):
        above = diagrams.conj(machine.atom(f"{a}>{number - 1}"), positive)
        return above if kind is ast.GtE else diagrams.neg(above)
    return None
