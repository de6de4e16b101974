"""JUnit XML: a suite for each file with findings, a failed case for each finding."""

from __future__ import annotations

from typing import TYPE_CHECKING
from xml.etree import ElementTree

from moelint.linter.report.place import Places
from moelint.linter.report.summary import shown_findings, sorted_diagnostics
from moelint.linter.report.text import one_line

if TYPE_CHECKING:
    from moelint.linter.model import Diagnostic, Finding, Report
    from moelint.linter.report.page import Page

    Element = ElementTree.Element

_NO_XML = {0xFFFE: "\ufffd", 0xFFFF: "\ufffd"}
"""What `one_line` leaves and XML cannot hold."""


def render(report: Report, page: Page) -> str:
    """The whole report. Without findings it is one case that passed, because an empty report counts as a broken one.

    A case has no line in its name, so that its history survives edits.
    """
    places = Places()
    suites: dict[str, list[Element]] = {}
    for finding in shown_findings(report, notes=page.notes):
        path = _text(places.path(finding.path))
        suites.setdefault(path, []).append(_finding(finding, path, places))
    for item in sorted_diagnostics(report):
        path = _text(places.path(item.path))
        suites.setdefault(path, []).append(_diagnostic(item, path))
    if not suites:
        suites["moelint"] = [ElementTree.Element("testcase", name=f"{report.files} files", classname="moelint")]
    root = ElementTree.Element("testsuites", _counts("moelint", [c for cases in suites.values() for c in cases]))
    for path, cases in suites.items():
        ElementTree.SubElement(root, "testsuite", _counts(path, cases)).extend(cases)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="utf-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _finding(finding: Finding, path: str, places: Places) -> Element:
    name = f"{finding.code} {finding.name} in {finding.qualname} [{finding.identity}]"
    case = _case(name, path, finding.region.line)
    lines = [f"{path}:{finding.region.line}:{finding.region.col}: {_text(finding.message)}"]
    lines += [
        _text(f"{places.path(place.path)}:{place.region.line}:{place.region.col}: {place.message}")
        for place in finding.related
    ]
    if finding.help:
        lines.append(f"help: {_text(finding.help)}")
    failure = ElementTree.SubElement(case, "failure", type=finding.severity, message=_text(finding.message))
    failure.text = "\n".join(lines)
    return case


def _diagnostic(item: Diagnostic, path: str) -> Element:
    kind = "internal-error" if item.internal else "not-checked"
    case = _case(f"{item.code} {kind}", path, max(item.line, 1))
    ElementTree.SubElement(case, "error", type=kind, message=_text(item.message)).text = f"{path}:{item.line}"
    return case


def _case(name: str, path: str, line: int) -> Element:
    return ElementTree.Element("testcase", name=_text(name), classname=path, file=path, line=str(line))


def _counts(name: str, cases: list[Element]) -> dict[str, str]:
    failures, errors = (sum(case.find(kind) is not None for case in cases) for kind in ("failure", "error"))
    return {"name": name, "tests": str(len(cases)), "failures": str(failures), "errors": str(errors), "skipped": "0"}


def _text(text: str) -> str:
    return one_line(text).translate(_NO_XML)
