"""Where the factor goes, what is done with it, and under which guards."""

from __future__ import annotations

import ast
import sys
from textwrap import dedent, indent

import pytest

from moelint.linter.analysis.events import AnswerGiven, Compared, Event, FlagSet, Handed, Scale, SlotWrite, Stored
from moelint.linter.analysis.guards import Guards
from moelint.linter.analysis.module import Module
from moelint.linter.profile import Profile
from moelint.linter.source import Source

PROFILE = Profile(
    "small",
    factor=frozenset({"factor", "route_scale"}),
    slot_weight=frozenset({"shared_weight"}),
    topk_weights=frozenset({"topk_weights"}),
    answer_calls=frozenset({"is_folded"}),
    answer_names=frozenset({"folded_in_router"}),
    flags=frozenset({"apply_on_output"}),
    runner_flags=frozenset({"apply_factor"}),
    slot_sinks={"place_slot": ("2", "scale")},
    platform={"on_cuda": ("cuda",), "on_npu": ("npu",)},
)


def module_of(text: str) -> Module:
    text = dedent(text)
    return Module(Source("a.py", text.encode()), ast.parse(text), PROFILE)


def events(text: str, kind: type[Event]) -> list[Event]:
    return [event for event in module_of(text).flow.events if isinstance(event, kind)]


def scales(text: str) -> list[str]:
    """`what is scaled ** power` of each multiply."""
    found = []
    for event in events(text, Scale):
        assert isinstance(event, Scale)
        found.append(f"{ast.unparse(event.scaled) if event.scaled is not None else '1'}**{event.power}")
    return found


def in_method(body: str, init: str = "pass", rest: str = "") -> str:
    first, second = (indent(dedent(part).strip(), " " * 8) for part in (init, body))
    return (
        f"class Block:\n    def __init__(self, config):\n{first}\n"
        f"    def run(self, y, shared, config):\n{second}\n{indent(dedent(rest), ' ' * 4)}\n"
    )


SOURCES = {
    "attribute": ("return y * config.factor", "pass"),
    "another spelling": ("return y * config.route_scale", "pass"),
    "own attribute": ("return y * self.factor", "pass"),
    "stored": ("return y * self.s", "self.s = config.factor"),
    "stored twice": ("return y * self.t", "self.s = config.factor\nself.t = self.s"),
    "annotated": ("return y * self.s", "self.s: float = config.factor"),
    "unpacked": ("return y * self.s", "self.n, self.s = config.n, config.factor"),
    "chained": ("return y * self.t", "self.s = self.t = config.factor"),
    "buffer": ("return y * self.s", "self.register_buffer('s', torch.tensor(config.factor))"),
    "set by name": ("return y * self.s", "setattr(self, 's', config.factor)"),
    "local": ("s = config.factor\nreturn y * s", "pass"),
    "unpacked local": ("n, s = 1, config.factor\nreturn y * s", "pass"),
    "walrus": ("if (s := config.factor):\n    return y * s", "pass"),
    "ternary": ("s = config.factor if config.n else 1.0\nreturn y * s", "pass"),
    "default": ("s = config.factor or 1.0\nreturn y * s", "pass"),
    "converted": ("return y * float(config.factor)", "pass"),
    "tensor": ("s = torch.tensor(config.factor).to(y.device)\nreturn y * s", "pass"),
    "filled tensor": ("return y * y.new_full((1,), config.factor)", "pass"),
    "by name": ("return y * getattr(config, 'factor', 1.0)", "pass"),
    "key": ("return y * config['factor']", "pass"),
    "get": ("return y * config.get('factor', 1.0)", "pass"),
    "entry of a dictionary": ("d = {'s': config.factor}\nreturn y * d['s']", "pass"),
    "entry through get": ("d = dict(s=config.factor)\nreturn y * d.get('s')", "pass"),
    "entry set later": ("d = {}\nd['s'] = config.factor\nreturn y * d['s']", "pass"),
    "attribute of a local": ("state.s = config.factor\nreturn y * state.s", "pass"),
    "closure": ("s = config.factor\ndef end(y):\n    return y * s\nreturn end(y)", "pass"),
    "closure default": ("def end(y, s=config.factor):\n    return y * s\nreturn end(y)", "pass"),
    "argument of a closure": ("def end(y, s):\n    return y * s\nreturn end(y, config.factor)", "pass"),
    "lambda": ("s = config.factor\nreturn (lambda y: y * s)(y)", "pass"),
    "lambda default": ("return (lambda y, s=config.factor: y * s)(y)", "pass"),
    "class in a function": (
        "s = config.factor\nclass End:\n    def f(self, y):\n        return y * s\nreturn End()",
        "pass",
    ),
    "other branch": ("s = 1.0\nif y.any():\n    s = config.factor\nreturn y * s", "pass"),
    "loop": ("for s in [1]:\n    t = config.factor\nreturn y * t", "pass"),
    "power": ("return y * config.factor**1", "pass"),
    "called lambda": ("return (lambda y: y * config.factor)(y)", "pass"),
    "pair": ("return y * (1.0, config.factor)[y.any()]", "pass"),
    "tensor of a list": ("return y * torch.tensor([config.factor])", "pass"),
    "attribute of a known object": ("return y * self.a.s", "self.a = Block(1)\nself.a.s = config.factor"),
    "product with a number": ("return 2 * config.factor * y", "pass"),
}


