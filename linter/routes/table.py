"""Route tables as plain data: what the command prints, what the cache keeps, what two trees are compared by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from moelint.linter.routes.cells import Cell, Shapes, table_cells
from moelint.linter.routes.driver import BlockAnalysis
from moelint.linter.routes.judge import Breach, Outcome
from moelint.linter.routes.units import Step

SCHEMA = 1
"""Version of the JSON form."""


@dataclass(frozen=True, slots=True)
class RouteTable:
    """The cells of one block's routes, or why there are none. `notes` are cuts that the analysis made on the way."""

    block: str
    path: str
    line: int
    cells: tuple[Cell, ...]
    routes: tuple[str, ...]
    failure: str
    notes: tuple[str, ...]
    shapes: Shapes

    def verdicts(self) -> dict[str, str]:
        """Route -> `wrong`, `unknown`, `refused` or `right`: the first of these that one of its scale cells has."""
        found: dict[str, str] = {}
        for route in self.routes:
            has = {c.outcome.verdict for c in self.cells if c.route == route}
            found[route] = next((v for v in ("wrong", "unknown", "right", "refused") if v in has), "refused")
        return found


def table(analysis: BlockAnalysis) -> RouteTable:
    """Judge every route of a block."""
    cells, shapes = table_cells(analysis)
    return RouteTable(
        analysis.block.name,
        analysis.block.path,
        analysis.block.line,
        tuple(cells),
        tuple(dict.fromkeys(route.name for route in analysis.routes)),
        analysis.failure,
        tuple(dict.fromkeys(analysis.machine.notes)),
        shapes,
    )


def to_json(tables: Iterable[RouteTable]) -> dict[str, Any]:
    """The documented form (docs/routes.md): `cells[]` over all blocks, and the counts."""
    tables = list(tables)
    cells = []
    for entry in tables:
        for number, cell in enumerate(entry.cells, 1):
            outcome = cell.outcome
            cells.append(
                {
                    "id": cell_id(entry, number),
                    "block": cell.block,
                    "path": cell.path,
                    "line": cell.line,
                    "route": cell.route,
                    "question": outcome.question,
                    "condition": cell.condition,
                    "atoms": [
                        {"name": name, "positive": positive, "values": list(values)}
                        for name, positive, values in cell.atoms
                    ],
                    "routed": outcome.routed,
                    "slot": outcome.slot,
                    "shared": outcome.shared,
                    "reduction": outcome.reduction,
                    "verdict": outcome.verdict,
                    "reason": outcome.reason,
                    "trace": [asdict(step) for step in cell.trace],
                }
            )
    return {
        "schema": SCHEMA,
        "cells": cells,
        "blocks": [
            {
                "block": entry.block,
                "path": entry.path,
                "line": entry.line,
                "routes": entry.verdicts(),
                "failure": entry.failure,
                "notes": list(entry.notes),
            }
            for entry in tables
        ],
        "counts": counts(tables),
    }


def cell_id(entry: RouteTable, number: int) -> str:
    """`Block:7`, as `--explain` takes it."""
    return f"{entry.block}:{number}"


def counts(tables: Iterable[RouteTable]) -> dict[str, int]:
    """How many blocks and routes there are, and how the routes come out."""
    tables = list(tables)
    verdicts = Counter(verdict for entry in tables for verdict in entry.verdicts().values())
    return {
        "blocks": len(tables),
        "failed": sum(1 for entry in tables if entry.failure),
        "routes": sum(verdicts.values()),
        **{name: verdicts[name] for name in ("right", "wrong", "unknown", "refused")},
    }


def pack(entry: RouteTable) -> dict[str, Any]:
    """Plain data that `unpack` reads again."""
    return asdict(entry)


def unpack(data: dict[str, Any]) -> RouteTable:
    """Raises KeyError or TypeError for data of another form."""
    cells = tuple(
        Cell(
            cell["block"],
            cell["path"],
            cell["line"],
            cell["route"],
            cell["condition"],
            tuple((name, positive, tuple(values)) for name, positive, values in cell["atoms"]),
            _outcome(cell["outcome"]),
            tuple(Step(**step) for step in cell["trace"]),
        )
        for cell in data["cells"]
    )
    return RouteTable(
        data["block"],
        data["path"],
        data["line"],
        cells,
        tuple(data["routes"]),
        data["failure"],
        tuple(data["notes"]),
        Shapes(
            tuple(data["shapes"]["rows"]),
            tuple((route, _outcome(outcome), position) for route, outcome, position in data["shapes"]["places"]),
        ),
    )


def _outcome(data: dict[str, Any]) -> Outcome:
    amounts = tuple((name, tuple((dimension, power) for dimension, power in units)) for name, units in data["amounts"])
    return Outcome(**{**data, "breaches": tuple(Breach(*breach) for breach in data["breaches"]), "amounts": amounts})
