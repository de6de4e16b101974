"""For people: every finding with its source, the places it is about, and what to do."""

from __future__ import annotations

from moelint.linter.report.summary import shown_findings, sorted_diagnostics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moelint.linter.model import Report
    from moelint.linter.report.page import Page


def render(report: Report, page: Page) -> str:
    """The findings and diagnostics as blocks apart by empty lines, then the table of counts if it was asked for."""
    blocks: list[str] = []
    findings = shown_findings(report, notes=page.notes)
    if findings or report.diagnostics:
        from moelint.linter.report.blocks import Painter

        painter = Painter(page)
        blocks += [painter.finding(finding) for finding in findings]
        blocks += [painter.diagnostic(item) for item in sorted_diagnostics(report)]
    if page.statistics:
        from moelint.linter.report.statistics import statistics_table

        blocks.append("".join(f"{line}\n" for line in statistics_table(report)))
    return "\n".join(blocks)
