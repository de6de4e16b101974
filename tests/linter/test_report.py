"""Reports as a caller sees them: `--output`, `write`, concise lines, the summary, statistics and colour."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from moelint.linter import report as reports
from moelint.linter.errors import UsageError
from moelint.linter.model import Diagnostic, Finding, Place, Region, Report, Severity
from moelint.linter.report.statistics import RuleCount, rule_counts


def finding(
    path: str = "pkg/a.py",
    line: int = 3,
    *,
    code: str = "MOE101",
    severity: Severity = "error",
    message: str = "The factor is read.",
) -> Finding:
    region = Region(line, 5, line, 9)
    related = (Place("pkg/b.py", Region(1, 1, 1, 4), "comes from here"),)
    return Finding(
        code, f"rule-{code[3:]}", "factor-flow", severity, path, region, message, "ask", "A.f", related, f"id-{line}"
    )


def report(*findings: Finding, diagnostics: tuple[Diagnostic, ...] = (), files: int = 7) -> Report:
    return Report(findings, diagnostics, (), files, 2, 1, ("generic",))


@dataclass
class Options:
    notes: bool = False
    statistics: bool = False
    show_suppressed: bool = False


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(
    given: Report, *specs: str, options: Options | None = None, stdout: io.StringIO | None = None
) -> tuple[str, str]:
    stdout, stderr = stdout or io.StringIO(), io.StringIO()
    outputs = reports.parse_outputs(specs, tty=stdout.isatty())
    reports.write(outputs, given, options or Options(), stdout=stdout, stderr=stderr)
    return stdout.getvalue(), stderr.getvalue()


def test_the_default_depends_on_who_reads() -> None:
    assert reports.parse_outputs([], tty=True) == [("full", None)]
    assert reports.parse_outputs([], tty=False) == [("concise", None)]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("json", ("json", None)),
        ("json:-", ("json", None)),
        ("json:out.json", ("json", "out.json")),
        (r"json:C:\ci\out.json", ("json", r"C:\ci\out.json")),
        ("concise:a:b", ("concise", "a:b")),
    ],
)
def test_the_first_colon_ends_the_format(spec: str, expected: tuple[str, str | None]) -> None:
    assert reports.parse_outputs([spec], tty=True) == [expected]


@pytest.mark.parametrize(
    ("specs", "words"),
    [
        (["yaml"], "unknown output format 'yaml': choose from concise, full, github"),
        (["jsn:x"], "unknown output format 'jsn'; did you mean 'json'?"),
        ([r"C:\ci\out.json"], "unknown output format 'C'"),
        (["json:"], "file name after the colon is missing"),
        (["json", "concise"], "standard output"),
        (["json:x", "concise:x"], "two --output formats go to x"),
        (["__init__"], "unknown output format"),
    ],
)
def test_impossible_outputs_are_refused(specs: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        reports.parse_outputs(specs, tty=False)
    assert words in str(caught.value)


def test_several_formats_at_once(tmp_path: Path) -> None:
    files = {name: tmp_path / "new" / name for name in ("full", "json")}
    out, _ = written(report(finding()), "concise", *(f"{name}:{path}" for name, path in files.items()))
    assert out == "pkg/a.py:3:5: MOE101 rule-101: The factor is read.\n"
    assert files["full"].read_text("utf-8").startswith("error[MOE101] rule-101\n")
    assert files["json"].read_text("utf-8").startswith('{\n  "version": 1,')


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot write"):
        written(report(), f"json:{tmp_path}")


def test_concise_is_exactly_one_line_a_finding() -> None:
    given = report(finding(message="One\n  two\r\nthree\tfour\u2028five\x1b[31m"), finding(line=9))
    out, _ = written(given, "concise")
    assert out.splitlines() == [
        "pkg/a.py:3:5: MOE101 rule-101: One two three four five\ufffd[31m",
        "pkg/a.py:9:5: MOE101 rule-101: The factor is read.",
    ]


def test_diagnostics_have_the_form_of_findings() -> None:
    problems = (Diagnostic("MOE-E000", "y.py", 1, "boom", True), Diagnostic("MOE-E001", "x.py", 4, "does not\nparse"))
    out, err = written(report(diagnostics=problems), "concise")
    assert out.splitlines() == [
        "x.py:4:1: MOE-E001 not-checked: does not parse",
        "y.py:1:1: MOE-E000 internal-error: boom",
    ]
    assert err == "0 findings, 2 diagnostics, 7 files checked\n"


def test_findings_come_in_reading_order_whatever_order_they_have() -> None:
    given = report(finding("b.py", 1), finding("a.py", 20), finding("a.py", 3, code="MOE102"), finding("a.py", 3))
    out, _ = written(given, "concise")
    starts = [line.split(" rule")[0] for line in out.splitlines()]
    assert starts == ["a.py:3:5: MOE101", "a.py:3:5: MOE102", "a.py:20:5: MOE101", "b.py:1:5: MOE101"]


def test_paths_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    inside, outside = tmp_path / "work" / "..odd" / "a.py", tmp_path / "b.py"
    out, _ = written(report(finding(str(inside)), finding(str(outside)), finding("./c.py")), "concise")
    paths = [line.split(":3:5")[0] for line in out.splitlines()]
    assert sorted(paths) == sorted([os.path.join("..odd", "a.py").replace(os.sep, "/"), outside.as_posix(), "c.py"])


@pytest.mark.parametrize(
    ("findings", "notes", "line"),
    [
        ([], False, "0 findings, 7 files checked"),
        ([finding()], False, "1 finding, 7 files checked"),
        ([finding(severity="note")], False, "0 findings (1 note hidden, --notes shows it), 7 files checked"),
        (
            [finding(), finding(line=4, severity="note"), finding(line=5, severity="note")],
            False,
            "1 finding (2 notes hidden, --notes shows them), 7 files checked",
        ),
        ([finding(), finding(line=4, severity="note")], True, "2 findings, 7 files checked"),
    ],
)
def test_the_summary_goes_to_standard_error(findings: list[Finding], notes: bool, line: str) -> None:
    out, err = written(report(*findings), "concise", options=Options(notes=notes))
    assert err == line + "\n"
    assert len(out.splitlines()) == sum(notes or f.severity != "note" for f in findings)


def test_one_file_is_singular() -> None:
    assert written(report(files=1), "concise")[1] == "0 findings, 1 file checked\n"


@pytest.mark.parametrize("name", ["full", "concise"])
def test_colour_is_for_terminals_only(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    given = report(finding(), diagnostics=(Diagnostic("MOE-E001", "x.py", 4, "bad"),))
    assert "\x1b[" in written(given, name, stdout=Terminal())[0]
    assert "\x1b" not in written(given, name)[0]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b" not in written(given, name)[0]
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in written(given, name, stdout=Terminal())[0]
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "dumb")
    assert "\x1b" not in written(given, name, stdout=Terminal())[0]


@pytest.mark.parametrize("name", ["full", "concise", "json"])
def test_what_the_encoding_cannot_hold_is_escaped(name: str) -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, "ascii")
    outputs = reports.parse_outputs([name], tty=False)
    odd = finding("p\udc80.py", message="路由 \udc81")
    reports.write(outputs, report(odd), Options(), stdout=stream, stderr=io.StringIO())
    assert b"\\u8def\\u7531 \\udc81" in raw.getvalue()
    assert b"p\\udc80.py" in raw.getvalue()


def test_a_reader_that_leaves_early_is_no_error() -> None:
    code = (
        "from moelint.linter import report as r\n"
        "from moelint.linter.model import *\n"
        "class O: notes = statistics = show_suppressed = False\n"
        "f = Finding('MOE101', 'n', 'f', 'error', 'a.py', Region(1, 1, 1, 2), 'm' * 100, 'h', 'q')\n"
        "r.write([('concise', None)], Report((f,) * 5000, (), (), 1, 1, 0), O())\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read().decode().splitlines() == ["5000 findings, 1 file checked"]
    process.stderr.close()
    assert process.wait() == 0


@pytest.mark.parametrize(("name", "count", "expected"), [("concise", 1, False), ("json", 1, False), ("full", 0, False)])
def test_rich_is_imported_only_to_paint(name: str, count: int, expected: bool) -> None:
    assert _loads_rich(name, count) is expected


def test_rich_paints_full_reports() -> None:
    assert _loads_rich("full", 1) is True


def _loads_rich(name: str, count: int) -> bool:
    code = (
        "import sys\n"
        "from moelint.linter import report as r\n"
        "from moelint.linter.model import *\n"
        "class O: notes = True; statistics = show_suppressed = False\n"
        "f = Finding('MOE101', 'n', 'f', 'error', 'a.py', Region(1, 1, 1, 2), 'm', 'h', 'q')\n"
        f"r.write(r.parse_outputs([{name!r}], tty=False), Report((f,) * {count}, (), (), 1, 1, 0), O())\n"
        "sys.exit(10 + ('rich' in sys.modules))\n"
    )
    status = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode
    assert status in (10, 11)
    return status == 11


COUNTED = report(
    finding("a.py", 1, code="MOE202"),
    finding("b.py", 2, code="MOE101"),
    finding("b.py", 3, code="MOE101", severity="note"),
    finding("c.py", 3, code="MOE101"),
    finding("c.py", 3, code="MOE201"),
)


def test_counts_per_rule_are_sorted_by_count_then_code() -> None:
    assert rule_counts(COUNTED) == [
        RuleCount("MOE101", "rule-101", "factor-flow", 3, 1, 2),
        RuleCount("MOE201", "rule-201", "factor-flow", 1, 0, 1),
        RuleCount("MOE202", "rule-202", "factor-flow", 1, 0, 1),
    ]


@pytest.mark.parametrize("name", ["full", "concise"])
def test_statistics_are_a_table_after_the_findings(name: str) -> None:
    out, _ = written(COUNTED, name, options=Options(statistics=True))
    assert out.endswith(
        "\n\n"
        "count  notes  files  code    name      family\n"
        "    3      1      2  MOE101  rule-101  factor-flow\n"
        "    1      0      1  MOE201  rule-201  factor-flow\n"
        "    1      0      1  MOE202  rule-202  factor-flow\n"
        "    5      1      3  total\n"
    )
    assert "count  notes" not in written(COUNTED, name)[0]


@pytest.mark.parametrize("name", ["full", "concise"])
def test_statistics_of_nothing(name: str) -> None:
    assert written(report(), name, options=Options(statistics=True))[0] == "no findings to count\n"
    assert written(report(), name)[0] == ""
