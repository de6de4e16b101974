"""Route tables and traces as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from moelint.linter.routes.cells import Cell
from moelint.linter.routes.compare import outcome_in_words
from moelint.linter.routes.table import RouteTable, cell_id, counts


def listing(tables: Sequence[RouteTable], every: bool) -> str:
    """A block per paragraph, a route per heading, a cell per line; only wrong and unknown cells unless `every`."""
    lines: list[str] = []
    for entry in tables:
        verdicts = entry.verdicts()
        if entry.failure:
            lines.append(f"{entry.path}:{entry.line} {entry.block}: {entry.failure}")
        elif not every and all(verdict in ("right", "refused") for verdict in verdicts.values()):
            continue
        else:
            lines.append(f"{entry.path}:{entry.line} {entry.block}")
        for route in entry.routes:
            cells = [(n, cell) for n, cell in enumerate(entry.cells, 1) if cell.route == route]
            tally = Counter(cell.outcome.verdict for _, cell in cells)
            summary = ", ".join(
                f"{tally[verdict]} {verdict}" for verdict in ("wrong", "unknown", "refused", "right") if tally[verdict]
            )
            lines.append(f"  {route}: {summary or 'nothing reaches its end'}")
            for number, cell in cells:
                if every or cell.outcome.verdict in ("wrong", "unknown"):
                    lines.append(f"    [{cell_id(entry, number)}] {cell.condition}")
                    lines.append(f"        -> {_result(cell)}")
        lines += [f"  note: {note}" for note in entry.notes]
        lines.append("")
    total = counts(tables)
    lines.append(
        f"{total['blocks']} blocks, {total['routes']} routes: "
        f"{total['right']} right, {total['wrong']} with a wrong cell, "
        f"{total['unknown']} with an unknown cell, {total['refused']} refused"
        + (f"; {total['failed']} blocks not analysed" if total["failed"] else "")
    )
    return "\n".join(lines) + "\n"


def explanation(entry: RouteTable, number: int) -> str:
    """One cell and its trace, step by step."""
    cell = entry.cells[number - 1]
    lines = [
        f"{cell.path}:{cell.line} {cell.block}.{cell.route}",
        f"  when   {cell.condition}",
        f"  gives  {_result(cell)}",
    ]
    for position, step in enumerate(cell.trace, 1):
        lines.append(f"  {position}. {step.path}:{step.line} {step.what}")
    if not cell.trace:
        lines.append("  nothing on this route touches the factor, a slot or a sum")
    return "\n".join(lines) + "\n"


def _result(cell: Cell) -> str:
    reason = cell.outcome.reason
    return outcome_in_words(cell.outcome) + (f" ({reason})" if reason else "")