@pytest.mark.parametrize("source", SOURCES)
def test_sources(source: str) -> None:
    body, init = SOURCES[source]
    assert scales(in_method(body, init)) == ["y**1"]


REACHED = {
    "method": ("return self.end(y, config.factor)", "def end(self, y, s):\n    return y * s\n"),
    "keyword": ("return self.end(y, s=config.factor)", "def end(self, y, *, s=1.0):\n    return y * s\n"),
    "rest": ("return self.end(y, s=config.factor)", "def end(self, y, **rest):\n    return y * rest['s']\n"),
    "static": ("return Block.end(y, config.factor)", "@staticmethod\ndef end(y, s):\n    return y * s\n"),
    "two hops": (
        "return self.a(y, config.factor)",
        "def b(self, y, t):\n    return y * t\ndef a(self, y, s):\n    return self.b(y, s)\n",
    ),
    "property": ("return y * self.s", "@property\ndef s(self):\n    return self.config.factor\n"),
    "method that returns": ("return y * self.s()", "def s(self):\n    return self.config.factor\n"),
    "tuple that returns": ("n, s = self.pair()\nreturn y * s", "def pair(self):\n    return 1, self.config.factor\n"),
    "tuple through another": (
        "n, s = self.pair()\nreturn y * s",
        "def pair(self):\n    return self.inner()\ndef inner(self):\n    return 1, self.config.factor\n",
    ),
}


@pytest.mark.parametrize("way", REACHED)
def test_ways_between_functions(way: str) -> None:
    body, rest = REACHED[way]
    assert scales(in_method(body, "self.config = config", rest)) == ["y**1"]


USE = """
    def run(self, y):
        return y * self.s
"""
CLASSES = {
    "base": f"""
class A:
    def __init__(self, c):
        self.s = c.factor
class B(A):{USE}""",
    "subclass": f"""
class A:{USE}
class B(A):
    def __init__(self, c):
        self.s = c.factor""",
    "handed up": f"""
class A:
    def __init__(self, s):
        self.s = s
class B(A):
    def __init__(self, c):
        super().__init__(c.factor){USE}""",
    "named base": f"""
class A:
    def __init__(self, s):
        self.s = s
class B(A):
    def __init__(self, c):
        A.__init__(self, s=c.factor){USE}""",
    "built": f"""
class A:
    def __init__(self, s):
        self.s = s{USE}
def make(c):
    return A(c.factor)""",
    "record": """
@dataclass
class A:
    n: int
    s: float
def run(y, c):
    a = A(1, c.factor)
    return y * a.s""",
    "record in an attribute": """
class A:
    n: int
    s: float
class B:
    def __init__(self, c):
        self.a = A(n=1, s=c.factor)
    def run(self, y):
        return y * self.a.s""",
    "annotated record": """
class A:
    s: float
def make(c):
    return A(s=c.factor)
def run(y, a: A):
    return y * a.s""",
}


