"""The formats of CI services, each read or written again by a library that knows nothing of moelint."""

from __future__ import annotations

import copy
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
from actions_toolkit import core

from moelint.linter.cli import main
from moelint.linter.model import Diagnostic, Excuse, Finding, Place, Region, Report
from moelint.linter.outputs import format_names
from moelint.linter.report.formats import github, gitlab, json_lines, junit
from moelint.linter.report.page import Page

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "report.schema.json").read_text("utf-8"))
FINDING = Finding(
    "MOE401",
    "guard-not-asking",
    "guards",
    "error",
    "pkg/a, b:c%.py",
    Region(9, 13, 9, 42),
    "50% of `a::b`.\nSecond, line\r.",
    "ask",
    "A.f",
    (Place("pkg/z.py", Region(4, 12, 4, 24), "decided here"),),
    "0123abcd",
)
LONG = replace(FINDING, severity="warning", region=Region(2, 5, 4, 9), related=(), identity="11", path="pkg/b.py")
NOTE = replace(LONG, severity="note", identity="22")
BROKEN = Diagnostic("MOE-E002", "pkg/c.py", 7, "the file does not parse: <&>\x00\ud800")
FAULT = Diagnostic("MOE-E001", "pkg/c.py", 0, "boom", internal=True)
REPORT = Report(
    (FINDING, LONG, NOTE), (BROKEN, FAULT), (replace(LONG, excuse=Excuse("comment", "why"), identity="3"),), 4, 3, 0
)
EMPTY = Report((), (), (), 4, 0, 0)


def test_github_commands_are_those_of_the_toolkit(capsys: pytest.CaptureFixture[str]) -> None:
    """GitHub's own toolkit, in its Python edition, writes the same bytes."""
    written = github.render(REPORT, Page()).splitlines()
    title = "MOE401 guard-not-asking"
    core.error(
        "50% of `a::b`. Second, line .\npkg/z.py:4: decided here\nhelp: ask",
        title=title,
        file="pkg/a, b:c%.py",
        start_line=9,
        end_line=9,
        start_column=13,
        end_column=42,
    )
    core.warning("50% of `a::b`. Second, line .\nhelp: ask", title=title, file="pkg/b.py", start_line=2, end_line=4)
    said = capsys.readouterr().out.replace(",col=,endColumn=", "")  # how the toolkit says "no columns"
    expected = [line for line in said.splitlines() if line]
    assert sorted(written[:2]) == sorted(expected)
    assert written[2] == "::error title=MOE-E001 internal error,file=pkg/c.py,line=1::boom"
    assert written[3].startswith("::error title=MOE-E002 not checked,file=pkg/c.py,line=7::the file does not parse")


def test_github_shows_notes_on_demand() -> None:
    assert "::notice " not in github.render(REPORT, Page())
    assert github.render(REPORT, Page(notes=True)).count("::notice ") == 1
    assert github.render(EMPTY, Page()) == ""


GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "properties": {
            "description": {"type": "string", "minLength": 1},
            "check_name": {"type": "string"},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "required": ["path", "lines"],
                "properties": {
                    "path": {"type": "string", "pattern": "^[^./]"},
                    "lines": {
                        "type": "object",
                        "required": ["begin"],
                        "properties": {"begin": {"type": "integer", "minimum": 1}},
                    },
                },
            },
        },
    },
}
"""The fields that GitLab documents under "code quality report format"."""


def test_gitlab_reads_every_issue() -> None:
    issues = json.loads(gitlab.render(REPORT, Page(notes=True)))
    jsonschema.validate(issues, GITLAB)
    assert [issue["severity"] for issue in issues] == ["major", "minor", "info", "blocker", "critical"]
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    assert issues[0]["location"] == {"path": "pkg/a, b:c%.py", "lines": {"begin": 9, "end": 9}}
    assert issues[0]["other_locations"] == [{"path": "pkg/z.py", "lines": {"begin": 4, "end": 4}}]
    assert json.loads(gitlab.render(EMPTY, Page())) == []
    assert len(json.loads(gitlab.render(REPORT, Page()))) == 4


