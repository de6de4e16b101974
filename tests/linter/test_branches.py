"""What a name holds and what a function returns, against what Python makes of the same code."""

from __future__ import annotations

import ast
from itertools import product

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from moelint.linter.analysis.branches import result_of, value_of
from moelint.linter.analysis.guards import ANSWER, WISH, Guards
from moelint.linter.analysis.module import Module
from moelint.linter.diagram import TRUE
from moelint.linter.profile import Profile
from moelint.linter.source import Source

PROFILE = Profile(
    "small", answer_names=frozenset({"folded"}), wish=frozenset({"wished"}), platform={"on_cuda": ("cuda",)}
)
ATOMS = ("folded", "wished", "on_cuda")
EXPRESSIONS = st.recursive(
    st.sampled_from([*ATOMS, "x", "True", "False"]),
    lambda inner: (
        inner.map(lambda a: f"(not {a})")
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]} and {pair[1]})")
        | st.tuples(inner, inner).map(lambda pair: f"({pair[0]} or {pair[1]})")
        | st.tuples(inner, inner, inner).map(lambda three: f"({three[1]} if {three[0]} else {three[2]})")
    ),
    max_leaves=4,
)
SIMPLE = (
    EXPRESSIONS.map(lambda e: [f"x = {e}"])
    | EXPRESSIONS.map(lambda e: [f"x &= {e}"])
    | EXPRESSIONS.map(lambda e: [f"x |= {e}"])
    | EXPRESSIONS.map(lambda e: [f"y, x = None, {e}"])
    | EXPRESSIONS.map(lambda e: [f"keep(x := {e})"])
    | EXPRESSIONS.map(lambda e: [f"with context: x = {e}"])
)
LEAVING = EXPRESSIONS.map(lambda e: [f"return {e}"]) | st.just(["raise ValueError"])


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def branch(test: str, then: list[str], other: list[str]) -> list[str]:
    return [f"if {test}:", *indented(then), *(["else:", *indented(other)] if other else [])]


def blocks(leaf: st.SearchStrategy[list[str]]) -> st.SearchStrategy[list[str]]:
    return st.recursive(
        leaf,
        lambda inner: (
            st.tuples(EXPRESSIONS, inner, inner | st.just([])).map(lambda parts: branch(*parts))
            | st.tuples(inner, inner).map(lambda pair: [*pair[0], *pair[1]])
        ),
        max_leaves=5,
    )


class Context:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


def run(text: str, values: dict[str, bool]) -> object:
    """What Python returns, or ValueError where the code raises it."""
    names: dict[str, object] = {"keep": lambda x: x, "context": Context(), "on_cuda": values["on_cuda"]}
    exec(text, names)
    try:
        return names["f"](values["folded"], values["wished"])  # type: ignore[operator]
    except ValueError:
        return ValueError


def agrees(text: str, node_of: str) -> None:
    """Compare the analysis of `f` with Python, over all values of the atoms."""
    module = Module(Source("f.py", text.encode()), ast.parse(text), PROFILE)
    guards = Guards(module)
    function = module.functions[0]
    if node_of == "result":
        expression = result_of(function.node)
        assert expression is not None
        node = guards.formula(expression, function, depth=40)
    else:
        probe = next(n for n in ast.walk(function.node) if isinstance(n, ast.Call) and ast.unparse(n) == "bool(x)")
        node = guards.formula(probe, function, depth=40)
    assume(guards.diagrams.support(node) <= {ANSWER, WISH, "platform"})
    for combination in product((False, True), repeat=3):
        values = dict(zip(ATOMS, combination, strict=True))
        found = run(text, values)
        if found is not ValueError:
            setting = {
                ANSWER: values["folded"],
                WISH: values["wished"],
                "platform": "cuda" if values["on_cuda"] else "?",
            }
            assert (guards.diagrams.restrict(node, setting) == TRUE) == bool(found), (text, values)


SOME = settings(max_examples=60, deadline=None)


@SOME
@given(EXPRESSIONS, blocks(SIMPLE))
def test_a_name_holds_what_python_gives_it(first: str, body: list[str]) -> None:
    first = first.replace("x", "folded")
    lines = ["def f(folded, wished):", *indented([f"x = {first}", *body, "return bool(x)"])]
    agrees("\n".join(lines), "name")


@SOME
@given(EXPRESSIONS, blocks(SIMPLE | LEAVING))
def test_a_function_returns_what_python_returns(first: str, body: list[str]) -> None:
    first = first.replace("x", "folded")
    agrees("\n".join(["def f(folded, wished):", *indented([f"x = {first}", *body, "return x"])]), "result")


def function(text: str) -> ast.FunctionDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef)
    return node


@pytest.mark.parametrize(
    "body",
    [
        "for i in y:\n        x = a\n    ",
        "while y:\n        x = a\n    ",
        "try:\n        x = a\n    except E:\n        pass\n    ",
        "match y:\n        case 1: x = a\n    ",
        "x += a\n    ",
        "def g():\n        nonlocal x\n        x = a\n    ",
    ],
    ids=["for", "while", "try", "match", "arithmetic", "nonlocal"],
)
def test_what_cannot_be_followed_is_unknown(body: str) -> None:
    node = function(f"def f(a, y):\n    x = y\n    {body}use(x)\n")
    use = node.body[-1]
    assert value_of(node, "x", use) is None


def test_a_value_of_the_same_round_of_a_loop_is_known() -> None:
    node = function("def f(ys):\n    for y in ys:\n        x = y\n        use(x)\n")
    loop = node.body[0]
    assert isinstance(loop, ast.For)
    value = value_of(node, "x", loop.body[1])
    assert value is not None and ast.unparse(value) == "y"


def test_a_name_that_is_never_bound_is_unknown() -> None:
    assert value_of(function("def f(a):\n    return a\n"), "x") is None


def test_a_name_bound_on_one_way_only_holds_that_value() -> None:
    node = function("def f(a, b):\n    if a:\n        x = b\n    return x\n")
    value = value_of(node, "x", node.body[-1])
    assert value is not None and ast.unparse(value) == "b"


def test_an_attribute_is_followed_like_a_name() -> None:
    node = function("def f(self, a, b):\n    self.x = a\n    if b:\n        self.x = b\n")
    value = value_of(node, "self.x")
    assert value is not None and ast.unparse(value) == "b if b else a"


@pytest.mark.parametrize(
    "body", ["for i in a:\n        return i", "try:\n        return a\n    except E:\n        pass"], ids=["for", "try"]
)
def test_a_return_inside_a_loop_or_a_handler_is_unknown(body: str) -> None:
    assert result_of(function(f"def f(a):\n    {body}\n    return None\n")) is None


def test_a_function_without_return_returns_none() -> None:
    result = result_of(function("def f(a):\n    a()\n"))
    assert isinstance(result, ast.Constant) and result.value is None
