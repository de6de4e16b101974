"""No rule may crash, whatever Python it reads: the standard library, and snippets made of the rules' own words."""

from __future__ import annotations

import ast
import sysconfig
from pathlib import Path
from time import process_time
from types import ModuleType

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from moelint.linter.analysis.module import Module
from moelint.linter.profile import Profile
from moelint.linter.source import Source

LIBRARY = Path(sysconfig.get_path("stdlib"))
PACKAGES = ("asyncio", "email", "importlib", "json", "logging", "unittest", "wsgiref")


ORDINARY = Profile(
    name="ordinary",
    factor=frozenset({"name", "value", "msg", "level"}),
    slot_weight=frozenset({"default", "size"}),
    slot_count=frozenset({"count"}),
    topk_weights=frozenset({"data", "result", "args", "buffer"}),
    answer_calls=frozenset({"isinstance", "hasattr"}),
    answer_names=frozenset({"closed", "found"}),
    weight_calls=frozenset({"len"}),
    epilogue_calls=frozenset({"write"}),
    helper_module="ordinary",
    wish=frozenset({"strict"}),
    flags=frozenset({"debug", "encoding"}),
    runner_flags=frozenset({"timeout", "errors"}),
    constructors=frozenset({"open", "Handler"}),
    routers=frozenset({"Handler"}),
    config_objects=frozenset({"Message"}),
    slot_sinks={"get": ("1", "default"), "join": ("0",)},
    platform={"sys": ("cuda",), "os": ("hip", "hip+aiter"), "win32": ("npu",)},
    backend_sources={"loop": "a2a", "policy": "runner"},
    backend_predicates={"callable": "gather"},
    quant_attributes=frozenset({"type"}),
    folds_anyway=("hip+aiter",),
    collectives=frozenset({"append"}),
    reduce_helpers=frozenset({"extend"}),
    shared_experts=frozenset({"parent"}),
    experts=frozenset({"stream", "handlers"}),
)
"""A profile whose words occur in ordinary code, so that rules and analysis have something to follow."""


def files(package: str) -> list[Path]:
    return sorted((LIBRARY / package).glob("*.py"))


def check(support: ModuleType, data: bytes, profile: Profile) -> int:
    """Run every rule and look at every finding's place; how many findings there are."""
    module = Module(Source("a.py", data), ast.parse(data), profile)
    found = [draft for rule in support.all_rules() for draft in rule().check(module)]
    for draft in found:
        for node in (draft.node, *(node for node, _ in draft.related)):
            region = module.source.region(node)
            assert region.line >= 1 and region.col >= 1
        assert draft.message and draft.qualname
        module.source.segment(draft.statement or draft.node)
    return len(found)


@pytest.mark.parametrize("package", PACKAGES)
def test_no_rule_crashes_on_the_standard_library(package: str, rule_support: ModuleType) -> None:
    assert files(package)
    for path in files(package):
        check(rule_support, path.read_bytes(), ORDINARY)


def test_the_vocabulary_reaches_the_rules(rule_support: ModuleType) -> None:
    assert sum(check(rule_support, path.read_bytes(), ORDINARY) for path in files("logging")) > 20


WORDS = [
    "self", "config", "routed_scaling_factor", "topk_weights", "fused_in_topk", "_is_cuda", "y", "shared_weight",
    "self.routed_scaling_factor", "self.experts.should_fuse_routed_scaling_factor_in_topk", "self.fused_in_topk",
    "is_routed_scaling_factor_fused_in_topk(config)", "fused_shared_expert_weight(y)", "get_moe_a2a_backend()", "1.0",
    "None", "not y", "self.topk", "topk_weights[:, -1]", "TopK(y, **config)", "self.helper(y, *config)", "super()",
]  # fmt: skip
EXPRESSIONS = st.recursive(
    st.sampled_from(WORDS),
    lambda inner: st.tuples(
        inner,
        inner,
        st.sampled_from(
            [
                "({0} * {1})", "({0} / {1})", "({0} and {1})", "({0} or {1})", "(not {0})", "({0} if {1} else 1.0)",
                "({0} is {1})", "({0} > {1})", "{0}.mul_({1})", "torch.add({0}, {1}, alpha={0})", "f({0}, scale={1})",
                "torch.cat([{0}, {1}])", "TopK(apply_routed_scaling_factor_on_output={0})", "[{0} for y in {1}]",
                "(lambda y={0}: {1})", "{{'k': {0}, **{1}}}", "({0}, {1})", "f(**{{'scale': {0}}})", "(w := {0})",
                "getattr({0}, 'routed_scaling_factor')", "{0}['routed_scaling_factor']", "{0}.inner({1})",
            ]
        ),
    ).map(lambda parts: parts[2].format(parts[0], parts[1])),
    max_leaves=5,
)  # fmt: skip
SIMPLE = st.tuples(
    EXPRESSIONS,
    st.sampled_from(
        [
            "y = {}", "y *= {}", "y /= {}", "self.scale = {}", "self.fused_in_topk = {}", "topk_weights[:, -1] = {}",
            "a, *y = {}", "(a, b), self.b = {}", "y: float = {}", "y &= {}", "return {}", "assert {}", "{}", "raise {}",
            "topk_weights[:, -y:] *= {}", "self.topk.apply_routed_scaling_factor_on_output = {}", "a = b = {}",
            "options['shared_weight'] = {}", "del y", "pass", "global y", "setattr(self, 'scale', {})",
        ]
    ),
).map(lambda parts: [parts[1].format(parts[0])])  # fmt: skip


def indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def block(head: str, body: list[str]) -> list[str]:
    return [head, *indented(body)]


STATEMENTS = st.recursive(
    SIMPLE,
    lambda inner: (
        st.tuples(EXPRESSIONS, inner).map(lambda p: block(f"if {p[0]}:", p[1]))
        | st.tuples(EXPRESSIONS, inner, inner).map(lambda p: [*block(f"if {p[0]}:", p[1]), *block("else:", p[2])])
        | st.tuples(EXPRESSIONS, inner).map(lambda p: block(f"for y in {p[0]}:", p[1]))
        | st.tuples(EXPRESSIONS, inner).map(lambda p: block(f"while {p[0]}:", p[1]))
        | inner.map(lambda b: [*block("try:", b), *block("except E:", b), *block("finally:", ["pass"])])
        | inner.map(lambda b: block("with c as y:", b))
        | inner.map(lambda b: block("def helper(y, scale=1.0):", b))
        | inner.map(lambda b: block("class Inner(Block):", block("def forward(self, y):", b)))
        | st.tuples(inner, inner).map(lambda p: [*p[0], *p[1]])
    ),
    max_leaves=6,
)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(first=STATEMENTS, second=STATEMENTS)
def test_no_rule_crashes_on_snippets_of_its_own_words(
    first: list[str], second: list[str], rule_support: ModuleType
) -> None:
    lines = ["class Block(Base):", *indented(block("def __init__(self, config):", first))]
    lines += indented(block("def forward(self, y, fused_in_topk, topk_weights):", second))
    data = "\n".join([*lines, ""]).encode()
    try:
        ast.parse(data)
    except SyntaxError:
        return
    check(rule_support, data, rule_support.profile("sglang"))


MANY = 40


def repeated(template: str) -> str:
    return "".join(template.replace("#", str(number)).replace("+", str(number + 1)) for number in range(MANY))


METHOD = "class B:\n    def f(self, y, config):\n"
TALL = {
    "a value reset in many branches": METHOD
    + "        s = config.routed_scaling_factor\n"
    + repeated("        if c#:\n            if d#:\n                s = 1.0\n")
    + "        y *= s\n",
    "a test changed in many branches": METHOD
    + "        s = _is_hip\n"
    + repeated("        if c#:\n            if _is_cuda:\n                s = True\n")
    + "        if s:\n            y *= config.routed_scaling_factor\n",
    "a method with many ways out": "class B:\n    def g(self):\n"
    + repeated("        if c#:\n            if _is_cuda:\n                return True\n")
    + "        return _is_hip\n    def f(self, y, config):\n"
    + "        if self.g():\n            y *= config.routed_scaling_factor\n",
    "methods that ask each other": "class B:\n"
    + repeated("    def m#(self):\n        return self.m+() and self.m+() or self.m#()\n")
    + "    def f(self, y, config):\n        if self.m0():\n            y *= config.routed_scaling_factor\n",
    "methods that call each other": "class B:\n"
    + repeated(
        "    def _m#(self, y):\n        if c#:\n            self._m+(y)\n        if d#:\n            self._m+(y)\n"
        "        y *= self.routed_scaling_factor\n"
    ),
    "a name made of itself": METHOD
    + "        x = _is_cuda\n"
    + repeated("        x = x and (x or not x)\n")
    + "        if x:\n            y *= config.routed_scaling_factor\n",
}


@pytest.mark.parametrize("shape", TALL)
def test_what_is_repeated_does_not_multiply_the_work(shape: str, rule_support: ModuleType) -> None:
    start = process_time()
    assert check(rule_support, TALL[shape].encode(), rule_support.profile("sglang")) > 0
    assert process_time() - start < 10, "seconds of processor time; a product of the branches would take hours"
