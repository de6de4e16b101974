"""What the text formats show of a report, and the line that sums it up."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moelint.linter.model import Diagnostic, Finding, Report


def shown_findings(report: Report, *, notes: bool) -> list[Finding]:
    """The findings in reading order, with or without the notes."""
    return sorted((f for f in report.findings if notes or f.severity != "note"), key=reading_order)


def sorted_diagnostics(report: Report) -> list[Diagnostic]:
    """The diagnostics in reading order."""
    return sorted(report.diagnostics, key=lambda item: (item.path, item.line, item.code, item.message))


def reading_order(finding: Finding) -> tuple[object, ...]:
    return finding.path, finding.region, finding.code, finding.message, finding.identity


def summary_line(report: Report, *, notes: bool) -> str:
    """`N findings (M notes hidden, --notes shows them), O in the baseline, K files checked`."""
    shown = len(shown_findings(report, notes=notes))
    hidden = len(report.findings) - shown
    parts = [plural(shown, "finding")]
    if hidden:
        parts[0] += f" ({plural(hidden, 'note')} hidden, --notes shows {'it' if hidden == 1 else 'them'})"
    if report.diagnostics:
        parts.append(plural(len(report.diagnostics), "diagnostic"))
    old = sum(finding.excuse is not None and finding.excuse.kind == "baseline" for finding in report.suppressed)
    if old:
        parts.append(f"{old} in the baseline")
    parts.append(f"{plural(report.files, 'file')} checked")
    return ", ".join(parts)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"
