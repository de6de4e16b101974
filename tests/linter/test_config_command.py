"""`moelint config show` and `moelint config schema`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from moelint.linter.commands.config import main, show
from moelint.linter.errors import ConfigError, UsageError
from moelint.linter.registry import entries


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.moelint]\nignore = ["MOE101"]\nextend-exclude = ["gen"]\nseverity = {MOE102 = "note"}\n'
        'per-file-ignores = {"bench/*" = ["MOE201", "shared-weight"], "x/**" = ["all"]}\n',
        "utf-8",
    )
    for name, text in (
        ("bench/a.py", "from sglang import x\n"),
        ("gen/a.py", ""),
        ("sglang/srt/layers/moe/topk.py", ""),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_text(text, "utf-8")
    return tmp_path


def test_what_holds_and_why(tree: Path) -> None:
    shown = show(str(tree / "bench" / "a.py"))
    rules = {rule.code: rule for rule in shown.rules}
    assert [rule.code for rule in shown.rules] == [entry.code for entry in entries()]
    assert shown.config == str(tree / "pyproject.toml")
    assert (shown.profile, shown.profile_reason) == ("sglang", "lines that import its packages: 1")
    assert (shown.role, shown.excluded) == ("client", False)
    assert shown.per_file_ignores == ("bench/*",)
    assert rules["MOE101"].off == "not selected"
    assert {rules["MOE201"].off, rules["MOE202"].off} == {"per-file-ignores"}
    assert (rules["MOE102"].off, rules["MOE102"].severity) == (None, "note")


def test_the_folder_from_which_one_looks_does_not_matter(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree / "sglang" / "srt" / "layers" / "moe")
    shown = show("topk.py")
    assert (shown.profile, shown.module, shown.role) == ("sglang", "sglang.srt.layers.moe.topk", "owner")
    assert shown.config == str(tree / "pyproject.toml")


def test_excluded_file(tree: Path) -> None:
    assert show(str(tree / "gen" / "a.py")).excluded


def test_rules_that_do_not_fit_the_file(tree: Path) -> None:
    helped = next(entry.code for entry in entries() if entry.needs_helpers and entry.code != "MOE101")
    generic = {rule.code: rule.off for rule in show(str(tree / "gen" / "a.py")).rules}
    assert generic[helped] == "the profile generic names no central helpers"
    unfit = next(entry.code for entry in entries() if "owner" not in entry.roles and entry.code != "MOE101")
    owner = show(str(tree / "sglang" / "srt" / "layers" / "moe" / "topk.py"))
    assert owner.role == "owner"
    assert {rule.code: rule.off for rule in owner.rules}[unfit] == "not for owner modules"


def test_command_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(tree / "bench" / "a.py")
    assert main(["show", file, "--json", "--isolated", "--profile", "vllm"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["config"], shown["profile"], shown["profile_reason"]) == (None, "vllm", "asked for")
    assert main(["show", file]) == 0
    text = capsys.readouterr().out
    assert f"configuration  {tree / 'pyproject.toml'}" in text
    assert "profile        sglang: lines that import its packages: 1" in text
    assert "per-file       bench/*" in text
    assert "excluded       no" in text
    on, off = text.split("rules off:")
    assert "MOE102" in on
    assert "MOE101" in off


def test_wrong_configuration_and_missing_file(tree: Path) -> None:
    with pytest.raises(UsageError, match=r"no\.py"):
        main(["show", str(tree / "no.py")])
    (tree / "pyproject.toml").write_text("[tool.moelint]\nx = 1\n", "utf-8")
    with pytest.raises(ConfigError, match="unknown key"):
        main(["show", str(tree / "bench" / "a.py")])


def test_schema(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema"]) == 0
    assert json.loads(capsys.readouterr().out)["title"] == "moelint"
