"""Reports survive a round trip, are compared cell by cell, and single cells become tests of their own."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from moelint.runtime_probe import cli, compare, measure, report
from moelint.runtime_probe.records import Expected, Measurement, Weights

ONE = Measurement(
    path="a.py",
    block="A",
    route="forward -> forward_normal",
    configuration={"platform": "cuda", "a2a": "none"},
    device="cpu",
    verdict="matches",
    grade="reached",
    emulated=("platform:cuda",),
    expected=Expected(baseline=1.0),
    measured=Weights({"1": 1.0, "1.5": 1.5, "2.5": 2.5}, {"1": 1.0, "1.5": 1.0, "2.5": 1.0}, 1.0, 0.0, 1.0, 0.0),
    tolerance=1e-3,
)

WRONG = """
import torch
RSF = 2.5
def report(function, want_routed=RSF, want_shared=1.0, base=1.0): ...
def main():
    def block():
        out = torch.ones(2, 4)
        out[:, 0] = RSF * {by}
        return out
    return report(block)
"""


def test_a_measurement_survives_the_report() -> None:
    assert Measurement.from_dict(json.loads(json.dumps(ONE.as_dict()))) == ONE


@pytest.mark.parametrize(
    "change", [{"verdict": "fine"}, {"grade": "maybe"}, {"configuration": []}, {"measured": {"x": 1}}]
)
def test_what_is_no_measurement_is_refused(change: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError)):
        Measurement.from_dict({**ONE.as_dict(), **change})


@pytest.mark.parametrize(
    ("before", "after", "worse"),
    [
        ("matches", "violates", True),
        ("not-run", "violates", True),
        (None, "violates", True),
        ("matches", "not-run", True),
        ("violates", None, True),
        ("violates", "matches", False),
        ("not-run", "matches", False),
        ("matches", "refused", False),
        (None, "not-run", False),
    ],
)
def test_a_change_is_worse_if_it_violates_or_loses_a_verdict(
    before: str | None, after: str | None, worse: bool
) -> None:
    old = [replace(ONE, verdict=before)] if before else []
    new = [replace(ONE, verdict=after)] if after else []
    (change,) = compare.changes(old, new)
    assert (change.before, change.after, change.worse) == (before, after, worse)


def test_cells_that_stay_are_no_change() -> None:
    assert compare.changes([ONE], [replace(ONE, line=99, seconds=3.0)]) == []


def test_a_latent_violation_is_no_finding() -> None:
    assert report.is_wrong(replace(ONE, verdict="violates"))
    assert not report.is_wrong(replace(ONE, verdict="violates", grade="latent"))


@pytest.mark.parametrize(
    ("values", "exponent"),
    [
        ({1.5: 1.5, 2.5: 2.5}, 1.0),
        ({1.5: 2.25, 2.5: 6.25}, 2.0),
        ({1.5: 1 / 1.5, 2.5: 1 / 2.5}, -1.0),
        ({1.5: 0.7, 2.5: 0.7}, 0.0),
        ({1.5: 0.0, 2.5: 0.0}, None),
        ({1.5: -1.0, 2.5: 1.0}, None),
        ({1.5: float("inf"), 2.5: 1.0}, None),
    ],
)
def test_the_exponent_is_the_slope_of_the_logarithms(values: dict[float, float], exponent: float | None) -> None:
    found = measure.exponent(values)
    assert found == (None if exponent is None else pytest.approx(exponent))


def test_a_left_over_weight_shows_in_the_baseline_alone() -> None:
    """A slot that was normalised together with the routed columns leaves the exponent at 1."""
    rows = {1.0: [0.8354], 1.5: [0.8354 * 1.5], 2.5: [0.8354 * 2.5]}
    measured = measure.weights(rows, {factor: [1.0] for factor in rows}, (1.5, 2.5))
    assert measured.routed_exponent == pytest.approx(1.0)
    verdict, reason = measure.judge(Expected(baseline=1.0), measured, 1e-3)
    assert (verdict, reason) == ("violates", "routed weight at factor 1 0.8354, expected 1")


def test_tokens_that_disagree_are_a_violation() -> None:
    rows = {1.0: [1.0, 1.0], 1.5: [1.5, 1.0], 2.5: [2.5, 1.0]}
    measured = measure.weights(rows, {factor: [1.0, 1.0] for factor in rows}, (1.5, 2.5))
    assert "tokens differ" in measure.judge(Expected(routed_exponent=None), measured, 1e-3)[1]


def test_the_command_measures_writes_compares_and_emits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, before, after = tmp_path / "block.py", tmp_path / "before.json", tmp_path / "after.json"
    target.write_text(WRONG.format(by="RSF"))
    assert cli.main([str(target), "--json", str(before)]) == 1
    assert "routed exponent 2 (policy 1)" in capsys.readouterr().out
    (one,) = json.loads(before.read_text())["measurements"]
    assert (one["verdict"], one["emulated"], one["measured"]["routed_exponent"]) == ("violates", False, 2.0)

    emitted = tmp_path / "test_emitted.py"
    assert cli.main([str(target), "--emit-test", one["cell"], "--emit-to", str(emitted)]) == 1
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(emitted)]
    wrong = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert wrong.returncode == 1 and "the factor acts 2.0 times" in wrong.stdout

    target.write_text(WRONG.format(by="1"))
    assert subprocess.run(command, capture_output=True, cwd=tmp_path).returncode == 0
    assert cli.main([str(target), "--json", str(after), "--compare", str(before)]) == 0
    assert "violates -> matches" in capsys.readouterr().err
    target.write_text(WRONG.format(by="RSF"))
    assert cli.main([str(target), "--compare", str(after)]) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such file or folder"),
        (["{folder}"], "no block to probe"),
        (["{folder}", "--framework", "sglang"], "no package sglang"),
        (["{folder}/a.py", "--compare", "{folder}/a.py"], "no report of the probe"),
        (["{folder}/a.py", "--from", "{folder}/a.py"], "no report of moelint check"),
        (["{folder}/a.py", "--python", "{folder}/no-python"], "No such file"),
        (["{folder}/a.py", "--emit-test", "a.py:a|x|y=z"], "no cell"),
    ],
)
def test_a_wrong_request_is_one_line_and_code_2(
    arguments: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if arguments[0] != "{folder}":
        (tmp_path / "a.py").write_text("def main(): ...")
    assert cli.main([argument.format(folder=tmp_path) for argument in arguments]) == 2
    assert message in capsys.readouterr().err
