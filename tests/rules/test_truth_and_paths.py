"""The two small engines behind the rules about shortcuts and skipped factors."""

from __future__ import annotations

import ast

import pytest

from moelint.rules._paths import skips
from moelint.rules._truth import Conditions


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


@pytest.mark.parametrize(
    ("first", "second", "together"),
    [
        ("a", "not a", False),
        ("a == 1", "a != 1", False),
        ("a is None", "a is not None", False),
        ("a == 1", "a < 1", True),
        ("a and b", "a and not c", True),
        ("a or b", "not (a or b)", False),
        ("route_scale == 1.0", "True", False),
        ("route_scale in (None, 1.0)", "True", False),
        ("route_scale not in (None, 1.0)", "route_scale", True),
        ("route_scale > 2", "route_scale < 1", True),
    ],
)
def test_tests_hold_together_for_a_factor_worth_the_name(first: str, second: str, together: bool) -> None:
    tests = Conditions({}, frozenset({"route_scale"}))
    assert tests.can_all_hold([(_expression(first), True), (_expression(second), True)]) is together


def test_a_local_with_one_value_is_looked_into() -> None:
    body = ast.parse("wide = k != 1 or route_scale != 1.0\nprint(wide)").body
    assert isinstance(body[0], ast.Assign) and isinstance(body[1], ast.Expr) and isinstance(body[1].value, ast.Call)
    use = body[1].value.args[0]
    tests = Conditions({"wide": [body[0].value]}, frozenset({"route_scale"}))
    assert tests.ask_factor([(use, True)])
    assert not tests.can_all_hold([(use, False)])
    assert tests.names_in(use) == {"wide", "k", "route_scale"}


def _skipped(text: str, entitled: str = "") -> list[tuple[int, int | None]]:
    """(line of the return, line of the branch) of each skip of the name `f`."""
    found = skips(
        ast.parse(text).body,
        lambda node: any(isinstance(part, ast.Name) and part.id == "f" for part in ast.walk(node)),
        lambda test: ast.unparse(test) == entitled,
    )
    return [(skip.statement.lineno, skip.branch[0].lineno if skip.branch else None) for skip in found]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if a:\n    return y\nreturn y * f", [(2, None)]),
        ("if a:\n    y = g()\nelse:\n    y = h(f)\nreturn y", [(5, 2)]),
        ("if a:\n    y = h(f)\nelse:\n    y = g()\nreturn y", [(5, 4)]),
        ("if a:\n    y = g()\nelse:\n    y = h()\ny *= f\nreturn y", []),
        ("if a:\n    y *= f\nreturn y", []),
        ("if f is None:\n    return y\nreturn y * f", []),
        ("for x in z:\n    y = h(f)\nreturn y", []),
        ("try:\n    return g()\nexcept E:\n    return h(f)", [(2, None)]),
        ("with a:\n    if b:\n        return y\n    y *= f\nreturn y", [(3, None)]),
        ("return g() if a else h(f)", [(1, 1)]),
        ("y = g() if a else h(f)\nreturn y", [(2, 1)]),
        ("raise E\nreturn y", []),
        ("match a:\n    case 1:\n        y = g()\n    case _:\n        y = h(f)\nreturn y", [(6, 3)]),
    ],
)
def test_returns_that_are_reached_without_a_read(text: str, expected: list[tuple[int, int | None]]) -> None:
    assert _skipped(text) == expected


def test_an_entitled_test_may_make_the_difference() -> None:
    assert _skipped("if a:\n    return y\nreturn y * f", entitled="a") == []
    assert _skipped("if a:\n    y = g()\nelse:\n    y = h(f)\nreturn y", entitled="a") == []
