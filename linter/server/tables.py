"""Route tables in Markdown: a line for each outcome of a route, with its conditions and who applies the factor."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_CONDITIONS = 3
_ROWS = 14
_ORDER = {"wrong": 0, "unknown": 1, "right": 2, "refused": 3}
Cell = Mapping[str, Any]


def summary(block: Mapping[str, Any]) -> str:
    """`4 routes, 1 wrong, 0 unknown`."""
    verdicts = list(block["routes"].values())
    routes = f"{len(verdicts)} route{'' if len(verdicts) == 1 else 's'}"
    if block["failure"]:
        return f"routes not analysed: {block['failure']}"
    return f"{routes}, {verdicts.count('wrong')} wrong, {verdicts.count('unknown')} unknown"


def table(cells: Iterable[Cell], limit: int = _ROWS) -> str:
    """The cells that ask about the scale, those with the same outcome in one line, the wrong ones first."""
    rows = _rows(cells)
    lines = ["| route | verdict | where | who applies the factor |", "|---|---|---|---|"]
    for (route, verdict, applied), conditions in rows[:limit]:
        shown = "<br>".join(_escaped(condition) for condition in conditions[:_CONDITIONS])
        more = len(conditions) - _CONDITIONS
        lines.append(f"| `{route}` | {verdict} | {shown}{f'<br>and {more} more' if more > 0 else ''} | {applied} |")
    if len(rows) > limit:
        lines.append(f"\n{len(rows) - limit} more lines: open the table with the code lens.")
    return "\n".join(lines)


def page(block: Mapping[str, Any], cells: Sequence[Cell]) -> str:
    """All of one block."""
    head = f"# Routes of {block['block']}\n\n{block['path']}:{block['line']}: {summary(block)}\n"
    notes = "".join(f"* {note}\n" for note in block["notes"])
    return f"{head}\n{table(cells, limit=len(cells))}\n" + (f"\n{notes}" if notes else "")


def _rows(cells: Iterable[Cell]) -> list[tuple[tuple[str, str, str], list[str]]]:
    rows: dict[tuple[str, str, str], list[str]] = {}
    for cell in cells:
        if cell["question"] == "scale":
            key = (cell["route"], _verdict(cell), applied(cell))
            rows.setdefault(key, []).append(cell["condition"] or "always")
    return sorted(rows.items(), key=lambda row: _ORDER.get(row[0][1].partition(":")[0].strip("*"), 9))


def _verdict(cell: Cell) -> str:
    verdict = cell["verdict"]
    shown = f"**{verdict}**" if verdict in ("wrong", "unknown") else verdict
    return f"{shown}: {_escaped(cell['reason'])}" if cell["reason"] and verdict != "right" else shown


def applied(cell: Cell) -> str:
    """The steps that touched the factor, in order."""
    steps = [f"{_escaped(step['what'])} ({_file(step)})" for step in cell["trace"] if "rsf" in step["what"]]
    return "<br>".join(dict.fromkeys(steps)) or "nobody"


def _file(step: Mapping[str, Any]) -> str:
    return f"{step['path'].rpartition('/')[2]}:{step['line']}"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|")
