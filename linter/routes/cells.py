"""Readable cells: a region's condition on visible atoms, covered by a few merged conjunctions, each with its trace."""

from __future__ import annotations

from dataclasses import dataclass

from moelint.linter.diagram import FALSE, TRUE, Cube, Node, Value
from moelint.linter.routes.driver import BlockAnalysis, Route
from moelint.linter.routes.judge import Outcome, Region, regions
from moelint.linter.routes.units import Step

_LIMIT = 24
Atoms = dict[str, tuple[bool, tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Cell:
    """One line of the table."""

    block: str
    path: str
    line: int
    route: str
    condition: str
    atoms: tuple[tuple[str, bool, tuple[str, ...]], ...]
    outcome: Outcome
    trace: tuple[Step, ...]


def route_cells(analysis: BlockAnalysis, route: Route) -> list[Cell]:
    """The cells of a route; regions that need more than a few conjunctions end with one that says so."""
    found = []
    for region in regions(analysis, route):
        for cube in cover(analysis, region, route):
            found.append(_cell(analysis, route, region, cube))
    return sorted(found, key=lambda cell: (_ORDER[cell.outcome.verdict], cell.condition))


_ORDER = {"wrong": 0, "unknown": 1, "refused": 2, "right": 3}


def _cell(analysis: BlockAnalysis, route: Route, region: Region, cube: Cube) -> Cell:
    block = analysis.block
    atoms = tuple((name, positive, tuple(map(str, values))) for name, (positive, values) in sorted(cube.items()))
    return Cell(
        block.name,
        block.path,
        route.line or block.line,
        route.name,
        in_words(analysis, cube),
        atoms,
        region.outcome,
        trace(analysis, route, region, cube),
    )


def cover(analysis: BlockAnalysis, region: Region, route: Route) -> list[Cube]:
    """Conjunctions over visible atoms that together hold exactly where the region is possible."""
    machine, contracts = analysis.machine, analysis.contracts
    diagrams = machine.diagrams
    scale = region.outcome.question == "scale"

    def hidden(name: str) -> bool:
        return contracts.is_hidden(name) or (scale and contracts.only_reduces(name))

    target = diagrams.exists(region.guard, hidden)
    world = diagrams.exists(diagrams.disj(region.guard, diagrams.conj(route.entry, machine.base)), hidden)
    outside = diagrams.minus(world, target)
    order = {name: position for position, name in enumerate(contracts.facts.order)}

    def cost(name: str, value: Value) -> int:
        return 0 if value is None else 1 if name in order else 3

    found: list[Cube] = []
    rest = target
    while rest != FALSE and len(found) < _LIMIT:
        cube = diagrams.pick(diagrams.conj(rest, world), cost)
        if cube is None:
            break
        cube = _weakened(analysis, cube, outside, order)
        found.append(cube)
        rest = diagrams.minus(rest, diagrams.of_cube(cube))
    return _merged(found)


def _weakened(analysis: BlockAnalysis, cube: Cube, outside: Node, order: dict[str, int]) -> Cube:
    """Drop every literal, and every value of a negative one, that is not needed to stay inside."""
    diagrams = analysis.machine.diagrams

    def inside(candidate: Cube) -> bool:
        return diagrams.conj(diagrams.of_cube(candidate), outside) == FALSE

    for name in sorted(cube, key=lambda name: (name in order, -order.get(name, 0), name)):
        candidate = {other: literal for other, literal in cube.items() if other != name}
        if inside(candidate):
            cube = candidate
    for name, (positive, values) in list(cube.items()):
        if not positive:
            for value in values:
                fewer = tuple(other for other in cube[name][1] if other != value)
                candidate = {**cube, name: (False, fewer)}
                if fewer and inside(candidate):
                    cube = candidate
    return cube


def _merged(cubes: list[Cube]) -> list[Cube]:
    """Join conjunctions that differ in the values of one variable only."""
    merged = True
    while merged:
        merged = False
        for i, first in enumerate(cubes):
            for j in range(i + 1, len(cubes)):
                joined = _join(first, cubes[j])
                if joined is not None:
                    cubes = [cube for k, cube in enumerate(cubes) if k not in (i, j)] + [joined]
                    merged = True
                    break
            if merged:
                break
    return cubes


def _join(a: Cube, b: Cube) -> Cube | None:
    if set(a) != set(b):
        return None
    different = [name for name in a if a[name] != b[name]]
    if len(different) != 1:
        return None
    name = different[0]
    (positive_a, values_a), (positive_b, values_b) = a[name], b[name]
    if positive_a and positive_b:
        return {**a, name: (True, tuple(sorted({*map(str, values_a), *map(str, values_b)})))}
    return None


def in_words(analysis: BlockAnalysis, cube: Cube) -> str:
    """`platform=hip+aiter, a2a in {deepep, mooncake}, not config.n_group`; `always` for no condition."""
    order = {name: position for position, name in enumerate(analysis.contracts.facts.order)}
    names = sorted(cube, key=lambda name: (order.get(name, len(order)), name))
    return ", ".join(_literal(name, *cube[name]) for name in names) or "always"


def _literal(name: str, positive: bool, values: tuple[Value, ...]) -> str:
    if set(values) == {True} or set(values) == {"True"}:
        return name if positive else f"not {name}"
    texts = sorted(str(value) for value in values)
    if not positive and texts == ["0", "None"]:
        return name
    if not positive and texts == ["None"]:
        return f"{name} is given"
    if positive and texts == ["None"]:
        return f"{name} is None"
    if len(texts) == 1:
        return f"{name}{'=' if positive else '!='}{texts[0]}"
    return f"{name} {'in' if positive else 'not in'} {{{', '.join(texts)}}}"


def trace(analysis: BlockAnalysis, route: Route, region: Region, cube: Cube) -> tuple[Step, ...]:
    """What happened to the parts at one point of the cell, in order."""
    machine = analysis.machine
    diagrams = machine.diagrams
    inside = diagrams.conj(region.guard, diagrams.of_cube(cube))
    point_cube = diagrams.pick(inside if inside != FALSE else region.guard, lambda _, v: 0 if v is None else 2) or {}
    point = {name: values[0] for name, (positive, values) in point_cube.items() if positive}
    seen: dict[Step, None] = {}
    for event in route.events:
        if event.decisive and (event.guard == TRUE or diagrams.evaluate(event.guard, point)):
            seen.setdefault(Step(event.path, event.line, event.what))
    return tuple(seen)
