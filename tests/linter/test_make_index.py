"""The generated index is current and complete."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import moelint.rules
from moelint.linter import registry
from moelint.linter.rule import Tokens
from moelint.rules import _index


@pytest.fixture(scope="module")
def make_index() -> ModuleType:
    path = Path(__file__).parents[2] / "tools" / "make_index.py"
    spec = importlib.util.spec_from_file_location("moelint_make_index", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_index_is_current(make_index: ModuleType) -> None:
    path = _index.__file__
    assert path is not None
    assert Path(path).read_text("utf-8") == make_index.render(), "run python tools/make_index.py"


def test_check_only_compares(make_index: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(make_index, "render", lambda: "text\n")
    monkeypatch.setattr(make_index, "target", lambda: tmp_path / "_index.py")
    assert make_index.main(["--check"]) == 1
    assert not (tmp_path / "_index.py").exists()
    assert make_index.main([]) == 0
    assert make_index.main(["--check"]) == 0


def test_every_entry_leads_to_its_class() -> None:
    for entry in registry.entries():
        rule = entry.load()
        assert (rule.code, rule.name(), rule.family, rule.severity) == (
            entry.code,
            entry.name,
            entry.family,
            entry.severity,
        )
        assert (rule.tokens, rule.roles, rule.needs_helpers) == (entry.tokens, entry.roles, entry.needs_helpers)


def test_every_file_of_the_package_is_in_the_index() -> None:
    assert registry.stale() == []
    (folder,) = moelint.rules.__path__
    files = {path.stem for path in Path(folder).glob("[!_]*.py")}
    assert {entry.module.rpartition(".")[2] for entry in registry.entries()} == files | {"suppression_rules"}


def test_a_rule_that_the_index_lacks_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_index, "RULES", _index.RULES[1:])
    assert len(registry.stale()) == 1


def test_two_rules_in_a_file_and_a_code_used_twice_are_refused(make_index: ModuleType) -> None:
    entry = registry.entries()[0]
    module = ModuleType(entry.module)
    with pytest.raises(ValueError, match="expected one rule class, found 0"):
        make_index._only_rule(module)
    rules = make_index.rule_classes()
    with pytest.raises(ValueError, match=f"the same rule code twice: {rules[0].code}"):
        make_index.refuse_twins([*rules, rules[0]])


@pytest.mark.parametrize("tokens", [(), ((),), (("a",), ())])
def test_a_rule_that_would_have_every_file_parsed_is_refused(make_index: ModuleType, tokens: Tokens) -> None:
    rules = [
        registry.RuleEntry(f"T{n}", f"t{n}", "f", "error", "1", "", given, False, ("client",), "m", "C")
        for n, given in enumerate([(("fine",),), tokens])
    ]
    with pytest.raises(ValueError, match="no tokens"):
        make_index.token_covers(rules, {"generic": {}})


def test_profiles_are_plain_data() -> None:
    def plain(value: object) -> bool:
        if isinstance(value, dict):
            return all(isinstance(key, str) and plain(item) for key, item in value.items())
        return all(map(plain, value)) if isinstance(value, list) else isinstance(value, (str, bool, int, float))

    assert "generic" in _index.PROFILES
    assert plain(_index.PROFILES)
    assert all(name == data["name"] for name, data in _index.PROFILES.items())
