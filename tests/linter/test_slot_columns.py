"""A name that is bound to a part of itself must not send the search for slot columns round in circles."""

from __future__ import annotations

import ast

import pytest

from moelint.linter.analysis.module import Module
from moelint.linter.profile import Profile
from moelint.linter.source import Source

_PROFILE = Profile(name="test", factor=frozenset({"route_scale"}), topk_weights=frozenset({"topk_weights"}))


@pytest.mark.parametrize(
    "lines",
    [
        ("name = name[1:]", "name[0] = route_scale"),
        ("one = two[1:]", "two = one[1:]", "one[0] = route_scale"),
    ],
    ids=["itself", "each other"],
)
def test_a_name_made_of_itself_is_no_slot_column(lines: tuple[str, ...]) -> None:
    text = "def f(topk_weights, route_scale):\n" + "".join(f"    {line}\n" for line in lines)
    module = Module(Source("example.py", text.encode()), ast.parse(text), _PROFILE)
    assert module.flow.events == []
