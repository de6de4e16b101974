"""The code quality report of GitLab, which is also what Code Climate reads."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from moelint.linter.report.place import Places
from moelint.linter.report.summary import shown_findings, sorted_diagnostics
from moelint.linter.report.text import one_line

if TYPE_CHECKING:
    from moelint.linter.model import Diagnostic, Finding, Report
    from moelint.linter.report.page import Page

_SEVERITIES = {"error": "major", "warning": "minor", "note": "info"}


def render(report: Report, page: Page) -> str:
    """One JSON list; what could not be checked is in it too, as critical or, for a fault of moelint, as blocker."""
    places = Places()
    issues = [_finding(finding, places) for finding in shown_findings(report, notes=page.notes)]
    issues += [_diagnostic(item, places) for item in sorted_diagnostics(report)]
    return json.dumps(issues, indent=2) + "\n"


def _finding(finding: Finding, places: Places) -> dict[str, Any]:
    issue = _issue(
        f"{finding.code} {finding.name}",
        finding.message,
        _SEVERITIES[finding.severity],
        finding.identity,
        _location(places.path(finding.path), finding.region.line, finding.region.end_line),
    )
    issue["content"] = {"body": one_line(finding.help)}
    issue["other_locations"] = [
        _location(places.path(place.path), place.region.line, place.region.end_line) for place in finding.related
    ]
    return issue


def _diagnostic(item: Diagnostic, places: Places) -> dict[str, Any]:
    path = places.path(item.path)
    text = f"{item.code}\0{path}\0{item.message}"
    return _issue(
        item.code,
        item.message,
        "blocker" if item.internal else "critical",
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest(),
        _location(path, max(item.line, 1), max(item.line, 1)),
    )


def _issue(check: str, message: str, severity: str, fingerprint: str, location: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "issue",
        "check_name": check,
        "description": one_line(message),
        "categories": ["Bug Risk"],
        "severity": severity,
        "fingerprint": fingerprint,
        "location": location,
    }


def _location(path: str, first: int, last: int) -> dict[str, Any]:
    return {"path": path, "lines": {"begin": first, "end": last}}
