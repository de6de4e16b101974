"""One finding a line: `path:line:col: CODE name: message`."""

from __future__ import annotations

from moelint.linter.report.summary import shown_findings, sorted_diagnostics
from moelint.linter.report.text import one_line, shown_path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moelint.linter.model import Diagnostic, Finding, Report
    from moelint.linter.report.page import Page

_COLOURS = {"error": "31", "warning": "33", "note": "36"}


def render(report: Report, page: Page) -> str:
    """The findings, then the diagnostics, then the table of counts if it was asked for."""
    lines = [_finding(finding, page) for finding in shown_findings(report, notes=page.notes)]
    lines += [_diagnostic(item, page) for item in sorted_diagnostics(report)]
    if page.statistics:
        from moelint.linter.report.statistics import statistics_table

        lines += ["", *statistics_table(report)] if lines else statistics_table(report)
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, page: Page) -> str:
    place = f"{one_line(shown_path(finding.path))}:{finding.region.line}:{finding.region.col}"
    return _line(place, finding.code, finding.name, finding.message, _COLOURS[finding.severity], page)


def _diagnostic(item: Diagnostic, page: Page) -> str:
    name = "internal-error" if item.internal else "not-checked"
    return _line(f"{one_line(shown_path(item.path))}:{item.line}:1", item.code, name, item.message, "31", page)


def _line(place: str, code: str, name: str, message: str, colour: str, page: Page) -> str:
    if page.colour:
        place, code = f"\x1b[1m{place}\x1b[0m", f"\x1b[1;{colour}m{code}\x1b[0m"
    return f"{place}: {code} {name}: {one_line(message)}"
