"""Path patterns: what they cover, and which are refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moelint.linter.globs import Globs, flaw

COVERED = [
    ("build", "build"),
    ("build", "a/build/x.py"),
    ("build/", "a/build/x.py"),
    ("*.py", "a/b/x.py"),
    ("test_*", "a/test_x/y.py"),
    ("a/b", "a/b/c/d.py"),
    ("/a", "a/x.py"),
    ("a/*.py", "a/x.py"),
    ("a/**/x.py", "a/x.py"),
    ("a/**/x.py", "a/b/c/x.py"),
    ("**/x.py", "x.py"),
    ("**/x.py", "a/b/x.py"),
    ("a/**", "a/b/c.py"),
    ("x?.py", "a/x1.py"),
    ("x[0-9].py", "x1.py"),
    ("x[!0-9].py", "xa.py"),
    ("x[]].py", "x].py"),
    ("!a/**", "b/x.py"),
    ("a.b+c", "a.b+c/x.py"),
]
NOT_COVERED = [
    ("build", "rebuild/x.py"),
    ("build", "builds"),
    ("a/b", "x/a/b"),
    ("/a", "x/a"),
    ("a/*.py", "a/b/x.py"),
    ("*.py", "x.pyi"),
    ("a/**", "a"),
    ("x?.py", "x/.py"),
    ("x[!a].py", "x/.py"),
    ("x[0-9].py", "xa.py"),
    ("!a/**", "a/x.py"),
    ("a.b", "axb"),
    ("A", "a"),
]


@pytest.mark.parametrize(("pattern", "path"), COVERED)
def test_covers(pattern: str, path: str) -> None:
    assert flaw(pattern) is None
    assert Globs((pattern,)).matches(path)


@pytest.mark.parametrize(("pattern", "path"), NOT_COVERED)
def test_does_not_cover(pattern: str, path: str) -> None:
    assert flaw(pattern) is None
    assert not Globs((pattern,)).matches(path)


def test_any_of_several_patterns_covers() -> None:
    patterns = Globs(("build", "a/*.py"))
    assert patterns.matches("x/build/y.py")
    assert patterns.matches("a/x.py")
    assert not patterns.matches("b/x.py")
    assert not Globs(()).matches("x.py")


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("", "empty"),
        ("/", "empty"),
        ("!", "empty"),
        ("a\\b", "backslash"),
        ("{a,b}.py", "braces"),
        ("a//b", "''"),
        ("../a", "'..'"),
        ("./a", "'.'"),
        ("a**", "stand alone"),
        ("a/***/b", "stand alone"),
        ("a[", "not closed"),
        ("a[]", "not closed"),
        ("a[!]", "not closed"),
        ("[z-a]", "backwards"),
    ],
)
def test_bad_pattern_is_named(pattern: str, words: str) -> None:
    found = flaw(pattern)
    assert found is not None
    assert words in found


@given(st.text("ab*?[]!-^/.{}\\&~|", max_size=12), st.text("ab]-/.", max_size=8))
def test_every_pattern_without_a_flaw_can_be_used(pattern: str, path: str) -> None:
    if flaw(pattern) is None:
        covered = Globs((pattern,)).matches(path)
        if not pattern.startswith("!") and flaw("!" + pattern) is None:
            assert Globs(("!" + pattern,)).matches(path) is not covered


@given(
    st.lists(st.text("abc._-", min_size=1, max_size=5).filter(lambda p: p not in (".", "..")), min_size=1, max_size=4)
)
def test_a_path_covers_itself_and_all_below(parts: list[str]) -> None:
    path = "/".join(parts)
    assert Globs(("/" + path,)).matches(path)
    assert Globs(("/" + path,)).matches(path + "/x.py")
