"""Closed programs: routes that start at an entry, with constants that count and a stated result.

A benchmark that measures blocks says itself what must come out. Its profile names the entry; a model function calls
`judge(output, routed, shared, base)`, and what the code does is held against that, numbers included.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes.closed import ZERO, joined
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.machine import ANY_ROUTE, Event
from moelint.linter.routes.units import ONE, RSF, Part, Parts, Units, exponent, multiply, show
from moelint.linter.routes.values import FunctionValue, Guarded, Scalar

if TYPE_CHECKING:
    from moelint.linter.routes.driver import BlockAnalysis
    from moelint.linter.routes.machine import Machine
    from moelint.linter.routes.project import SourceModule

_PRIMES = (2, 3, 5, 7, 11, 13)
_DENOMINATOR = 10_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an entry wants of its parts; None for a part that is not judged."""

    routed: Units | None
    shared: Units | None
    base: Units = ONE
    """What the routed part is measured in."""


@dataclass(slots=True, eq=False)
class Judged:
    """One `judge` call that was reached."""

    output: Guarded
    wanted: Wanted
    guard: Node


def number(value: float) -> Units | None:
    """A number as a product of small primes, each a dimension of its own; None where it is none."""
    if value == 0:
        return ((ZERO, 1),)
    try:
        ratio = Fraction(value).limit_denominator(_DENOMINATOR)
        if abs(ratio - Fraction(value)) > abs(value) * _TOLERANCE:
            ratio = Fraction(str(value))
    except (ValueError, OverflowError):
        return None
    found: Units = ()
    for part, sign in ((abs(ratio.numerator), 1), (ratio.denominator, -1)):
        for prime in _PRIMES:
            while part % prime == 0:
                part //= prime
                found = multiply(found, ((str(prime), 1),), sign)
        if part != 1:
            found = multiply(found, ((str(part), 1),), sign)
    return found


def value_of(units: Units, factor: float) -> float | None:
    """What a product amounts to for a routed scaling factor of `factor`; None if it holds other symbols."""
    result = 1.0
    for dimension, power in units:
        if dimension == ZERO:
            return 0.0
        if dimension != RSF and not dimension.isdigit():
            return None
        result *= (factor if dimension == RSF else float(dimension)) ** power
    return result


def unknown_factors(parts: Parts) -> list[str]:
    """What a part was multiplied by although nothing is known of it."""
    return sorted({dimension[1:] for part in parts for dimension, _ in part.units if dimension.startswith("?")})


def amounts(parts: Parts, wanted: Wanted) -> tuple[tuple[str, Units], ...]:
    """The parts with their units, as the bench measures them."""
    return tuple(
        (part.name, multiply(part.units, wanted.base, -1) if part.name.startswith("routed") else part.units)
        for part in joined(parts)
    )


def breaches(parts: Parts, wanted: Wanted) -> Iterator[tuple[str, str, int]]:
    """(part, what is wrong, surplus) of a result."""
    parts = joined(parts)
    routed = [part for part in parts if part.name.startswith("routed")]
    shared = [part for part in parts if part.name in ("shared", "slot")]
    for name, found, want in (("routed", routed, wanted.routed), ("shared", shared, wanted.shared)):
        if want is None:
            continue
        if len(found) > 1 or any(part.name.startswith("routed[") for part in found):
            text = " + ".join(f"{part.name} {show(part.units)}" for part in found)
            yield name, f"{name} part is {text}, expected one {show(want)}", 0
        elif not found:
            yield name, f"{name} part is lost", 0
        elif found[0].units != want and not _both_zero(found[0].units, want):
            surplus = exponent(found[0].units, RSF) - exponent(want, RSF)
            yield _named(found[0], name), f"{found[0].name} part {show(found[0].units)}, expected {show(want)}", surplus


def _named(part: Part, name: str) -> str:
    return "slot" if part.name == "slot" else name


def _both_zero(a: Units, b: Units) -> bool:
    return exponent(a, ZERO) > 0 and exponent(b, ZERO) > 0


def units_of_constant(machine: Machine, given: Guarded) -> Units | None:
    """The units of a number that is the same in all configurations; None otherwise."""
    if len(given) != 1:
        return None
    value = given[0][1]
    found = value.units if isinstance(value, Scalar) else machine.units_of(value, TRUE)[0][1]
    return found


def is_entry(node: ast.stmt, entries: tuple[str, ...]) -> bool:
    """Whether a function of a module's top level calls an entry."""
    return isinstance(node, ast.FunctionDef) and any(
        isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in entries
        for part in ast.walk(node)
    )


def run(result: BlockAnalysis, module: SourceModule) -> None:
    """Interpret the function of an entry, and note what it was judged by."""
    from moelint.linter.routes import call
    from moelint.linter.routes.driver import Route

    machine, contracts = result.machine, result.contracts
    node = next((n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == result.block.name), None)
    if node is None:
        return
    contracts.aim(module.name, module.text, frozenset())
    contracts.assume_facts(machine)
    frame = Frame(module, Scope(), TRUE, "entry")
    function = FunctionValue(node, module, f"{module.name}.{node.name}")
    machine.route = ANY_ROUTE
    call.function(machine, function, [], {}, frame, node)
    path = machine.project.relative(module.path)
    own = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    events = [e for e in machine.events if not (e.kind == "end" and e.path == path and e.line in own)]
    if not contracts.judged and machine.refusals:
        _, place, line = machine.refusals[-1]
        events.append(Event(TRUE, place, line, "nothing gets past this line", True, "end"))
    for judged in contracts.judged or [Judged([], Wanted(None, None), FALSE)]:
        route = Route(node.name, judged.output, judged.guard, events, dict(machine.unknown_calls), machine.refusals)
        route.line, route.path, route.wanted = node.lineno, path, judged.wanted
        result.routes.append(route)
