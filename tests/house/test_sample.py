"""The sample that `make lint` shows a newcomer: its wrong blocks are reported, its clean one is not."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

SAMPLE = Path(__file__).parents[2] / "fixtures" / "sample" / "emberlm"


@pytest.fixture(scope="module")
def reported() -> dict[str, set[str]]:
    """File name -> names of the rules that report something there."""
    command = [sys.executable, "-m", "moelint", "check", "--no-cache", "--isolated", "--output", "json", str(SAMPLE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    found: dict[str, set[str]] = {path.name: set() for path in SAMPLE.glob("*.py")}
    for finding in json.loads(done.stdout)["findings"]:
        found[Path(finding["path"]).name].add(finding["name"])
    return found


@pytest.mark.parametrize("name", ["block.py", "experts.py", "router.py"])
def test_clean_files_are_silent(reported: dict[str, set[str]], name: str) -> None:
    assert reported[name] == set()


@pytest.mark.parametrize(
    ("name", "rules"),
    [
        ("overlap_block.py", {"epilogue-unguarded", "guard-not-asking"}),
        ("fused_shared_block.py", {"slot-weight-decided"}),
    ],
)
def test_wrong_blocks_are_reported(reported: dict[str, set[str]], name: str, rules: set[str]) -> None:
    assert reported[name] >= rules