@pytest.mark.parametrize("shape", CLASSES)
def test_ways_between_classes(shape: str) -> None:
    assert scales(CLASSES[shape]) == ["y**1"]


FORMS = {
    "y *= config.factor": ("y", 1, True),
    "y /= config.factor": ("y", -1, True),
    "y[:2] *= config.factor": ("y[:2]", 1, True),
    "y.mul_(config.factor)": ("y", 1, True),
    "y.div_(config.factor)": ("y", -1, True),
    "z = y.mul(config.factor)": ("y", 1, False),
    "z = torch.mul(y, config.factor)": ("y", 1, False),
    "z = torch.mul(config.factor, y)": ("y", 1, False),
    "z = torch.mul(input=y, other=config.factor)": ("y", 1, False),
    "z = torch.tensor(config.factor).mul(y)": ("y", 1, False),
    "z = y * config.factor": ("y", 1, False),
    "z = config.factor * y": ("y", 1, False),
    "z = y / config.factor": ("y", -1, False),
    "z = config.factor / y": ("y", 1, False),
    "z = shared + y * config.factor": ("y", 1, False),
    "shared.add_(y, alpha=config.factor)": ("y", 1, True),
    "z = torch.add(shared, y, alpha=config.factor)": ("y", 1, False),
    "z = torch.add(shared, other=y, alpha=config.factor)": ("shared", 1, False),
    "z = torch.addcmul(shared, y, y, value=config.factor)": ("y", 1, False),
    "z = torch.add(shared, y, **{'alpha': config.factor})": ("y", 1, False),
    "z = functools.partial(torch.mul, other=config.factor)": ("functools", 1, False),
    "z = 1 / config.factor": (None, -1, False),
    "z = config.factor**-1": (None, -1, False),
    "z = torch.reciprocal(torch.tensor(config.factor))": (None, -1, False),
    "f = torch.mul\n        z = f(y, config.factor)": ("y", 1, False),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_a_multiply(form: str) -> None:
    found = events(f"class A:\n    def run(self, y, shared, config):\n        {form}\n", Scale)
    assert [
        (ast.unparse(e.scaled) if e.scaled is not None else None, e.power, e.in_place)
        for e in found
        if isinstance(e, Scale)
    ] == [FORMS[form]]


@pytest.mark.parametrize(
    "body",
    [
        "s = config.factor\ns = config.other\nreturn y * s",
        "s = config.factor\nfor s in config.others:\n    y = y + s\nreturn y",
        "s = config.factor\nreturn (lambda s: y * s)(1)",
        "s = config.factor\nreturn [y * s for s in config.others]",
        "d = {'s': config.factor}\nd = {'s': 1}\nreturn y * d['s']",
        "print(config.factor, y)\nlogger.info('%s', config.factor)",
        "return y * config.factory",
        "y.factor = 1\nreturn y",
        "return 2 * config.factor",
    ],
)
def test_what_is_no_multiply(body: str) -> None:
    assert scales(in_method(body)) == []


def test_device_functions_do_what_they_are_told() -> None:
    assert scales("@triton.jit\ndef kernel(y, factor):\n    return y * factor\n") == []


def test_a_function_of_the_module_called_like_an_operation_is_followed() -> None:
    text = "def mul(a, b):\n    return a - b\ndef run(y, config):\n    return mul(y, config.factor)\n"
    assert scales(text) == ["a**1"]
    assert [e.form for e in events(text, Scale) if isinstance(e, Scale)] == ["arithmetic"]


CONDITIONS = {
    "if": ("if on_cuda:\n    y *= config.factor", "on_cuda"),
    "else": ("if on_cuda:\n    pass\nelse:\n    y *= config.factor", "not on_cuda"),
    "elif": ("if y is None:\n    pass\nelif on_cuda:\n    y *= config.factor", "on_cuda and y is not None"),
    "early return": ("if on_cuda:\n    return y\ny *= config.factor", "not on_cuda"),
    "early return in a context": ("with c:\n    if on_cuda:\n        return y\ny *= config.factor", "not on_cuda"),
    "early return in a branch": (
        "if on_npu:\n    if y is None:\n        return y\ny *= config.factor",
        "not (on_npu and y is None)",
    ),
    "else that returns": ("if on_cuda:\n    pass\nelse:\n    return y\ny *= config.factor", "on_cuda"),
    "raise": ("if on_cuda:\n    raise E\ny *= config.factor", "not on_cuda"),
    "assert": ("assert on_cuda\ny *= config.factor", "on_cuda"),
    "continue": ("for i in y:\n    if on_cuda:\n        continue\n    y *= config.factor", "not on_cuda"),
    "nested": ("if on_cuda:\n    if y is None:\n        y *= config.factor", "on_cuda and y is None"),
    "ternary value": ("y *= config.factor if on_cuda else 1.0", "on_cuda"),
    "ternary result": ("y = y * config.factor if on_cuda else y", "on_cuda"),
    "value by branches": ("if on_cuda:\n    s = config.factor\nelse:\n    s = 1.0\ny *= s", "on_cuda"),
    "value reset": ("s = config.factor\nif on_cuda:\n    s = 1.0\ny *= s", "not on_cuda"),
    "value set in two steps": (
        "s = 1.0\nif on_cuda:\n    if y is None:\n        s = config.factor\ny *= s",
        "on_cuda and y is None",
    ),
    "value reset in two steps": (
        "s = config.factor\nif on_cuda:\n    if y is None:\n        s = 1.0\ny *= s",
        "not (on_cuda and y is None)",
    ),
    "value on both branches": ("if on_cuda:\n    s = config.factor\nelse:\n    s = config.factor\ny *= s", "True"),
    "value on two ways": (
        "s = 1.0\nif on_cuda:\n    s = config.factor\nelif on_npu:\n    s = config.factor\ny *= s",
        "on_cuda or on_npu",
    ),
    "value by and, or": ("s = on_cuda and 1.0 or config.factor\ny *= s", "not on_cuda"),
    "short circuit": ("on_cuda or y.mul_(config.factor)", "not on_cuda"),
    "pair": ("y *= (1.0, config.factor)[on_cuda]", "on_cuda"),
    "mapping": ("y *= {True: 1.0, False: config.factor}[on_cuda]", "not on_cuda"),
    "power": ("y *= config.factor ** (not on_cuda)", "not on_cuda"),
    "comprehension": ("z = [i * config.factor for i in y if on_cuda]", "on_cuda"),
    "case": ("match on_cuda:\n    case True:\n        y *= config.factor", "on_cuda"),
    "other case": (
        "match on_cuda:\n    case True:\n        pass\n    case _:\n        y *= config.factor",
        "not on_cuda",
    ),
    "case with a test": ("match y:\n    case [a] if on_cuda:\n        y *= config.factor", "on_cuda"),
    "handler": ("try:\n    y.any()\nexcept E:\n    if on_cuda:\n        y *= config.factor", "on_cuda"),
    "finally": ("try:\n    if on_cuda:\n        return y\nfinally:\n    z = 1\ny *= config.factor", "not on_cuda"),
    "none": ("y *= config.factor", "True"),
}


@pytest.mark.parametrize("shape", CONDITIONS)
def test_the_condition_of_a_multiply(shape: str) -> None:
    body, expected = CONDITIONS[shape]
    module = module_of(in_method(body))
    guards = Guards(module)
    (event,) = (event for event in module.flow.events if isinstance(event, Scale))
    wanted = guards.formula(ast.parse(expected, mode="eval").body, event.function)
    assert guards.condition(event.guards) == wanted


CALLED = {
    "one guarded call": ("if on_cuda:\n    self._end(y)", "on_cuda"),
    "two guarded calls": ("if on_cuda:\n    self._end(y)\nelif on_npu:\n    self._end(y)", "on_cuda or on_npu"),
    "one call is not guarded": ("if on_cuda:\n    self._end(y)\nself._end(y)", "True"),
    "not called": ("pass", "True"),
}


@pytest.mark.parametrize("shape", CALLED)
def test_the_calls_of_a_private_function_guard_it(shape: str) -> None:
    body, expected = CALLED[shape]
    module = module_of(in_method(body, "self.s = config.factor", "def _end(self, y):\n    return y * self.s\n"))
    guards = Guards(module)
    (event,) = (event for event in module.flow.events if isinstance(event, Scale))
    assert guards.condition(event.guards) == guards.formula(ast.parse(expected, mode="eval").body, event.function)


@pytest.mark.parametrize(("test", "guarded"), [("on_cuda", False), ("not is_folded(config)", True)])
def test_a_public_function_is_guarded_only_by_calls_that_ask(test: str, guarded: bool) -> None:
    body = f"if {test}:\n    self.end(y)"
    module = module_of(in_method(body, "self.s = config.factor", "def end(self, y):\n    return y * self.s\n"))
    guards = Guards(module)
    (event,) = (event for event in module.flow.events if isinstance(event, Scale))
    node = guards.condition(event.guards)
    assert node == (guards.diagrams.neg(guards.answer()) if guarded else guards.formula(ast.Constant(True), None))


def test_a_trace_leads_from_the_config_to_the_use() -> None:
    (event,) = events(in_method("s = self.s\nreturn y * s", "self.s = config.factor"), Scale)
    assert [step.text for step in event.trace] == [
        "read of `config.factor`", "stored in `self.s`", "read of `self.s`", "bound to `s`",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("call", "callee", "keyword", "followed"),
    [
        ("kernel(y, config.factor)", "kernel", None, False),
        ("kernel(y, scale=config.factor)", "kernel", "scale", False),
        ("torch.ops.lib.kernel(y, config.factor)", "kernel", None, False),
        ("self.own(y, config.factor)", "own", None, True),
        ("Other(config.factor)", "Other", None, True),
        ("kernel[(1,)](y, config.factor)", "kernel[1,]", None, False),
        ("f(y, config.factor)", "kernel", None, False),
    ],
)
def test_what_the_factor_is_handed_to(call: str, callee: str, keyword: str | None, followed: bool) -> None:
    text = in_method(f"f = kernel\nreturn {call}", "pass", "def own(self, y, s):\n    return y\n")
    found = events(text + "class Other:\n    s: float\n", Handed)
    assert [(e.callee, e.keyword, e.followed) for e in found if isinstance(e, Handed)] == [(callee, keyword, followed)]


def test_the_choice_of_a_value_is_apart_from_the_guards_of_its_place() -> None:
    text = in_method("if on_cuda:\n    kernel(y, 1.0 if is_folded(config) else config.factor)")
    (event,) = events(text, Handed)
    assert isinstance(event, Handed)
    assert [(ast.unparse(g.test), g.positive) for g in event.choice] == [("is_folded(config)", False)]
    assert len(event.guards) == 2


@pytest.mark.parametrize(
    ("test", "compared"),
    [
        ("config.factor > 1", True),
        ("config.factor == 2.5", True),
        ("config.factor != self.limit", True),
        ("config.factor is None", False),
        ("config.factor in (None, 1.0)", False),
        ("config.factor not in (0, 2.5)", True),
        ("config.factor < 1", True),
        ("config.n > 1", False),
    ],
)
def test_comparisons(test: str, compared: bool) -> None:
    assert bool(events(in_method(f"return {test}"), Compared)) == compared


SLOTS = {
    "topk_weights[:, -1] = 1.0": ("column", None),
    "topk_weights[:, -n:] = 1.0 / config.factor": ("column", -1),
    "topk_weights[..., k:] = 1.0": ("column", None),
    "topk_weights[:, -1] /= config.factor": ("column", 1),
    "topk_weights[:, -1] = topk_weights[:, :-1].sum(-1) / config.factor": ("column", -1),
    "topk_weights[:, -1].fill_(1.0)": ("column", None),
    "torch.cat([topk_weights, topk_weights.new_full((2, 1), 1 / config.factor)])": ("column", -1),
    "torch.cat([topk_weights, torch.ones(2, 1) / config.factor])": ("column", -1),
    "F.pad(topk_weights, (0, 1), value=1.0)": ("column", None),
    "F.pad(topk_weights, (0, 1), 'constant', 1.0)": ("column", None),
    "topk_weights.masked_fill_(mask, 1.0)": ("column", None),
    "topk_weights = torch.where(mask, 1.0, topk_weights)": ("column", None),
    "topk_weights[:, -1] = torch.full_like(x, 1 / config.factor)": ("column", -1),
    "topk_weights.narrow(1, 8, 1).fill_(1.0)": ("column", None),
    "torch.cat([topk_weights, torch.ones(1, 1).expand(2, -1)])": ("column", None),
    "torch.cat([topk_weights[:, :-1], torch.ones(2, 1)])": ("column", None),
    "setattr(x, 'shared_weight', 1.0)": ("name", None),
    "x.setdefault('shared_weight', 1.0)": ("name", None),
    "shared_weight = 1.0": ("name", None),
    "self.shared_weight = 1 / config.factor": ("name", -1),
    "kernel(shared_weight=1.0)": ("argument", None),
    "place_slot(a, b, 1 / config.factor)": ("argument", -1),
    "place_slot(a, b, scale=1.0)": ("argument", None),
    "x = {'shared_weight': 1.0}": ("argument", None),
    "x['shared_weight'] = 1.0": ("name", None),
}


@pytest.mark.parametrize("statement", SLOTS)
def test_slot_writes(statement: str) -> None:
    found = events(f"class A:\n    def run(self, topk_weights, config, x):\n        {statement}\n", SlotWrite)
    assert [(e.how, e.power) for e in found if isinstance(e, SlotWrite)] == [SLOTS[statement]]


@pytest.mark.parametrize(
    "statement",
    [
        "topk_weights[0] = 1.0",
        "topk_weights[:, :k] = 1.0",
        "topk_weights[:, 0:] = 1.0",
        "other[:, -1] = 1.0",
        "torch.cat([topk_weights, gate])",
        "torch.cat([other, torch.ones(2)])",
        "F.pad(other, (0, 1), value=1.0)",
    ],
)
def test_what_is_no_slot(statement: str) -> None:
    assert events(f"def run(topk_weights, other, k):\n    {statement}\n", SlotWrite) == []


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("TopK(apply_on_output=x)", FlagSet),
        ("TopK(**{'apply_on_output': x})", FlagSet),
        ("TopK(**dict(apply_on_output=x))", FlagSet),
        ("options['apply_on_output'] = x", FlagSet),
        ("self.topk.apply_on_output = x", FlagSet),
        ("setattr(self.topk, 'apply_on_output', x)", FlagSet),
        ("options.setdefault('apply_on_output', x)", FlagSet),
        ("options.update(apply_on_output=x)", FlagSet),
        ("options |= {'apply_on_output': x}", FlagSet),
        ("Runner(apply_factor=x)", FlagSet),
        ("weight(folded_in_router=x)", AnswerGiven),
        ("self.folded_in_router = x", AnswerGiven),
    ],
)
def test_flags_and_answers(statement: str, kind: type[Event]) -> None:
    (event,) = events(f"class A:\n    def run(self, x, options):\n        {statement}\n", kind)
    assert isinstance(event, (FlagSet, AnswerGiven))
    assert ast.unparse(event.value) == "x"


def test_a_default_of_a_flag_decides_nothing() -> None:
    assert events("def run(y, apply_on_output=False):\n    return y\n", FlagSet) == []


def test_stores_and_aliases() -> None:
    module = module_of(in_method("pass", "self.s = config.factor\nself.factor = config.factor\nself.n = config.n"))
    assert [e.attribute for e in module.flow.events if isinstance(e, Stored)] == ["s", "factor"]
    assert list(module.flow.aliases["Block"]) == ["s"]


def test_events_are_reported_once_and_in_order() -> None:
    text = in_method("y *= self.s\nreturn y * self.s", "self.s = config.factor")
    assert [event.node.lineno for event in events(text, Scale)] == [5, 6]  # type: ignore[attr-defined]


HANDLERS = ["except", "except*"] if sys.version_info >= (3, 11) else ["except"]


@pytest.mark.parametrize("handler", HANDLERS)
def test_all_ways_through_a_handler_are_seen(handler: str) -> None:
    text = in_method(
        f"try:\n    y *= config.factor\n{handler} E:\n    z = y * config.factor\nfinally:\n    y /= config.factor"
    )
    assert scales(text) == ["y**1", "y**1", "y**-1"]
