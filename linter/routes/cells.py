"""Readable cells: a region's condition on visible atoms, covered by a few merged conjunctions, each with its trace."""

from __future__ import annotations

from dataclasses import dataclass

from moelint.linter.diagram import FALSE, TRUE, Cube, DumpedNode, Node
from moelint.linter.routes.cover import cover, in_words
from moelint.linter.routes.driver import BlockAnalysis, Route
from moelint.linter.routes.judge import Outcome, Question, Region, regions
from moelint.linter.routes.units import Step


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


@dataclass(frozen=True, slots=True)
class Shapes:
    """The exact regions of one block as dumped diagrams: `places` are (route, outcome, position among `rows`)."""

    rows: tuple[DumpedNode, ...] = ()
    places: tuple[tuple[str, Outcome, int], ...] = ()


def table_cells(analysis: BlockAnalysis) -> tuple[list[Cell], Shapes]:
    """The cells of every route of a block, and the regions they cover."""
    diagrams, order = analysis.machine.diagrams, analysis.contracts.facts.order
    cells: list[Cell] = []
    shapes: list[tuple[str, Outcome]] = []
    roots: list[Node] = []
    for route in analysis.routes:
        found: list[Cell] = []
        for region in regions(analysis, route):
            target, world = _visible(analysis, route, region)
            shapes.append((route.name, region.outcome))
            roots.append(target)
            for cube in cover(diagrams, target, world, order):
                found.append(_cell(analysis, route, region, cube))
        cells += sorted(found, key=lambda cell: (_ORDER[cell.outcome.verdict], cell.condition))
    rows, positions = diagrams.dump(roots)
    places = tuple((name, outcome, position) for (name, outcome), position in zip(shapes, positions, strict=True))
    return cells, Shapes(tuple(rows), places)


_ORDER = {"wrong": 0, "unknown": 1, "refused": 2, "right": 3}


def _cell(analysis: BlockAnalysis, route: Route, region: Region, cube: Cube) -> Cell:
    block = analysis.block
    atoms = tuple((name, positive, tuple(map(str, values))) for name, (positive, values) in sorted(cube.items()))
    return Cell(
        block.name,
        route.path or block.path,
        route.line or block.line,
        route.name,
        in_words(cube, analysis.contracts.facts.order),
        atoms,
        region.outcome,
        trace(analysis, route, region, cube),
    )


def _visible(analysis: BlockAnalysis, route: Route, region: Region) -> tuple[Node, Node]:
    """A region, and all worlds that enter its route, on visible atoms."""
    machine, contracts = analysis.machine, analysis.contracts
    diagrams = machine.diagrams
    question: Question = region.outcome.question

    def hidden(name: str) -> bool:
        return contracts.is_hidden(name) or (question == "scale" and contracts.only_reduces(name))

    gone = frozenset(position for position, name in enumerate(diagrams.names) if hidden(name))
    target = diagrams.conj_project(region.guard, region.world, gone)
    return target, diagrams.disj(target, diagrams.conj_project(route.entry, machine.base, gone))


def trace(analysis: BlockAnalysis, route: Route, region: Region, cube: Cube) -> tuple[Step, ...]:
    """What happened to the parts at one point of the cell, in order."""
    machine = analysis.machine
    diagrams = machine.diagrams
    chosen = diagrams.of_cube(cube)
    inside = diagrams.conj(diagrams.conj(region.guard, chosen), diagrams.conj(region.world, chosen))
    if inside == FALSE:
        inside = diagrams.conj(region.guard, region.world)
    point_cube = diagrams.pick(inside, lambda _, v: 0 if v is None else 2) or {}
    point = {name: values[0] for name, (positive, values) in point_cube.items() if positive}
    seen: dict[Step, None] = {}
    for event in route.events:
        if event.decisive and (event.guard == TRUE or diagrams.evaluate(event.guard, point)):
            seen.setdefault(Step(event.path, event.line, event.what, event.kind))
    return tuple(seen)
