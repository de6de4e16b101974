"""`moelint baseline` and `--baseline` from the command line, in a repository as a team would have it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from moelint.linter import registry
from moelint.linter.cli import main

FILE = "moelint-baseline.jsonl"
METHOD = """\
    def {name}(self, x):
        y = self.experts(x, self.topk(x))
        y *= self.routed_scaling_factor
        return y
"""
CONFIG = f'[tool.moelint]\nbaseline = "{FILE}"\nprofile = "sglang"\nselect = ["epilogue"]\n'


def block(*names: str) -> str:
    return "class Block:\n    factor = 1\n\n" + "\n".join(METHOD.format(name=name) for name in names)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two wrong methods and a configured baseline that is not yet there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pyproject.toml").write_text(CONFIG)
    (tmp_path / "m.py").write_text(block("f", "g"))
    return tmp_path


def entries(tree: Path) -> list[tuple[str, str, str]]:
    lines = (tree / FILE).read_text().splitlines()[1:]
    return [(data["path"], data["in"], data.get("reason", "")) for data in map(json.loads, lines)]


def test_create_then_check_is_clean(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "create", "--reason", "before moelint"]) == 0
    assert f"{FILE}: 2 findings in 1 file" in capsys.readouterr().err
    assert entries(tree) == [("m.py", "Block.f", "before moelint"), ("m.py", "Block.g", "before moelint")]
    assert main(["check"]) == 0
    said = capsys.readouterr()
    assert (said.out, said.err) == ("", "0 findings, 2 in the baseline, 1 file checked\n")
    assert main(["check", "--no-baseline"]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_only_what_is_new_is_reported(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create"])
    (tree / "m.py").write_text(block("e", "f", "g"))
    capsys.readouterr()
    assert main(["check"]) == 1
    said = capsys.readouterr()
    assert [line.partition(": ")[0] for line in said.out.splitlines()] == ["m.py:6:9"]
    assert said.err.endswith("1 finding, 2 in the baseline, 1 file checked\n")


def test_the_entries_hold_from_any_folder(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    main(["baseline", "create"])
    (tree / "sub").mkdir()
    monkeypatch.chdir(tree / "sub")
    assert main(["check", ".."]) == 0
    assert main(["check", str(tree / "m.py")]) == 0
    assert (
        main(["check", "..", "--isolated", "--profile", "sglang", "--baseline", f"../{FILE}", "--select", "MOE301"])
        == 0
    )


def test_json_says_that_the_baseline_hides_it(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create", "--reason", "old"])
    capsys.readouterr()
    main(["check", "-o", "json"])
    data = json.loads(capsys.readouterr().out)
    assert data["findings"] == []
    assert [item["excuse"] for item in data["suppressed"]] == [{"kind": "baseline", "reason": "old"}] * 2


def test_a_baseline_that_is_not_there_is_an_error(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 2
    assert "the baseline cannot be read" in capsys.readouterr().err
    assert main(["check", "--baseline", "other.jsonl"]) == 2
    assert "other.jsonl: the baseline cannot be read" in capsys.readouterr().err


def test_create_never_overwrites(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / FILE).write_text("precious")
    assert main(["baseline", "create"]) == 2
    assert (tree / FILE).read_text() == "precious"
    assert "update --grow" in capsys.readouterr().err


def test_without_a_configuration_the_file_has_a_default_name(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "pyproject.toml").write_text('[tool.moelint]\nprofile = "sglang"\n')
    assert main(["baseline", "create"]) == 0
    assert f'baseline = "{FILE}"' in capsys.readouterr().err
    assert main(["check"]) == 1, "a baseline that nobody configured hides nothing"


def test_update_refuses_to_grow_unless_asked(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create", "--reason", "old"])
    before = (tree / FILE).read_bytes()
    (tree / "m.py").write_text(block("f", "h", "i"))
    assert main(["baseline", "update"]) == 1
    assert (tree / FILE).read_bytes() == before
    said = capsys.readouterr()
    assert len(said.out.splitlines()) == 1, "of two new ones, one is taken for the renamed old one"
    assert "1 finding would be added" in said.err
    assert main(["baseline", "update", "--grow", "--reason", "agreed"]) == 0
    assert sorted(reason for _, _, reason in entries(tree)) == ["agreed", "old", "old"]
    assert main(["check"]) == 0


def test_prune_takes_out_what_is_gone_and_nothing_else(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create", "--reason", "old"])
    (tree / "m.py").write_text(block("g"))
    capsys.readouterr()
    assert main(["check"]) == 0
    assert (
        f"moelint: {FILE}: 1 of its findings is gone; `moelint baseline prune` takes it out" in capsys.readouterr().err
    )
    before = (tree / FILE).read_bytes()
    assert main(["baseline", "prune", "--check"]) == 1
    assert (tree / FILE).read_bytes() == before
    assert main(["baseline", "prune"]) == 0
    assert entries(tree) == [("m.py", "Block.g", "old")]
    assert "m.py: MOE301 epilogue-unguarded in Block.f: 1 gone" in capsys.readouterr().out
    assert main(["baseline", "prune", "--check"]) == 0
    (tree / "m.py").write_text(block("f", "g"))
    assert main(["check"]) == 1, "what was pruned cannot come back"
    assert main(["baseline", "prune"]) == 0
    assert len(entries(tree)) == 1, "prune never adds"


def test_update_of_one_file_leaves_the_others_alone(tree: Path) -> None:
    (tree / "n.py").write_text(block("f"))
    main(["baseline", "create"])
    (tree / "m.py").write_text(block())
    (tree / "n.py").write_text(block())
    assert main(["baseline", "update", "n.py"]) == 0
    assert {path for path, _, _ in entries(tree)} == {"m.py"}


def test_prune_leaves_the_rules_alone_that_did_not_run(tree: Path) -> None:
    main(["baseline", "create"])
    (tree / "m.py").write_text(block())
    assert main(["baseline", "prune", "--select", "guards"]) == 0
    assert len(entries(tree)) == 2


def test_show_lists_the_entries(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create", "--reason", "old\nstory"])
    capsys.readouterr()
    assert main(["baseline", "show"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "m.py: MOE301 epilogue-unguarded in Block.f: 1 -- old story",
        "m.py: MOE301 epilogue-unguarded in Block.g: 1 -- old story",
        "2 findings in 1 file",
    ]


def test_a_file_that_does_not_parse_cannot_be_baselined(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "broken.py").write_text(block("f") + "def (:\n")
    assert main(["baseline", "create"]) == 1
    assert "broken.py:8:1: MOE-E002 not-checked: " in capsys.readouterr().err
    assert {path for path, _, _ in entries(tree)} == {"m.py"}
    assert main(["check"]) == 1


def test_entries_of_a_file_that_broke_are_kept(tree: Path) -> None:
    main(["baseline", "create"])
    (tree / "m.py").write_text(block("f") + "def (:\n")
    assert main(["baseline", "prune"]) == 1
    assert len(entries(tree)) == 2


def test_an_internal_error_cannot_be_baselined(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["baseline", "create"])
    before = (tree / FILE).read_bytes()

    def fail(self: registry.RuleEntry) -> type:
        raise LookupError("boom")

    monkeypatch.setattr(registry.RuleEntry, "load", fail)
    os.unlink(tree / FILE)
    assert main(["baseline", "create", "--no-cache"]) == 2
    assert "MOE-E001 internal-error" in capsys.readouterr().err
    assert entries(tree) == []
    (tree / FILE).write_bytes(before)
    assert main(["check", "--no-cache"]) == 2
    assert main(["baseline", "prune", "--no-cache"]) == 2
    assert (tree / FILE).read_bytes() == before


def test_two_branches_merge_with_git(tree: Path) -> None:
    """The whole way: a repository, two branches that fix and add, `merge=union`, prune."""

    def git(*arguments: str) -> None:
        options = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *options, *arguments], check=True, capture_output=True)

    def commit(text: str) -> None:
        (tree / "m.py").write_text(text)
        assert main(["baseline", "update", "--grow"]) == 0
        git("add", ".")
        git("commit", "-q", "-m", "x")

    git("init", "-q", "-b", "main")
    (tree / ".gitattributes").write_text(f"{FILE} merge=union\n")
    (tree / ".gitignore").write_text(".moelint_cache\n")
    gap = "\n".join(f"    attribute{number} = {number}" for number in range(8))
    main(["baseline", "create"])
    commit(block("a", "b") + f"\n{gap}\n\n" + METHOD.format(name="y"))
    git("checkout", "-q", "-b", "other")
    commit(block("b") + f"\n{gap}\n\n" + METHOD.format(name="y"))
    git("checkout", "-q", "main")
    commit(block("a", "b") + f"\n{gap}\n\n" + METHOD.format(name="y") + "\n" + METHOD.format(name="z"))
    git("merge", "-q", "--no-edit", "other")
    assert "Block.a" not in (tree / "m.py").read_text() and "def z" in (tree / "m.py").read_text()
    assert main(["check"]) == 0
    assert main(["baseline", "prune"]) == 0
    assert [name for _, name, _ in entries(tree)] == ["Block.b", "Block.y", "Block.z"]


def test_a_run_without_a_baseline_imports_nothing_of_it(tree: Path) -> None:
    (tree / "pyproject.toml").unlink()
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "moelint", "check", "--no-cache", "m.py", "--profile", "sglang"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "moelint.linter.report" in done.stderr
    assert "moelint.linter.baseline" not in done.stderr and "moelint.linter.ratchet" not in done.stderr
