"""The policy rules against the code itself: small blocks are run on all settings, and must be reported exactly if the
routed experts' factor does not act once on each."""

from __future__ import annotations

from itertools import product
from types import ModuleType, SimpleNamespace
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

FOLDED = "self.fused_in_topk"
WISHED = "self.experts.should_fuse_routed_scaling_factor_in_topk"
CUDA = "_is_cuda"
HEADER = """# profile: sglang
class Block:
    def __init__(self, config):
        self.routed_scaling_factor = config.routed_scaling_factor
        self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)
        self.fused_in_topk = is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)

    def forward(self, y):
"""
Lines = list[str]

ATOMS = st.sampled_from([FOLDED, FOLDED, FOLDED, WISHED, CUDA])
LITERALS = st.tuples(ATOMS, st.sampled_from(["{}", "not {}"])).map(lambda pair: pair[1].format(pair[0]))
PAIRS = st.tuples(
    st.sampled_from([(FOLDED, WISHED), (FOLDED, CUDA), (CUDA, FOLDED), (WISHED, CUDA)]),
    st.sampled_from(["({} and {})", "({} or {})", "({} and not {})", "(not {} or {})", "(not {} and not {})"]),
).map(lambda parts: parts[1].format(*parts[0]))
TESTS = LITERALS | PAIRS | st.sampled_from(["kept", "not kept"])
"""Tests that are neither always nor never true."""

SIMPLE = (
    st.sampled_from(
        [
            ["y *= self.routed_scaling_factor"],
            ["y = torch.mul(y, self.routed_scaling_factor)"],
            ["y = y * chosen"],
            ["chosen = 1.0"],
            ["return y"],
        ]
    )
    | TESTS.map(lambda test: [f"kept = {test}"])
    | TESTS.map(lambda test: [f"chosen = self.routed_scaling_factor if {test} else 1.0"])
    | TESTS.map(lambda test: [f"y *= 1.0 if {test} else self.routed_scaling_factor"])
)


def indented(lines: Lines) -> Lines:
    return [f"    {line}" for line in lines]


def branch(test: str, then: Lines, other: Lines) -> Lines:
    return [f"if {test}:", *indented(then), *(["else:", *indented(other)] if other else [])]


BODIES = st.recursive(
    SIMPLE,
    lambda inner: (
        st.tuples(TESTS, inner, inner | st.just([])).map(lambda parts: branch(*parts))
        | st.tuples(inner, inner).map(lambda parts: [*parts[0], *parts[1]])
    ),
    max_leaves=5,
)


def outcome(text: str, folded: bool, wished: bool, cuda: bool) -> float:
    """What the block makes of 1.0 with a factor of 2."""
    names: dict[str, Any] = {CUDA: cuda, "torch": SimpleNamespace(mul=lambda a, b: a * b)}
    exec(text, names)
    block = names["Block"].__new__(names["Block"])
    block.fused_in_topk, block.routed_scaling_factor = folded, 2.0
    block.experts = SimpleNamespace(should_fuse_routed_scaling_factor_in_topk=wished)
    value: float = block.forward(1.0)
    return value


@settings(max_examples=150, deadline=None)
@given(first=LITERALS | PAIRS, body=BODIES)
def test_a_block_is_reported_exactly_if_the_factor_does_not_act_once(
    first: str, body: Lines, rule_support: ModuleType
) -> None:
    text = HEADER + "\n".join(indented(indented([f"kept = {first}", "chosen = 1.0", *body, "return y"]))) + "\n"
    made = {setting: outcome(text, *setting) for setting in product((False, True), repeat=3)}
    assume(set(made.values()) != {1.0})
    right = all(value == (1.0 if folded else 2.0) for (folded, _, _), value in made.items())
    rules = [rule for rule in rule_support.all_rules() if rule.needs_helpers or rule.name() == "factor-applied-twice"]
    assert right == (rule_support.run(rules, text) == []), text
