"""Workflow commands, which GitHub Actions turns into annotations of the changed lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moelint.linter.report.place import Places
from moelint.linter.report.summary import shown_findings, sorted_diagnostics
from moelint.linter.report.text import one_line, printable

if TYPE_CHECKING:
    from moelint.linter.model import Diagnostic, Finding, Report
    from moelint.linter.report.page import Page

_COMMANDS = {"error": "error", "warning": "warning", "note": "notice"}


def render(report: Report, page: Page) -> str:
    """One command a finding or diagnostic."""
    places = Places()
    lines = [_finding(finding, places) for finding in shown_findings(report, notes=page.notes)]
    lines += [_diagnostic(item, places) for item in sorted_diagnostics(report)]
    return "".join(f"{line}\n" for line in lines)


def _finding(finding: Finding, places: Places) -> str:
    region = finding.region
    properties = {
        "title": f"{finding.code} {finding.name}",
        "file": printable(places.path(finding.path)),
        "line": str(region.line),
        "endLine": str(region.end_line),
    }
    if region.line == region.end_line:  # GitHub takes columns within one line only
        properties |= {"col": str(region.col), "endColumn": str(region.end_col)}
    parts = [one_line(finding.message)]
    parts += [one_line(f"{places.path(place.path)}:{place.region.line}: {place.message}") for place in finding.related]
    if finding.help:
        parts.append(f"help: {one_line(finding.help)}")
    return _command(_COMMANDS[finding.severity], properties, "\n".join(parts))


def _diagnostic(item: Diagnostic, places: Places) -> str:
    title = f"{item.code} {'internal error' if item.internal else 'not checked'}"
    properties = {"title": title, "file": printable(places.path(item.path)), "line": str(max(item.line, 1))}
    return _command("error", properties, one_line(item.message))


def _command(name: str, properties: dict[str, str], message: str) -> str:
    joined = ",".join(f"{key}={_property(value)}" for key, value in properties.items())
    return f"::{name} {joined}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
