"""Identities survive what does not matter, and tell apart what does."""

from __future__ import annotations

import ast

import pytest

from moelint.linter.identity import Identities, innermost_statement, normalised


def of(text: str, target: str, qualname: str = "f", path: str = "a.py") -> str:
    """The identity of the first expression that unparses to `target`."""
    tree = ast.parse(text)
    node = next(n for n in ast.walk(tree) if isinstance(n, ast.expr) and ast.unparse(n) == target)
    return Identities(path, tree).of_node("rule", qualname, node)


BEFORE = "def f(a):\n    x = g(a, 's')\n    return x\n"


@pytest.mark.parametrize(
    "after",
    [
        "# a comment\n\n\ndef f(a):\n    y = 2\n    x = g(a, 's')\n    return x\n",
        "def f(a):\n    x = g(\n        a,  # why\n        's',\n    )\n    return x\n",
        'def f(a):\n    x = (g(a, "s"))\n    return x\n',
        "def f(a, b):\n    if b:\n        x = g(a, 's')\n",
    ],
)
def test_edits_elsewhere_and_layout_change_nothing(after: str) -> None:
    assert of(after, "g(a, 's')") == of(BEFORE, "g(a, 's')")


def test_the_statement_the_path_and_the_qualname_count() -> None:
    first = of(BEFORE, "g(a, 's')")
    assert of("def f(a):\n    z = g(a, 's')\n", "g(a, 's')") != first
    assert of(BEFORE, "g(a, 's')", qualname="h") != first
    assert of(BEFORE, "g(a, 's')", path="b.py") != first


def test_of_a_compound_statement_the_header_alone_counts() -> None:
    first = of("if g(a):\n    x = 1\n", "g(a)")
    assert of("if g(a):\n    y = 2\nelse:\n    z = 3\n", "g(a)") == first
    assert of("while g(a):\n    x = 1\n", "g(a)") != first


def test_equals_are_counted() -> None:
    tree = ast.parse("f(x)\nf(x)\n")
    identities = Identities("a.py", tree)
    first, second = (identities.of_node("rule", "m", statement) for statement in tree.body)
    assert first != second
    assert Identities("a.py", tree).of_node("rule", "m", tree.body[1]) == first


def test_a_known_identity_is_the_same_on_every_python_version() -> None:
    text = "def f(a: int = 1, *, b=(2, 3)) -> str:\n    return d[a, 1][b:2] + f'{a!r:>{b}} x' + u'u' 'v' % -1.5e3\n"
    assert of(text, "-1500.0") == "ee145b20e62d11101eb20f2a50cf5db6"


@pytest.mark.parametrize(
    ("text", "line", "col", "expected"),
    [
        ("class A:\n    def f(self):\n        if x:\n            y = z\n", 4, 16, "y = z"),
        ("try:\n    a\nexcept E as e:\n    b\nelse:\n    c\nfinally:\n    d\n", 4, 4, "b"),
        ("try:\n    a\nexcept E as e:\n    b\nelse:\n    c\nfinally:\n    d\n", 8, 4, "d"),
        ("match x:\n    case [y]:\n        z\n", 3, 8, "z"),
        ("x = 1; y = 2\n", 1, 11, "y = 2"),
    ],
)
def test_the_innermost_statement(text: str, line: int, col: int, expected: str) -> None:
    node = ast.Name("n", lineno=line, col_offset=col, end_lineno=line, end_col_offset=col + 1)
    found = innermost_statement(ast.parse(text), node)
    assert found is not None and ast.unparse(found) == expected


def test_a_decorator_belongs_to_what_it_decorates() -> None:
    tree = ast.parse("x = 1\n@deco(a)\ndef f():\n    pass\n")
    call = tree.body[1].decorator_list[0]  # type: ignore[attr-defined]
    assert innermost_statement(tree, call) is tree.body[1]


def test_empty_and_absent_fields_make_no_difference() -> None:
    made = ast.Call(func=ast.Name(id="f", ctx=ast.Load()), args=[], keywords=[])
    assert normalised(made) == normalised(ast.parse("f()", mode="eval").body) == "Call(func=Name(id='f',),)"
