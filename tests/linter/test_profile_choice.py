"""The choice of a profile for a file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moelint.linter.profile_choice import Chooser, count_imports
from moelint.linter.profile_loader import Profiles, choose

PROFILES: dict[str, dict[str, Any]] = {
    "generic": {"name": "generic", "factor": ["f"]},
    "engine": {"name": "engine", "packages": ["engine"], "symbols": ["run_engine"], "answer_calls": ["ask"]},
    "server": {"name": "server", "packages": ["server", "server_ext"], "symbols": ["run_engine", "serve"]},
    "hub": {"name": "hub", "packages": ["hub"], "library": True, "symbols": ["serve"]},
}


@pytest.mark.parametrize(
    ("path", "data", "expected"),
    [
        ("x/engine/models/a.py", b"import server", "engine"),
        ("server/plugins/engine/a.py", b"", "engine"),
        ("engine/server/a.py", b"", "server"),
        ("x\\engine\\a.py", b"", "engine"),
        ("engine.py", b"", "generic"),
        ("engines/a.py", b"", "generic"),
        ("a.py", b"from engine.moe import x", "engine"),
        ("a.py", b"    import engine", "engine"),
        ("a.py", b"import os, engine", "engine"),
        ("a.py", b"import engine\nimport server\nfrom server_ext import y\n", "server"),
        ("a.py", b"import server\nimport engine\n", "engine"),
        ("a.py", b"import hub\nimport hub.x\nimport server\n", "server"),
        ("a.py", b"import hub\n", "hub"),
        ("a.py", b"import hub\nserve()\n", "hub"),
        ("a.py", b"import engines\n# import engine\nx = 'from engine'\n", "generic"),
        ("a.py", b"run_engine()", "engine"),
        ("a.py", b"serve()", "server"),
        ("a.py", b"", "generic"),
    ],
)
def test_evidence(path: str, data: bytes, expected: str) -> None:
    assert Chooser(PROFILES).choose(path, data) == expected
    assert choose(path, data, Profiles(PROFILES)).name == expected


def test_a_folder_decides_for_all_its_files_or_for_none() -> None:
    chooser = Chooser(PROFILES)
    assert [chooser.of_folder(folder) for folder in ("/x/engine/models", "/x/engine/server", "/x/engines", "/")] == [
        "engine",
        "server",
        "",
        "",
    ]
    assert Chooser(PROFILES, forced="hub").of_folder("/x/engine") == "hub"
    assert Chooser(PROFILES, fallback="hub").of_folder("/x") == ""


def test_the_reason_is_told() -> None:
    chooser = Chooser(PROFILES)
    assert chooser.explain("engine/a.py", b"")[1] == "the file lies in the package engine"
    assert chooser.explain("a.py", b"import engine\nimport engine.x\n")[1] == "lines that import its packages: 2"
    assert chooser.explain("a.py", b"serve()")[1] == "the file mentions serve"
    assert chooser.explain("a.py", b"")[1] == "no sign of a framework"
    assert Chooser(PROFILES, forced="hub").explain("engine/a.py", b"") == ("hub", "asked for")


def test_fallback_speaks_where_there_is_no_sign() -> None:
    assert Chooser(PROFILES, fallback="hub").choose("a.py", b"") == "hub"
    assert Chooser(PROFILES, fallback="hub").choose("engine/a.py", b"") == "engine"


@pytest.mark.parametrize(
    ("data", "count"),
    [
        (b"", 0),
        (b"import pk", 1),
        (b"import pk.sub as p\r\nfrom pk import a\rimport pk", 3),
        (b"import x as pk", 0),
        (b"from x import pk", 0),
        (b"from .pk import x", 0),
        (b"import pkg, apk", 0),
        (b"x.pk = pk()", 0),
    ],
)
def test_imports_are_counted_by_line(data: bytes, count: int) -> None:
    assert count_imports(data, b"pk") == count


@given(st.text(max_size=20), st.binary(max_size=60))
def test_some_profile_is_always_chosen(path: str, data: bytes) -> None:
    assert Chooser(PROFILES).choose(path, data) in PROFILES
