"""The JSON report: its schema, what it holds and that it depends on nothing but the findings."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from moelint.linter.model import Diagnostic, Finding, Place, Region, Report
from moelint.linter.report.formats.json import render
from moelint.linter.report.page import Page

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "report.schema.json").read_text("utf-8"))

FIRST = Finding(
    "MOE401",
    "guard-not-asking",
    "guards",
    "error",
    "pkg/a.py",
    Region(3, 5, 4, 9),
    "Wrong.\nBecause.",
    "ask",
    "A.f",
    (Place("pkg/b.py", Region(1, 2, 1, 4), "comes from here"),),
    "0123abcd",
)
NOTE = replace(FIRST, code="MOE101", name="factor-arithmetic", severity="note", path="pkg/0.py", related=())
MUTED = replace(FIRST, severity="warning", region=Region(9, 1, 9, 2))
REPORT = Report(
    (FIRST, NOTE),
    (Diagnostic("MOE-E001", "z.py", 4, "does not parse"), Diagnostic("MOE-E000", "y.py", 1, "boom", True)),
    (MUTED,),
    9,
    3,
    1,
    ("sglang", "generic"),
)


def loaded(report: Report) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(render(report, Page()))
    return data


def closed(schema: Any) -> Any:
    """The schema with every object closed, so that a key it does not describe is an error."""
    schema = copy.deepcopy(schema)
    stack = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            if "properties" in node:
                node["additionalProperties"] = False
            stack += node.values()
        elif isinstance(node, list):
            stack += node
    return schema


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("report", [REPORT, Report((), (), (), 0, 0, 0)], ids=["full", "empty"])
def test_the_report_holds_what_the_schema_describes_and_nothing_else(report: Report) -> None:
    jsonschema.validate(loaded(report), closed(SCHEMA))


def test_the_schema_rejects_what_the_report_never_holds() -> None:
    for spoil in (
        lambda data: data["findings"][0].pop("identity"),
        lambda data: data["findings"][0].update(severity="fatal"),
        lambda data: data["findings"][0]["region"].update(line=0),
        lambda data: data.update(version=2),
    ):
        data = loaded(REPORT)
        spoil(data)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(data, SCHEMA)


def test_everything_is_in_it() -> None:
    data = loaded(REPORT)
    assert list(data) == [
        "version",
        "tool",
        "profiles",
        "summary",
        "findings",
        "suppressed",
        "diagnostics",
        "statistics",
    ]
    assert data["profiles"] == ["generic", "sglang"]
    assert data["summary"] == {
        "files": 9,
        "errors": 1,
        "warnings": 0,
        "notes": 1,
        "suppressed": 1,
        "diagnostics": 2,
    }
    assert [item["severity"] for item in data["findings"]] == ["note", "error"]
    assert data["findings"][1] == {
        "code": "MOE401",
        "name": "guard-not-asking",
        "family": "guards",
        "severity": "error",
        "path": "pkg/a.py",
        "region": {"line": 3, "column": 5, "end_line": 4, "end_column": 9},
        "message": "Wrong.\nBecause.",
        "help": "ask",
        "qualname": "A.f",
        "identity": "0123abcd",
        "related": [
            {
                "path": "pkg/b.py",
                "region": {"line": 1, "column": 2, "end_line": 1, "end_column": 4},
                "message": "comes from here",
            }
        ],
    }
    assert [item["region"]["line"] for item in data["suppressed"]] == [9]
    assert data["diagnostics"][0] == {
        "code": "MOE-E000",
        "path": "y.py",
        "line": 1,
        "message": "boom",
        "internal": True,
    }
    assert [(item["code"], item["count"]) for item in data["statistics"]] == [("MOE101", 1), ("MOE401", 1)]


def test_cache_order_and_notes_do_not_show() -> None:
    shuffled = Report(
        REPORT.findings[::-1], REPORT.diagnostics[::-1], REPORT.suppressed, 9, parsed=0, cached=4,
        profiles=REPORT.profiles[::-1],
    )  # fmt: skip
    assert render(shuffled, Page(notes=True, width=40)) == render(REPORT, Page())


def test_any_text_is_plain_ascii_json() -> None:
    odd = replace(FIRST, message="路由 😀 \udc80 \x1b")
    text = render(replace(REPORT, findings=(odd,)), Page())
    assert text.isascii()
    assert json.loads(text)["findings"][0]["message"] == "路由 😀 \udc80 \x1b"
