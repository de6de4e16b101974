"""Real blocks: SGLang's repaired scaling bugs before and after, and blocks of Transformers, which nothing emulates."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from moelint.runtime_probe import plan, runner

ROOT = Path(__file__).resolve().parents[2]


def test_every_repaired_bug_is_measured_wrong_before_and_right_after(release: Callable[[str], Path]) -> None:
    before, after = release("0.5.22"), release("0.5.23")
    older = [str(release("0.5.14")), str(release("0.5.15"))]
    command = [sys.executable, str(ROOT / "tools" / "probe_exam.py"), "--before", str(before), "--after", str(after)]
    done = subprocess.run([*command, "--older", *older], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "13 of 13 cells wrong before and right after" in done.stdout


def test_reductions_over_ranks_are_measured_wrong_before_and_right_after(release: Callable[[str], Path]) -> None:
    folder = release("0.5.21").parent.parent
    release("0.5.23")
    exam = [sys.executable, str(ROOT / "tools" / "reductions_exam.py"), "--releases", str(folder)]
    options = ["--wrong", "0.5.21-all", "--right", "0.5.23-all", "--worlds", "2", "--launchers", "threads"]
    done = subprocess.run([*exam, *options], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "deepep   2  violates  routed 3 1.5; shared 1.5 0.75" in done.stdout
    assert done.stdout.count("matches") == 5


@pytest.mark.parametrize(
    ("block", "exponent", "shared"),
    [
        ("deepseek_v3.py:DeepseekV3MoE", 1.0, 1.0),
        ("glm4_moe.py:Glm4MoeMoE", 1.0, 1.0),
        ("mixtral.py:MixtralSparseMoeBlock", 0.0, None),
    ],
)
def test_blocks_of_transformers_are_right(block: str, exponent: float, shared: float | None) -> None:
    import transformers

    root = Path(transformers.__file__).parent
    (job,) = plan.jobs(root, plan.Choice(classes=(block,)))
    (one,) = runner.run(job).measurements
    assert one.verdict == "matches", one.reason
    assert one.emulated == ()
    assert one.measured is not None and one.expected is not None
    assert one.measured.routed_exponent == pytest.approx(exponent, abs=1e-3)
    assert one.expected.shared == shared