def test_gitlab_fingerprints_do_not_move_with_the_line() -> None:
    moved = replace(FINDING, region=Region(90, 13, 90, 42))
    down = replace(BROKEN, line=70)
    first, second = (
        [issue["fingerprint"] for issue in json.loads(gitlab.render(Report((f,), (d,), (), 1, 1, 0), Page()))]
        for f, d in ((FINDING, BROKEN), (moved, down))
    )
    assert first == second


def cases(text: str) -> list[tuple[str, Any]]:
    suites = junitparser.JUnitXml.fromstring(text.encode("utf-8", "backslashreplace"))
    counted = (suites.tests, suites.failures, suites.errors)
    found = [(suite.name, case) for suite in suites for case in suite]
    kinds = [type(result) for _, case in found for result in case.result]
    assert counted == (len(found), kinds.count(junitparser.Failure), kinds.count(junitparser.Error))
    return found


def test_junit_has_a_failed_case_for_each_finding() -> None:
    found = cases(junit.render(REPORT, Page()))
    assert [name for name, _ in found] == ["pkg/a, b:c%.py", "pkg/b.py", "pkg/c.py", "pkg/c.py"]
    _, case = found[0]
    [failure] = case.result
    assert isinstance(failure, junitparser.Failure)
    assert (failure.type, failure.message) == ("error", "50% of `a::b`. Second, line .")
    assert failure.text.splitlines() == [
        "pkg/a, b:c%.py:9:13: 50% of `a::b`. Second, line .",
        "pkg/z.py:4:12: decided here",
        "help: ask",
    ]
    assert case.name == "MOE401 guard-not-asking in A.f [0123abcd]"
    assert [type(result) for _, case in found[2:] for result in case.result] == [junitparser.Error] * 2


def test_junit_without_findings_is_one_case_that_passed() -> None:
    [(_, case)] = cases(junit.render(EMPTY, Page()))
    assert case.is_passed
    assert case.name == "4 files"


def test_junit_takes_any_character() -> None:
    odd = replace(
        FINDING, message="".join(map(chr, [*range(0x100), 0xD800, 0xFFFE, 0xFFFF, 0x1F600])), path="\udcff.py"
    )
    [(name, case)] = cases(junit.render(Report((odd,), (), (), 1, 1, 0), Page()))
    assert name == r"\udcff.py"
    assert "😀" in case.result[0].message


def closed(kind: str, key: str) -> dict[str, Any]:
    """The schema of a line: that of the JSON report, `kind` in front, and nothing else."""
    schema = copy.deepcopy(SCHEMA)
    item = schema["$defs"][key] if key else {**schema, "required": ["version", "tool", "profiles", "summary"]}
    item["properties"] = {**item["properties"], "kind": {"const": kind}}
    item["required"] = ["kind", *item["required"]]
    return {"$defs": schema["$defs"], **item, "additionalProperties": False}


def test_json_lines_hold_what_json_holds() -> None:
    lines = [json.loads(line) for line in json_lines.render(REPORT, Page()).splitlines()]
    assert [line["kind"] for line in lines] == ["run", *["finding"] * 3, "suppressed", *["diagnostic"] * 2]
    keys = {"run": "", "finding": "finding", "suppressed": "finding", "diagnostic": "diagnostic"}
    for line in lines:
        jsonschema.validate(line, closed(line["kind"], keys[line["kind"]]))
    assert lines[4]["excuse"] == {"kind": "comment", "reason": "why"}
    assert lines[0]["summary"]["files"] == 4


def test_one_run_writes_them_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "m.py").write_text(
        "class Block:\n    def forward(self, x):\n        y = self.experts(x, self.topk(x))\n"
        "        y *= self.routed_scaling_factor\n        return y\n"
    )
    monkeypatch.chdir(tmp_path)
    outputs = [word for name in format_names() for word in ("--output", f"{name}:out/{name}")]
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert main(["check", "m.py", "--isolated", "--no-cache", "--profile", "sglang", *outputs]) == 1
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == format_names()
    assert all(b"MOE301" in path.read_bytes() for path in (tmp_path / "out").iterdir())
