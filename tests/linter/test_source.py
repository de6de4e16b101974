"""Lines of a file: where words are, and what a node spans."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from moelint.linter.analysis.walk import children, walk
from moelint.linter.source import Source

_TEXT = st.text("ab_ \n\r", max_size=60)
_NAMES = st.frozensets(st.text("ab_", min_size=1, max_size=4), max_size=4)


@given(_TEXT, _NAMES)
def test_the_lines_that_name_something_are_those_that_hold_it(text: str, names: frozenset[str]) -> None:
    source = Source("a.py", b"\xef\xbb\xbf" + text.encode())
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    held = [number for number, line in enumerate(lines, 1) if any(name in line for name in names)]
    assert source.lines_naming(names) == held
    assert source.lines_naming(names) == held, "asked again"


def test_a_segment_is_the_whole_lines_of_a_node() -> None:
    text = "x = 1\r\ndef f():\r\n    return (\r\n        2)\r\ny = 3"
    tree = ast.parse(text)
    source = Source("a.py", text.encode())
    assert [source.segment(node) for node in tree.body] == [b"x = 1", b"def f():\n    return (\n        2)", b"y = 3"]


def test_a_walk_meets_all_but_contexts_and_operators() -> None:
    text = (
        "@d\ndef f(a: int, /, *b, c=1, **e) -> x.y:\n"
        "    z = {1: 2, **w} if not a < b and c else [i async for i in f'{a!r:>{b}}' if i]\n"
        "    global g\n"
        "    with m as n, o:\n        a[1:2, ...] += lambda q: (yield)\n"
        "    try:\n        import h as k\n    except T as t:\n        del u\n    finally:\n        pass\n"
        "    match a:\n        case C(1, r=[*s, None]) | {'v': _, **rest} if a:\n            raise E from None\n"
    )
    tree = ast.parse(text)
    left_out = (ast.expr_context, ast.operator, ast.cmpop, ast.boolop, ast.unaryop)
    expected = [node for node in ast.walk(tree) if not isinstance(node, left_out)]
    assert list(walk(tree)) == expected
    for node in expected:
        assert children(node) == [child for child in ast.iter_child_nodes(node) if not isinstance(child, left_out)]
