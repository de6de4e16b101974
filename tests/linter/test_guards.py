"""Tests as boolean functions: what each spelling comes down to."""

from __future__ import annotations

import ast
from textwrap import dedent, indent

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter.analysis.events import Guard
from moelint.linter.analysis.guards import ANSWER, FLAG, OTHER, QUANT, TOLD, WISH, Guards
from moelint.linter.analysis.module import Function, Module
from moelint.linter.diagram import FALSE, TRUE, Node, Value
from moelint.linter.profile import Profile
from moelint.linter.source import Source

PROFILE = Profile(
    "small",
    factor=frozenset({"factor"}),
    answer_calls=frozenset({"is_folded"}),
    answer_names=frozenset({"folded_in_router"}),
    wish=frozenset({"wishes_fold"}),
    flags=frozenset({"apply_on_output"}),
    platform={
        "on_cuda": ("cuda",),
        "is_cuda": ("cuda",),
        "on_hip": ("hip", "hip+fast"),
        "on_fast": ("hip+fast",),
        "on_npu": ("npu",),
    },
    backend_sources={"get_backend": "runner", "backend": "runner"},
    backend_predicates={"uses_gather": "gather"},
    quant_attributes=frozenset({"quant_method"}),
)


def guards_for(text: str) -> tuple[Guards, Function]:
    """The guards of a module and its function `f` (a method of `Block`, or nested there)."""
    module = Module(Source("a.py", text.encode()), ast.parse(text), PROFILE)
    return Guards(module), next(function for function in module.functions if function.name == "f")


def in_method(body: str, rest: str = "", init: str = "pass") -> str:
    """A class whose method `f` runs `body` and then tests `probe(...)`."""
    return (
        "class Block:\n"
        f"    def __init__(self, config):\n{indent(dedent(init).strip(), ' ' * 8)}\n"
        f"    def f(self, x):\n{indent(dedent(body).strip(), ' ' * 8)}\n{indent(dedent(rest), ' ' * 4)}\n"
    )


def probed(text: str) -> tuple[Guards, Node]:
    """The function of what `probe(...)` is called with in `f`."""
    guards, function = guards_for(text)
    call = next(n for n in ast.walk(function.node) if isinstance(n, ast.Call) and ast.unparse(n.func) == "probe")
    return guards, guards.formula(call.args[0], function)


def formula(test: str) -> tuple[Guards, Node]:
    return probed(in_method(f"probe({test})"))


ATOMS: dict[str, tuple[str, tuple[Value, ...]]] = {
    "is_folded(config)": (ANSWER, (True,)),
    "self.folded_in_router": (ANSWER, (True,)),
    "self.experts.wishes_fold": (WISH, (True,)),
    "getattr(self.experts, 'wishes_fold', False)": (WISH, (True,)),
    "self.topk.apply_on_output": (FLAG, (True,)),
    "on_cuda": ("platform", ("cuda",)),
    "is_cuda()": ("platform", ("cuda",)),
    "on_hip": ("platform", ("hip", "hip+fast")),
    "get_backend().is_triton()": ("runner", ("triton",)),
    "self.backend == Backend.TRITON": ("runner", ("triton",)),
    "get_backend() in (Backend.TRITON, Backend.MARLIN)": ("runner", ("triton", "marlin")),
    "get_backend() == 'triton'": ("runner", ("triton",)),
    "uses_gather()": ("gather", ("uses_gather",)),
    "isinstance(self.experts.quant_method, Fp8)": (f"{QUANT}:Fp8", (True,)),
    "type(self.experts.quant_method) is Fp8": (f"{QUANT}:Fp8", (True,)),
    "self.experts.quant_method.__class__ == Fp8": (f"{QUANT}:Fp8", (True,)),
    "x.shape[0] > 4": (f"{OTHER}:x.shape[0] > 4", (True,)),
    "x is None": (f"{OTHER}:x is None", (True,)),
}


@pytest.mark.parametrize("test", ATOMS)
def test_atoms(test: str) -> None:
    guards, node = formula(test)
    name, values = ATOMS[test]
    assert node == guards.diagrams.literal(name, values)


@pytest.mark.parametrize(
    ("test", "same"),
    [
        ("not on_cuda and not on_npu", "not (on_cuda or on_npu)"),
        ("bool(on_cuda)", "on_cuda"),
        ("on_cuda is True", "on_cuda"),
        ("on_cuda == False", "not on_cuda"),
        ("on_cuda is not True", "not on_cuda"),
        ("on_cuda != False", "on_cuda"),
        ("on_cuda & on_hip", "False"),
        ("on_cuda | on_npu", "on_npu or on_cuda"),
        ("any([on_cuda, on_npu])", "on_cuda or on_npu"),
        ("all((on_hip, not on_fast))", "on_hip and not on_fast"),
        ("on_fast and on_hip", "on_fast"),
        ("True if on_cuda else on_npu", "on_cuda or on_npu"),
        ("False if on_cuda else True", "not on_cuda"),
        ("(y := on_cuda)", "on_cuda"),
        ("x is not None", "not x is None"),
        ("get_backend() != Backend.TRITON", "not get_backend().is_triton()"),
        ("get_backend() not in (Backend.A, Backend.B)", "not get_backend().is_a() and not get_backend().is_b()"),
        ("self.factor is not None", "True"),
        ("self.factor is None", "False"),
        ("self.factor != 1.0 and on_cuda", "on_cuda"),
        ("self.factor or on_cuda", "True"),
    ],
)
def test_spellings_of_one_function(test: str, same: str) -> None:
    guards, function = guards_for(in_method(f"probe({test})\nprobe({same})"))
    first, second = (
        guards.formula(n.args[0], function)
        for n in ast.walk(function.node)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "probe"
    )
    assert first == second


