"""`moelint check --routes`: wrong cells as findings, on the toy framework."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import toy

from moelint.linter import check, cli
from moelint.linter.model import Report
from moelint.linter.options import parse
from moelint.linter.plan import plan_for
from moelint.linter.routes import stage

TWICE = """
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold)

        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            out *= self.routed_scaling_factor
            return out
"""
MISSING = TWICE.replace("            out *= self.routed_scaling_factor\n", "")
UNKNOWN = TWICE.replace("out *= self.routed_scaling_factor", "out = mystery(out)")
COMMENT = "  # moelint: ignore[route-routed-exponent] -- known"
IDLE = TWICE.replace("self.topk = Router", "self.unused = 1" + COMMENT + "\n            self.topk = Router")


@pytest.fixture(autouse=True)
def _toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "_knowledge", lambda profile, plan: toy.KNOWLEDGE)


def report(folder: Path, code: str, *arguments: str) -> tuple[Report, list[str]]:
    toy.tree(folder, code)
    options = parse(["--routes", "--isolated", "--no-cache", *arguments, str(folder / "toy")])
    outcome = check.run(options.paths, plan_for(options))
    return check.report(outcome), outcome.remarks


def test_a_factor_too_many_is_reported_at_the_line_that_doubles(tmp_path: Path) -> None:
    found, remarks = report(tmp_path, TWICE)
    (finding,) = [f for f in found.findings if f.code == "MOE611"]
    text = Path(finding.path).read_text().splitlines()[finding.region.line - 1]
    assert text.strip() == "out *= self.routed_scaling_factor"
    assert finding.severity == "error" and finding.qualname == "Block.forward"
    assert finding.message == (
        "Routed rsf^2, expected rsf^1 at the end of `Block.forward`: when platform=cuda, a2a=none; "
        "or the experts want the fold."
    )
    (place,) = finding.related
    assert Path(place.path).name == "block.py" and "multiplied by rsf (contract toy/models.py:" in place.message
    assert remarks == ["routes: 1 blocks, 1 routes: 0 right, 1 wrong, 0 unknown, 0 refused"]
    assert found.exit_code == 1


def test_steps_in_other_files_are_related_places(tmp_path: Path) -> None:
    line = "out *= self.routed_scaling_factor"
    found, _ = report(tmp_path, TWICE.replace(line, f"if self.experts.wants_fold:\n                {line}"))
    finding = next(f for f in found.findings if "rsf^2" in f.message)
    assert next((Path(p.path).name, p.message) for p in finding.related) == (
        "topk.py",
        "top-k weights multiplied by rsf",
    )


def test_a_missing_factor_is_reported_at_the_return(tmp_path: Path) -> None:
    found, _ = report(tmp_path, MISSING)
    (finding,) = [f for f in found.findings if f.code == "MOE611"]
    text = Path(finding.path).read_text().splitlines()[finding.region.line - 1]
    assert text.strip() == "return out"
    assert "Routed rsf^0, expected rsf^1" in finding.message


def test_the_identity_survives_edits_elsewhere(tmp_path: Path) -> None:
    before, _ = report(tmp_path, TWICE)
    after, _ = report(tmp_path, "\n    SOMETHING = 1\n\n" + TWICE)
    first, second = (next(f for f in r.findings if f.code == "MOE611") for r in (before, after))
    assert first.identity == second.identity and first.region.line != second.region.line


def test_a_comment_hides_it_and_an_idle_comment_is_a_finding(tmp_path: Path) -> None:
    line = "out *= self.routed_scaling_factor"
    found, _ = report(tmp_path, TWICE.replace(line, line + COMMENT))
    assert [f.code for f in found.suppressed if f.code == "MOE611"] == ["MOE611"]
    assert not [f for f in found.findings if f.code in ("MOE611", "MOE903")]
    found, _ = report(tmp_path, IDLE)
    assert [f.code for f in found.findings if f.code.startswith("MOE9")] == ["MOE903"]


def test_a_comment_is_not_called_idle_where_routes_were_not_asked_for(tmp_path: Path) -> None:
    toy.tree(tmp_path, IDLE)
    options = parse(["--isolated", "--no-cache", str(tmp_path / "toy")])
    assert not [f for f in check.check(options.paths, plan_for(options)).findings if f.code.startswith("MOE9")]


def test_select_and_ignore_choose_among_the_rules(tmp_path: Path) -> None:
    found, _ = report(tmp_path, TWICE, "--select", "route-reduction")
    assert not found.findings
    found, remarks = report(tmp_path, TWICE, "--select", "factor-compared")
    assert remarks == ["no rule about routes is selected: --routes changes nothing"]
    assert not found.findings


def test_what_is_unknown_is_counted_and_no_finding(tmp_path: Path) -> None:
    found, remarks = report(tmp_path, UNKNOWN, "--select", "routes")
    assert not found.findings and found.exit_code == 0
    assert remarks == ["routes: 1 blocks, 1 routes: 0 right, 0 wrong, 1 unknown, 0 refused; `moelint routes` says why"]


def test_the_counts_are_printed_with_and_without_findings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy.tree(tmp_path, UNKNOWN)
    arguments = ["check", "--routes", "--isolated", "--no-cache", "--no-progress", str(tmp_path / "toy")]
    assert cli.main([*arguments, "--select", "routes"]) == 0
    assert "1 unknown" in capsys.readouterr().err
    toy.tree(tmp_path, TWICE)
    assert cli.main([*arguments, "--select", "routes", "-o", "json"]) == 1
    streams = capsys.readouterr()
    assert "1 wrong" in streams.err
    assert [finding["name"] for finding in json.loads(streams.out)["findings"]] == ["route-routed-exponent"]


def test_results_come_from_the_store_when_nothing_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    toy.tree(tmp_path / "tree", TWICE)
    options = parse(["--routes", "--isolated", "--cache-dir", str(tmp_path / "cache"), str(tmp_path / "tree" / "toy")])
    first = check.check(options.paths, plan_for(options))
    monkeypatch.setattr("moelint.linter.routes.tables.analyse", lambda *_: pytest.fail("analysed again"))
    assert check.check(options.paths, plan_for(options)).findings == first.findings


def test_a_check_without_routes_does_not_import_them(tmp_path: Path) -> None:
    toy.tree(tmp_path, TWICE)
    code = (
        "import sys; from moelint.linter import cli; "
        f"cli.main(['check', '--isolated', '--no-cache', '-j', '1', {str(tmp_path / 'toy')!r}]); "
        "print([name for name in sys.modules if name.startswith('moelint.linter.routes')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
