"""SARIF 2.1.0, as GitHub code scanning reads it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from moelint import __version__
from moelint.linter.report.place import Places
from moelint.linter.report.sarif_rules import descriptors
from moelint.linter.report.summary import reading_order, shown_findings, sorted_diagnostics
from moelint.linter.report.text import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from moelint.linter.model import Diagnostic, Edit, Finding, Fix, Place, Region, Report
    from moelint.linter.report.page import Page

    Object = dict[str, Any]

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_ROOT = "%SRCROOT%"
_SUPPRESSION = {"comment": "inSource", "baseline": "external"}


def render(report: Report, page: Page) -> str:
    """One run. What is suppressed is in it only if the page says so: GitHub would take it for open alerts."""
    findings = shown_findings(report, notes=page.notes)
    if page.suppressed:
        hidden = [finding for finding in report.suppressed if page.notes or finding.severity != "note"]
        findings = sorted((*findings, *hidden), key=reading_order)
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [_run(report, findings)]}
    return json.dumps(log, indent=2) + "\n"


def _run(report: Report, findings: Sequence[Finding]) -> Object:
    places = Places()
    rules = descriptors({finding.code for finding in findings})
    index = {rule["id"]: number for number, rule in enumerate(rules)}
    fixes = {(fix.code, fix.identity): fix for fix in report.fixes}
    return {
        "tool": {
            "driver": {
                "name": "moelint",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": rules,
            }
        },
        "automationDetails": {"id": "moelint/"},
        "columnKind": "unicodeCodePoints",
        "newlineSequences": ["\r\n", "\n", "\r"],
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the repository."}}},
        "invocations": [
            {
                "executionSuccessful": not any(item.internal for item in report.diagnostics),
                "toolExecutionNotifications": [_notification(item, places) for item in sorted_diagnostics(report)],
            }
        ],
        "results": [
            _result(finding, index, places) | _fixes(finding, fixes.get((finding.code, finding.identity)), places)
            for finding in findings
        ],
    }


def _result(finding: Finding, index: Mapping[str, int], places: Places) -> Object:
    result: Object = {
        "ruleId": finding.code,
        "ruleIndex": index[finding.code],
        "level": finding.severity,
        "message": {"text": _message(finding)},
        "locations": [
            {
                "physicalLocation": _physical(finding.path, finding.region, places),
                "logicalLocations": [{"fullyQualifiedName": finding.qualname}],
            }
        ],
        "partialFingerprints": {"primaryLocationLineHash": finding.identity, "moelint/v1": finding.identity},
    }
    if finding.related:
        result["relatedLocations"] = [
            {"id": number, **_location(place, places)} for number, place in enumerate(finding.related, 1)
        ]
        result["codeFlows"] = [_flow(finding, places)]
    if finding.excuse is not None:
        suppression = {"kind": _SUPPRESSION[finding.excuse.kind], "status": "accepted"}
        reason = {"justification": finding.excuse.reason} if finding.excuse.reason else {}
        result["suppressions"] = [suppression | reason]
    return result


def _fixes(finding: Finding, fix: Fix | None, places: Places) -> Object:
    if fix is None:
        return {}
    change = {
        "artifactLocation": _artifact(finding.path, places),
        "replacements": [_replacement(edit) for edit in fix.edits],
    }
    return {"fixes": [{"description": {"text": _plain(fix.title)}, "artifactChanges": [change]}]}


def _replacement(edit: Edit) -> Object:
    """The region in characters, as viewers have it, and in bytes of the file, as it is."""
    region = _region(edit.region) | {"byteOffset": edit.start, "byteLength": edit.end - edit.start}
    return {"deletedRegion": region} | ({"insertedContent": {"text": edit.text}} if edit.text else {})


def _message(finding: Finding) -> str:
    """The message, and a link to each related place."""
    links = [f"[{_link_text(place.message)}]({number})" for number, place in enumerate(finding.related, 1)]
    return _plain(finding.message) + (f" See: {'; '.join(links)}." if links else "")


def _plain(text: str) -> str:
    """`text` without anything that reads as a link."""
    return re.sub(r"\[(?=[^\]]*\]\()", r"\[", one_line(text))


def _link_text(text: str) -> str:
    return re.sub(r"([\\\[\]])", r"\\\1", one_line(text))


def _flow(finding: Finding, places: Places) -> Object:
    """The related places and the finding itself, in the order of the source where all lie in one file."""
    steps = [(place.path, place.region, _location(place, places)) for place in finding.related]
    own: Object = {
        "physicalLocation": _physical(finding.path, finding.region, places),
        "message": {"text": "reported here"},
    }
    steps.append((finding.path, finding.region, own))
    if all(path == finding.path for path, _, _ in steps):
        steps.sort(key=lambda step: step[1])
    return {"threadFlows": [{"locations": [{"location": location} for _, _, location in steps]}]}


def _location(place: Place, places: Places) -> Object:
    return {
        "physicalLocation": _physical(place.path, place.region, places),
        "message": {"text": one_line(place.message)},
    }


def _physical(path: str, region: Region, places: Places) -> Object:
    return {
        "artifactLocation": _artifact(path, places),
        "region": _region(region),
    }


def _region(region: Region) -> Object:
    return {
        "startLine": region.line,
        "startColumn": region.col,
        "endLine": region.end_line,
        "endColumn": region.end_col,
    }


def _artifact(path: str, places: Places) -> Object:
    named = places.path(path)
    if os.path.isabs(named):
        return {"uri": Path(named).as_uri()}
    return {"uri": quote(os.fsencode(named)), "uriBaseId": _ROOT}


def _notification(item: Diagnostic, places: Places) -> Object:
    return {
        "descriptor": {"id": item.code},
        "level": "error",
        "message": {"text": _plain(item.message)},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": _artifact(item.path, places),
                    "region": {"startLine": max(item.line, 1)},
                }
            }
        ],
    }