NOT_FOLDED = "not folded"

STORED = {
    "attribute": ("probe(not self.done)", "", "self.done = is_folded(config)"),
    "negated attribute": ("probe(self.owed)", "", "self.owed = not is_folded(config)"),
    "attribute through a local": ("probe(not self.done)", "", "done = is_folded(config)\nself.done = done"),
    "unpacked attribute": ("probe(not self.done)", "", "self.done, self.n = is_folded(config), 1"),
    "attribute in steps": (
        "probe(not self.done)",
        "",
        "self.done = False\nif config.factor is not None:\n    self.done = is_folded(config)",
    ),
    "attribute by branches": (
        "probe(self.owed)",
        "",
        "if is_folded(config):\n    self.owed = False\nelse:\n    self.owed = True",
    ),
    "local": ("done = is_folded(x)\nprobe(not done)", "", "pass"),
    "local in steps": ("owed = True\nif is_folded(x):\n    owed = False\nprobe(owed)", "", "pass"),
    "local narrowed": ("owed = self.factor is not None\nowed = owed and not is_folded(x)\nprobe(owed)", "", "pass"),
    "local narrowed in place": ("owed = True\nowed &= not is_folded(x)\nprobe(owed)", "", "pass"),
    "walrus before": ("use(done := is_folded(x))\nprobe(not done)", "", "pass"),
    "property": ("probe(not self.done)", "@property\ndef done(self):\n    return is_folded(self.config)\n", "pass"),
    "property with returns": (
        "probe(not self.done)",
        "@property\n"
        "def done(self):\n    if self.factor is None:\n        return True\n    return is_folded(self.config)\n",
        "pass",
    ),
    "method": ("probe(self.owed())", "def owed(self):\n    return not is_folded(self.config)\n", "pass"),
    "method with an argument": ("probe(self.neg(is_folded(x)))", "def neg(self, a):\n    return not a\n", "pass"),
    "static method": ("probe(self.neg(is_folded(x)))", "@staticmethod\ndef neg(a):\n    return not a\n", "pass"),
    "method with a default": (
        "probe(self.owed(x))",
        "def owed(self, x, a=True):\n    return a and not is_folded(x)\n",
        "pass",
    ),
    "method of an attribute": ("probe(not self.asker.ask(x))", "", "self.asker = Asker()"),
    "attribute of an attribute": ("probe(not self.asker.done)", "", "self.asker = Asker()"),
}
ASKER = """
class Asker:
    def __init__(self):
        self.done = is_folded(None)

    def ask(self, config):
        return is_folded(config)
"""


@pytest.mark.parametrize("shape", STORED)
def test_answers_are_found_where_they_are_kept(shape: str) -> None:
    body, rest, init = STORED[shape]
    guards, node = probed(in_method(body, rest, init) + ASKER)
    assert node == guards.diagrams.neg(guards.answer())


def test_an_answer_that_was_imported_under_another_name() -> None:
    guards, node = probed("from top.k import is_folded as done\n" + in_method("probe(not done(x))"))
    assert node == guards.diagrams.neg(guards.answer())


def test_names_of_an_outer_function() -> None:
    guards, node = probed(
        "class Block:\n    def outer(self, x):\n        done = is_folded(x)\n"
        "        def f(y):\n            probe(not done)\n        return f(x)\n"
    )
    assert node == guards.diagrams.neg(guards.answer())


def test_constants_of_the_module() -> None:
    guards, node = probed("fast = on_hip and not on_fast\n" + in_method("probe(fast)"))
    assert node == guards.diagrams.literal("platform", ("hip",))


def test_a_parameter_hides_a_constant() -> None:
    text = "fast = on_cuda\nclass Block:\n    def f(self, fast):\n        probe(fast)\n"
    guards, node = probed(text)
    assert node == guards.diagrams.literal(f"{OTHER}:fast")


@pytest.mark.parametrize("name", ["folded_in_router", "self.folded_in_router"])
def test_a_name_is_believed_only_where_nothing_contradicts_it(name: str) -> None:
    guards, node = probed(in_method(f"probe({name})", "", "pass"))
    assert node == guards.answer()
    stored = name.replace("self.", "")
    guards, node = probed(in_method(f"{stored} = on_cuda\nprobe({name})", "", f"self.{stored} = on_cuda"))
    assert node == guards.diagrams.literal("platform", ("cuda",))


def test_an_answer_is_stored_with_its_own_sign() -> None:
    guards, node = probed(
        in_method("probe(self.folded_in_router)", "", "self.folded_in_router = not is_folded(config)")
    )
    assert node == guards.diagrams.neg(guards.answer())


