"""`moelint diff`: what two runs found differently."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from moelint.linter.cli import main

HEAD = "class Block:\n    factor = 1\n"
METHOD = """
    def {name}(self, x):
        y = self.experts(x, self.topk(x))
        y *= self.routed_scaling_factor
        return y
"""


def text(*names: str, comment: str = "") -> str:
    methods = "".join(METHOD.format(name=name) for name in names)
    return HEAD + methods.replace("_factor\n", f"_factor{comment}\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moelint.toml").write_text('profile = "sglang"\nselect = ["epilogue"]\n')
    return tmp_path


def report(name: str, **files: str) -> None:
    for path in Path().glob("*.py"):
        path.unlink()
    for module, code in files.items():
        Path(f"{module}.py").write_text(code)
    main(["check", "-o", f"json:{name}"])


def test_new_gone_moved_and_unchanged(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report("old.json", a=text("f", "g", "h"), b=text("m"))
    report("new.json", a=text("n", "f", "g"), c=text("m"))
    capsys.readouterr()
    assert main(["diff", "old.json", "new.json"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        "+ a.py:6:9",
        "- a.py:16:9",
        "> c.py:6:9",
        "1 new, 1 gone, 1 moved, 2 unchanged",
    ]
    assert lines[2].endswith("(was in b.py)")
    assert main(["diff", "old.json", "new.json", "--exit-zero"]) == 0
    assert main(["diff", "new.json", "new.json"]) == 0


def test_what_a_comment_hides_now_is_said_to_be_hidden(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report("old.json", a=text("f"))
    report("new.json", a=text("f", comment="  # moelint: ignore[MOE301] -- why"))
    capsys.readouterr()
    assert main(["diff", "old.json", "new.json"]) == 0
    assert capsys.readouterr().out.splitlines()[0].endswith(" (suppressed now)")
    assert main(["diff", "--json", "old.json", "new.json"]) == 0
    data: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert list(data) == ["new", "gone", "moved", "unchanged"]
    assert [item["suppressed"] for item in data["gone"]] == [True]


@pytest.mark.parametrize("content", [None, "{", "[]", "{}", '{"tool": {"name": "moelint"}, "version": 9}'])
def test_what_is_no_report_is_an_error(folder: Path, content: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    report("new.json", a=text("f"))
    if content is not None:
        (folder / "old.json").write_text(content)
    assert main(["diff", "old.json", "new.json"]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith("moelint: old.json: ")
