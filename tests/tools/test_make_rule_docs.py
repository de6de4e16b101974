"""The pages in docs/rules are those that the docstrings say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from moelint.linter.registry import entries

_TOOL = Path(__file__).parents[2] / "tools" / "make_rule_docs.py"
_spec = importlib.util.spec_from_file_location("moelint_make_rule_docs", _TOOL)
assert _spec is not None and _spec.loader is not None
tool = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(tool)


def test_the_pages_are_current() -> None:
    assert tool.outdated(tool.DOCS, tool.pages()) == [], "run python tools/make_rule_docs.py"


def test_the_index_links_every_page() -> None:
    pages = tool.pages()
    assert set(pages) == {"rules.md", *(f"rules/{entry.name}.md" for entry in entries())}
    for entry in entries():
        assert f"| {entry.code} | [{entry.name}](rules/{entry.name}.md) | {entry.severity} | " in pages["rules.md"]


def test_missing_changed_and_left_over_pages_are_found_and_mended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tool, "DOCS", tmp_path)
    assert tool.main([]) == 0
    assert tool.outdated(tmp_path, tool.pages()) == []
    first, second = (f"rules/{entry.name}.md" for entry in entries()[:2])
    (tmp_path / first).unlink()
    (tmp_path / second).write_text("old")
    (tmp_path / "rules" / "gone.md").write_text("left over")
    assert tool.main(["--check"]) == 1
    assert sorted(line.split()[0] for line in capsys.readouterr().err.splitlines()) == sorted(
        f"docs/{name}" for name in (first, second, "rules/gone.md")
    )
    assert tool.main([]) == 0
    assert tool.main(["--check"]) == 0
    assert not (tmp_path / "rules" / "gone.md").exists()
