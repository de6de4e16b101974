"""Dead symbols: what a repository's profile declares and its tree does not define."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from moelint.linter.profile_symbols import dead_symbols
from moelint.linter.settings import Known
from moelint.linter.validate import settings_problems

TOPK = '''
"""def in_a_docstring(): ..."""
import os, numpy as np
from x import y as z
LIMIT, (REST, *MORE) = 1, (2, 3)
typed: int
if LIMIT:
    def conditional(a, *, keyword=1): local = 1
else:
    with open("f") as stream:
        inner = [element for element in stream]
try:
    async def tried(): ...
except OSError as failure:
    handled = 1

class Top:
    level = 1
    def __init__(self, factor):
        self.folded = factor
    class Inner:
        deep = 1

class Derived(Top, nn.Module):
    own = 1

class Foreign(elsewhere.Base):
    own = 1

class Loop(Loop):
    own = 1
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for root, package in (("", "flat"), ("python", "pk"), ("src", "lib")):
        folder = tmp_path / root / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("from os import *\n" if package == "lib" else "", "utf-8")
        (folder / "topk.py").write_text(TOPK, "utf-8")
    (tmp_path / "python" / "pk" / "kernels").mkdir()
    (tmp_path / "python" / "pk" / "lazy.py").write_text("def __getattr__(name): ...\n", "utf-8")
    (tmp_path / "python" / "pk" / "broken.py").write_text("def f(:\n", "utf-8")
    (tmp_path / "python" / "pk" / "nul.py").write_bytes(b"a\0b")
    (tmp_path / "python" / "pk" / "raises.py").write_text("raise SystemExit('imported')\ndef f(): ...\n", "utf-8")
    return tmp_path


LIVE = [
    "LIMIT",
    "REST",
    "MORE",
    "os",
    "np",
    "z",
    "conditional",
    "conditional.keyword",
    "conditional.local",
    "stream",
    "inner",
    "tried",
    "handled",
    "Top",
    "Top.level",
    "Top.folded",
    "Top.__init__",
    "Top.__init__.factor",
    "Top.Inner.deep",
    "Derived.own",
    "Derived.folded",
    "Foreign.inherited",
    "Loop.own",
    "LIMIT.anything",
]


@pytest.mark.parametrize("name", LIVE)
def test_defined_names_are_found(tree: Path, name: str) -> None:
    for package in ("flat", "pk", "lib"):
        assert dead_symbols({"answer_calls": [f"{package}.topk:{name}"]}, "", str(tree)) == []


DEAD = [
    ("in_a_docstring", "pk.topk does not define 'in_a_docstring'"),
    ("conditonal", "pk.topk does not define 'conditonal'; did you mean 'conditional'?"),
    ("element", "pk.topk does not define 'element'"),
    ("numpy", "pk.topk does not define 'numpy'"),
    ("level", "pk.topk does not define 'level'"),
    ("Top.foldd", "pk.topk.Top does not define 'foldd'; did you mean 'folded'?"),
    ("Top.Inner.level", "pk.topk.Top.Inner does not define 'level'"),
    ("Derived.owm", "pk.topk.Derived does not define 'owm'; did you mean 'own'?"),
    ("Loop.other", "pk.topk.Loop does not define 'other'"),
    ("Topp.level", "pk.topk does not define 'Topp'; did you mean 'Top'?"),
]


@pytest.mark.parametrize(("name", "problem"), DEAD)
def test_dead_names_are_told_with_what_the_module_defines(tree: Path, name: str, problem: str) -> None:
    found = dead_symbols({"answer_calls": ["pk.topk:Top", f"pk.topk:{name}"]}, "p.", str(tree))
    assert found == [f"p.answer_calls[1]: {problem}"]


@pytest.mark.parametrize(
    ("declared", "problem"),
    [
        ("pk.topk", None),
        ("pk", None),
        ("pk.*", None),
        ("pk.kernels.*", None),
        ("pk.topkk", "there is no module pk.topkk; did you mean 'pk.topk'?"),
        ("pk.kernls.x.*", "there is no module pk.kernls; did you mean 'pk.kernels'?"),
        ("pkk.topk", "there is no package pkk; did you mean 'pk'?"),
        ("pk.topk.*", "pk.topk is a module and has nothing below it; leave out '.*'"),
        ("known.anything.*", None),
        ("knwn.x", "there is no package knwn; did you mean 'known'?"),
    ],
)
def test_modules_must_exist(tree: Path, declared: str, problem: str | None) -> None:
    expected = [] if problem is None else [f"leaf[0]: {problem}"]
    assert dead_symbols({"leaf": [declared]}, "", str(tree), foreign=["known"]) == expected


def test_every_kind_of_field_is_looked_at(tree: Path) -> None:
    data = {
        "helper_module": "pk.no1",
        "owner": ["pk.no2"],
        "method": ["pk.no3"],
        "packages": ["not_looked_up"],
        "factor": ["bare", "pk.topk:no4"],
        "platform": {"pk.topk:no5": ["cuda"], "bare": ["cuda"]},
        "slot_sinks": {"pk.topk:no6": ["x"]},
        "backend_sources": {"pk.topk:no7": "a2a"},
    }
    found = sorted(problem.split(":")[0] for problem in dead_symbols(data, "", str(tree)))
    assert found == sorted(
        ["helper_module", "owner[0]", "method[0]", "factor[1]", "platform.pk.topk", "slot_sinks.pk.topk",
         "backend_sources.pk.topk"]
    )  # fmt: skip


def test_what_cannot_be_known_is_taken_on_trust(tree: Path) -> None:
    data = {"answer_calls": ["pk.lazy:anything", "lib:anything", "pk.raises:f", "known.x:y"]}
    assert dead_symbols(data, "", str(tree), foreign=["known"]) == []


def test_module_that_cannot_be_read(tree: Path) -> None:
    found = dead_symbols({"answer_calls": ["pk.broken:f", "pk.nul:f"]}, "", str(tree))
    assert len(found) == 2
    assert all("cannot be read" in problem for problem in found)


def test_reading_a_module_warns_of_nothing(tree: Path) -> None:
    (tree / "python" / "pk" / "loud.py").write_text("f = '\\d' is 3\n", "utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dead_symbols({"answer_calls": ["pk.loud:f"]}, "", str(tree)) == []


def test_values_of_a_wrong_shape_are_passed_over(tree: Path) -> None:
    assert dead_symbols({"leaf": 3, "owner": [3, "a b"], "factor": {"x": 1}, "platform": ["a"]}, "", str(tree)) == []


def test_settings_report_them_beside_everything_else(tree: Path) -> None:
    base = {"engine": {"name": "engine", "packages": ["engine"], "factor": ["s"]}}
    table = {"profile": {"base": "engine", "factr": [], "answer_calls": ["pk.topk:askk"], "leaf": ["engine.x"]}}
    assert settings_problems(table, "", str(tree), Known((), base)) == [
        "profile.factr: unknown key; did you mean 'factor'?",
        "profile.answer_calls[0]: pk.topk does not define 'askk'",
    ]
