"""The whole report as one JSON object; docs/schemas/report.schema.json describes it."""

from __future__ import annotations

import json
from typing import Any

from moelint import __version__
from moelint.linter.model import Diagnostic, Finding, Place, Region, Report
from moelint.linter.report.page import Page
from moelint.linter.report.statistics import rule_counts
from moelint.linter.report.summary import reading_order, sorted_diagnostics
from moelint.linter.report.text import shown_path

SCHEMA_VERSION = 1
"""Goes up when a key is removed or changes its meaning; new keys do not count."""


def render(report: Report, page: Page) -> str:
    """All findings, notes included, whatever the page says: a reader of JSON selects for itself."""
    return json.dumps(report_as_dict(report), indent=2) + "\n"


def report_as_dict(report: Report) -> dict[str, Any]:
    """The report as plain data. Nothing in it depends on the cache, the clock or the number of jobs."""
    findings = sorted(report.findings, key=reading_order)
    severities = [finding.severity for finding in findings]
    return {
        "version": SCHEMA_VERSION,
        "tool": {"name": "moelint", "version": __version__},
        "profiles": sorted(report.profiles),
        "summary": {
            "files": report.files,
            "errors": severities.count("error"),
            "warnings": severities.count("warning"),
            "notes": severities.count("note"),
            "suppressed": len(report.suppressed),
            "diagnostics": len(report.diagnostics),
        },
        "findings": [_finding(finding) for finding in findings],
        "suppressed": [_suppressed(finding) for finding in sorted(report.suppressed, key=reading_order)],
        "diagnostics": [_diagnostic(item) for item in sorted_diagnostics(report)],
        "statistics": [
            {"code": c.code, "name": c.name, "family": c.family, "count": c.count, "notes": c.notes, "files": c.files}
            for c in rule_counts(report)
        ],
    }


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "family": finding.family,
        "severity": finding.severity,
        "path": shown_path(finding.path),
        "region": _region(finding.region),
        "message": finding.message,
        "help": finding.help,
        "qualname": finding.qualname,
        "identity": finding.identity,
        "related": [_place(place) for place in finding.related],
    }


def _suppressed(finding: Finding) -> dict[str, Any]:
    excuse = finding.excuse
    return _finding(finding) | ({"excuse": {"kind": excuse.kind, "reason": excuse.reason}} if excuse else {})


def _place(place: Place) -> dict[str, Any]:
    return {"path": shown_path(place.path), "region": _region(place.region), "message": place.message}


def _region(region: Region) -> dict[str, int]:
    return {
        "line": region.line,
        "column": region.col,
        "end_line": region.end_line,
        "end_column": region.end_col,
    }


def _diagnostic(item: Diagnostic) -> dict[str, Any]:
    return {
        "code": item.code,
        "path": shown_path(item.path),
        "line": item.line,
        "message": item.message,
        "internal": item.internal,
    }
