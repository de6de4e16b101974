"""Counts per rule."""

from __future__ import annotations

from dataclasses import dataclass

from moelint.linter.model import Finding, Report


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How often one rule spoke: `count` findings, of which `notes` are notes, in `files` files."""

    code: str
    name: str
    family: str
    count: int
    notes: int
    files: int


def rule_counts(report: Report) -> list[RuleCount]:
    """One entry for each rule with findings, notes included, the most frequent first, then by code."""
    by_rule: dict[tuple[str, str, str], list[Finding]] = {}
    for finding in report.findings:
        by_rule.setdefault((finding.code, finding.name, finding.family), []).append(finding)
    counts = [
        RuleCount(*rule, len(items), sum(f.severity == "note" for f in items), len({f.path for f in items}))
        for rule, items in by_rule.items()
    ]
    return sorted(counts, key=lambda c: (-c.count, c.code, c.name))


def statistics_table(report: Report) -> list[str]:
    """The counts as lines of aligned columns, with a line of totals; one line if there is nothing to count."""
    counts = rule_counts(report)
    if not counts:
        return ["no findings to count"]
    files = len({finding.path for finding in report.findings})
    rows = [("count", "notes", "files", "code", "name", "family")]
    rows += [(f"{c.count}", f"{c.notes}", f"{c.files}", c.code, c.name, c.family) for c in counts]
    rows.append((f"{sum(c.count for c in counts)}", f"{sum(c.notes for c in counts)}", f"{files}", "total", "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [_table_row(row, widths) for row in rows]


def _table_row(row: tuple[str, ...], widths: list[int]) -> str:
    numbers = [cell.rjust(width) for cell, width in zip(row[:3], widths, strict=False)]
    names = [cell.ljust(width) for cell, width in zip(row[3:], widths[3:], strict=True)]
    return "  ".join(numbers + names).rstrip()
