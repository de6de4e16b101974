"""Files that bring their own block, wrong and right: the verdict is read off the block, not off what the file says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from moelint.runtime_probe.records import Job, Unit
from moelint.runtime_probe.runner import Result, run

SHARED = Path(__file__).resolve().parents[3] / "shared" / "cases"
"""Where a checkout with the project's shared folder beside it has re-creations of public bugs."""

BENCH = """
import torch
RSF = 2.5
def block(routed_times, shared_weight):
    def run():
        out = torch.zeros(3, 4)
        out[:, 0] = RSF ** routed_times
        out[:, 1] = shared_weight
        return out
    return run
def report(function, want_routed=RSF, want_shared=1.0, base=1.0):
    raise AssertionError("the file's own report is never run")
"""
TARGET = """
import sys, pathlib
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from _bench import *
def main():
    return report({call})
"""


@pytest.mark.parametrize(
    ("call", "verdict", "exponent", "reason"),
    [
        ("block(1, 1.0)", "matches", 1.0, ""),
        ("block(2, 1.0)", "violates", 2.0, "routed weight 6.25 at factor 2.5, expected 2.5"),
        ("block(0, 1.0)", "violates", 0.0, "routed weight 1.0 at factor 2.5, expected 2.5"),
        ("block(1, 0.4)", "violates", 1.0, "shared weight 0.4 at factor 2.5, expected 1"),
        ("block(1, 0.4), want_shared=None", "matches", 1.0, ""),
        ("block(0, 1.0), want_routed=1.0", "matches", 0.0, ""),
        ("block(1, float('nan'))", "violates", 1.0, "shared weight None at factor 2.5"),
        ("lambda: 1 / 0", "violates", None, "no output: ZeroDivisionError"),
        ("lambda: (_ for _ in ()).throw(AssertionError('not here'))", "refused", None, "AssertionError: not here"),
    ],
)
def test_the_verdict_on_a_file(
    call: str, verdict: str, exponent: float | None, reason: str, tmp_path: Path, run_files: Callable[..., Result]
) -> None:
    (tmp_path / "_bench.py").write_text(BENCH)
    (tmp_path / "target.py").write_text(TARGET.format(call=call))
    (one,) = run_files(tmp_path, "target.py").measurements
    assert (one.verdict, one.measured and one.measured.routed_exponent) == (verdict, exponent)
    assert reason in one.reason


def test_the_re_creations_of_public_bugs_are_measured_as_recorded() -> None:
    """Every wrong one is found wrong, every right one right, with the recorded weights at the recorded factor."""
    recorded = {}
    for line in (SHARED / "cases.jsonl").read_text().splitlines() if SHARED.is_dir() else ():
        case = json.loads(line)
        for kind in ("bad", "good"):
            recorded[f"{case['case']}/{kind}.py"] = case[f"measured_{kind}"]
    units = tuple(Unit(path, Path(path).stem) for path in recorded)
    measured = (
        {one.path: one for one in run(Job("file", str(SHARED), "cpu", "cpu", units)).measurements} if units else {}
    )
    assert measured.keys() == recorded.keys()
    for path, want in recorded.items():
        one = measured[path]
        assert (one.verdict == "matches") == want["ok"] and one.verdict != "not-run", (path, one.reason)
        if one.measured is not None and want["routed"] is not None:
            weights = one.measured.routed["2.5"], one.measured.shared["2.5"]
            assert weights == pytest.approx((want["routed"], want["shared"]), rel=2e-3), path
