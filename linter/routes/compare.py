"""Which cells changed between two trees."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.routes.cells import Cell
from moelint.linter.routes.table import RouteTable

_NONE = "no such configuration"


def changed_cells(old: Iterable[RouteTable], new: Iterable[RouteTable]) -> list[dict[str, str]]:
    """Cells of equal block, route, question and condition with another outcome, and those that only one tree has.
    Line numbers and traces do not count: a refactoring that changes no cell gives an empty list."""
    before, after = _by_place(old), _by_place(new)
    changes = []
    for place in sorted(before.keys() | after.keys()):
        left, right = before.get(place, _NONE), after.get(place, _NONE)
        if left != right:
            path, block, route, question, condition = place
            changes.append(
                {
                    "path": path,
                    "block": block,
                    "route": route,
                    "question": question,
                    "condition": condition,
                    "old": left,
                    "new": right,
                }
            )
    return changes


def _by_place(tables: Iterable[RouteTable]) -> dict[tuple[str, str, str, str, str], str]:
    return {
        (entry.path, entry.block, cell.route, cell.outcome.question, cell.condition): in_words(cell)
        for entry in tables
        for cell in entry.cells
    }


def in_words(cell: Cell) -> str:
    """`right: routed rsf^1, slot rsf^0, shared 1`."""
    outcome = cell.outcome
    if outcome.question == "reduction":
        return f"{outcome.verdict}: {outcome.reduction or outcome.reason}"
    parts = []
    if outcome.routed is not None:
        parts.append(f"routed rsf^{outcome.routed}")
    if outcome.slot is not None:
        parts.append(f"slot rsf^{outcome.slot}")
    if outcome.shared:
        parts.append(f"shared {outcome.shared}")
    return f"{outcome.verdict}: {', '.join(parts) or outcome.reason}"