def test_an_answer_of_several_routers() -> None:
    init = """
    if config.hashed:
        self.folded_in_router = self.topk.apply_on_output
    else:
        self.folded_in_router = is_folded(config)
    """
    guards, node = probed(in_method("probe(self.folded_in_router)", "", init))
    assert node == guards.answer()


def test_a_flag_that_the_function_is_told() -> None:
    guards, node = probed("class Block:\n    def f(self, apply_on_output):\n        probe(apply_on_output)\n")
    assert node == guards.diagrams.literal(TOLD)


def test_a_call_that_calls_itself_ends() -> None:
    guards, node = probed(in_method("probe(self.again(x))", "def again(self, a):\n    return self.again(a)\n"))
    assert guards.kinds(node) == {OTHER}


def test_an_attribute_that_is_set_from_itself_ends() -> None:
    guards, node = probed(in_method("probe(self.a)", "", "self.a = self.b\nself.b = self.a"))
    assert guards.kinds(node) == {OTHER}


@pytest.mark.parametrize(
    ("test", "decisive", "weakened"),
    [
        ("x.any() and not is_folded(x)", "not is_folded(x)", False),
        ("not is_folded(x) or x.any()", "not is_folded(x)", True),
        ("not (self.training and is_folded(x))", "not is_folded(x)", True),
        ("not (x is not None and is_folded(x.config))", "not is_folded(x)", False),
        ("not (y is not None and is_folded(x.config))", "not is_folded(x)", True),
        ("x.any() and (self.training or on_cuda)", "on_cuda", True),
        ("x.any()", "True", False),
        ("on_cuda", "on_cuda", False),
    ],
)
def test_what_decides_no_scale_may_narrow_but_not_weaken(test: str, decisive: str, weakened: bool) -> None:
    guards, function = guards_for(in_method(f"probe({test})\nprobe({decisive})"))
    first, second = (
        guards.formula(n.args[0], function)
        for n in ast.walk(function.node)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "probe"
    )
    assert guards.decisive(first) == (second, weakened)


def test_a_stack_of_guards_is_their_conjunction() -> None:
    guards, function = guards_for(in_method("pass"))

    def test(text: str) -> ast.expr:
        return ast.parse(text, mode="eval").body

    stack = [
        Guard(test("on_hip"), True, "if", function),
        Guard(test("on_fast"), False, "if", function),
        Guard(test("anything"), True, "loop", function),
    ]
    assert guards.condition(stack) == guards.diagrams.literal("platform", ("hip",))
    either = Guard(
        test("x"), True, "either", None, None, ((stack[0],), (Guard(test("on_cuda"), True, "if", function),))
    )
    assert guards.condition([either]) == guards.diagrams.literal("platform", ("hip", "hip+fast", "cuda"))
    assert guards.condition([]) == TRUE


@pytest.mark.parametrize(
    ("value", "literal"),
    [
        ("True", "True"),
        ("None", "None"),
        ("not False", "True"),
        ("bool(0)", "False"),
        ("ON", "True"),
        ("self.fixed", "False"),
        ("self.factor is not None", None),
        ("x", None),
        ("is_folded(x)", None),
    ],
)
def test_literals_behind_names(value: str, literal: str | None) -> None:
    guards, function = guards_for("ON = True\n" + in_method(f"probe({value})", "", "self.fixed = False"))
    call = next(n for n in ast.walk(function.node) if isinstance(n, ast.Call) and ast.unparse(n.func) == "probe")
    assert guards.literal(call.args[0], function) == literal


LEAVES = ["is_folded(x)", "self.experts.wishes_fold", "on_cuda", "on_hip", "x.any()"]
TESTS = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: (
        inner.map(lambda a: f"not ({a})")
        | st.tuples(inner, inner).map(lambda p: f"({p[0]}) and ({p[1]})")
        | st.tuples(inner, inner).map(lambda p: f"({p[0]}) or ({p[1]})")
    ),
    max_leaves=5,
)
WRAPPERS = [
    "bool({})",
    "not (not ({}))",
    "({}) is True",
    "({}) != False",
    "True if ({}) else False",
    "({}) and True",
    "({}) or False",
    "all([{}])",
    "(kept := ({}))",
]


@settings(max_examples=40, deadline=None)
@given(TESTS, st.lists(st.sampled_from(WRAPPERS), max_size=3))
def test_wrapping_changes_nothing(test: str, wrappers: list[str]) -> None:
    wrapped = test
    for wrapper in wrappers:
        wrapped = wrapper.format(wrapped)
    guards, function = guards_for(in_method(f"probe({test})\nheld = {wrapped}\nprobe(held)"))
    first, second = (
        guards.formula(n.args[0], function)
        for n in ast.walk(function.node)
        if isinstance(n, ast.Call) and ast.unparse(n.func) == "probe"
    )
    if guards.kinds(first) - {OTHER}:
        assert first == second


def test_false_and_true_are_constants() -> None:
    assert formula("False")[1] == FALSE
    assert formula("True")[1] == TRUE
