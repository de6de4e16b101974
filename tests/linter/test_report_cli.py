"""Reports from end to end: the command line, the pipeline and the formats together."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest

from moelint.linter.cli import main

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "schemas" / "report.schema.json").read_text("utf-8"))
CODE = """\
class Block:
    def forward(self, x):
        folded = is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)
        y = self.experts(x, self.topk(x))
        if not _is_cuda:
            y *= self.routed_scaling_factor
        return y
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "block.py").write_text(CODE)
    (tmp_path / "pkg" / "broken.py").write_text(CODE + "def (:\n")
    (tmp_path / "pkg" / "clean.py").write_text("x = 1\n")
    return tmp_path


def moelint(tree: Path, *argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "moelint", "check", "--isolated", *argv],
        cwd=tree,
        input=stdin,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def test_a_pipe_gets_concise_lines_and_the_summary_apart(tree: Path) -> None:
    done = moelint(tree, "--no-cache", str(tree), "--select", "MOE401")
    assert done.returncode == 1
    finding, problem = done.stdout.splitlines()
    assert finding.startswith("pkg/block.py:6:13: MOE401 guard-not-asking: ")
    assert re.match(r"pkg/broken\.py:8:1: MOE-E\d{3} not-checked: .+", problem)
    assert done.stderr.splitlines()[-1] == "1 finding, 1 diagnostic, 3 files checked"


def test_the_cache_does_not_show_in_the_json(tree: Path) -> None:
    for number in (1, 2):
        done = moelint(tree, "--cache-dir", str(tree / "cache"), "pkg", "-o", f"json:{number}.json", "-o", "full")
        assert done.stdout.startswith("error[MOE")
    cold, warm = ((tree / f"{number}.json").read_bytes() for number in (1, 2))
    assert cold == warm
    data = json.loads(cold)
    jsonschema.validate(data, SCHEMA)
    assert data["summary"]["diagnostics"] == 1
    assert "MOE401" in {item["code"] for item in data["findings"]}
    assert all(item["identity"] for item in data["findings"])


def test_standard_input_is_shown_as_it_was_given(tree: Path) -> None:
    done = moelint(tree, "-", "--stdin-filename", "pkg/clean.py", "-o", "full", "--select", "MOE401", stdin=CODE)
    assert "╭─▶ pkg/clean.py:6:13" in done.stdout
    assert " 6 │             y *= self.routed_scaling_factor\n" in done.stdout


@pytest.mark.parametrize("colour", [True, False])
def test_a_terminal_gets_the_full_report(tree: Path, colour: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "" if colour else "1")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    monkeypatch.setattr(sys, "stderr", screen)
    assert main(["check", "--isolated", "--no-cache", "--select", "MOE401", "pkg/block.py"]) == 1
    text = screen.getvalue()
    assert ("\x1b[" in text) is colour
    assert "pkg/block.py:6:13" in text
    assert text.endswith("\n\n1 finding, 1 file checked\n")
