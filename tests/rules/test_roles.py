"""Where the policy rules look: kernels and runners are told, methods may choose kernels, the owner may fold."""

from __future__ import annotations

from types import ModuleType

import pytest

HEADER = "# profile: sglang\n"

APPLIES_WHAT_IT_IS_TOLD = """
def sum_experts(out, topk_weights, routed_scaling_factor, apply_routed_scaling_factor):
    topk_weights = topk_weights * routed_scaling_factor
    out *= routed_scaling_factor
    if _is_hip:
        out = out.mul_(routed_scaling_factor)
    return moe_sum_reduce(out, routed_scaling_factor), 1.0 / routed_scaling_factor
"""
DECIDES = """
class Block:
    def __init__(self, config):
        self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)
        self.factor = config.routed_scaling_factor

    def forward(self, x):
        y = self.experts(x, self.topk(x))
        if not _use_aiter:
            y *= self.factor
        return y
"""
BY_WISH = DECIDES.replace("_use_aiter", "self.experts.should_fuse_routed_scaling_factor_in_topk")
UNGUARDED = DECIDES.replace("if not _use_aiter:", "if True:")
SLOT = """
def remap(topk_weights, num_fused_shared_experts, routed_scaling_factor):
    topk_weights[:, -num_fused_shared_experts:] = 1.0 / routed_scaling_factor
    return topk_weights
"""
FOLDS = """
def fold(topk_weights, routed_scaling_factor):
    topk_weights *= routed_scaling_factor
    return topk_weights
"""

CLIENT = "sglang/srt/models/block.py"
METHOD = "sglang/srt/layers/quantization/scheme.py"
OWNER = "sglang/srt/layers/moe/topk.py"
LEAVES = [
    "sglang/kernels/ops/moe.py",
    "sglang/jit_kernel/moe.py",
    "sglang/srt/layers/moe/moe_runner/triton.py",
    "/somewhere/site-packages/sglang/srt/layers/moe/moe_runner/deep/inner.py",
    "sglang/srt/lora/layers.py",
    "sglang/srt/hardware_backend/npu/moe.py",
    "sglang/test/moe.py",
]


def fired(support: ModuleType, text: str, path: str) -> set[str]:
    rules = [rule for rule in support.all_rules() if rule.needs_helpers]
    return {name for _, name, _ in support.run(rules, HEADER + text, path)}


@pytest.mark.parametrize("path", LEAVES)
@pytest.mark.parametrize(
    "text", [APPLIES_WHAT_IT_IS_TOLD, DECIDES, SLOT, FOLDS], ids=["told", "decides", "slot", "folds"]
)
def test_kernels_and_runners_apply_what_they_are_told(path: str, text: str, rule_support: ModuleType) -> None:
    assert fired(rule_support, text, path) == set()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (APPLIES_WHAT_IT_IS_TOLD, "epilogue-unguarded"),
        (APPLIES_WHAT_IT_IS_TOLD, "factor-arithmetic"),
        (APPLIES_WHAT_IT_IS_TOLD, "factor-handed"),
        (APPLIES_WHAT_IT_IS_TOLD, "factor-inverted"),
        (DECIDES, "guard-not-asking"),
        (BY_WISH, "guard-not-asking"),
        (SLOT, "slot-weight-decided"),
        (FOLDS, "factor-arithmetic"),
        (UNGUARDED, "epilogue-unguarded"),
    ],
)
def test_the_same_code_in_a_model_is_a_decision(text: str, rule: str, rule_support: ModuleType) -> None:
    assert rule in fired(rule_support, text, CLIENT)


def test_a_quantisation_method_may_choose_by_platform_but_not_by_wish(rule_support: ModuleType) -> None:
    assert "guard-not-asking" not in fired(rule_support, DECIDES, METHOD)
    assert "guard-not-asking" in fired(rule_support, BY_WISH, METHOD)
    assert "epilogue-unguarded" not in fired(rule_support, UNGUARDED, METHOD)


def test_a_quantisation_method_may_not_decide_a_slot(rule_support: ModuleType) -> None:
    assert "slot-weight-decided" in fired(rule_support, SLOT, METHOD)


def test_the_owner_folds_and_still_may_not_decide_a_slot_by_a_literal(rule_support: ModuleType) -> None:
    assert fired(rule_support, FOLDS, OWNER) == set()
    assert fired(rule_support, SLOT, OWNER) == {"slot-weight-decided"}


def test_code_outside_the_package_is_a_client(rule_support: ModuleType) -> None:
    assert "guard-not-asking" in fired(rule_support, DECIDES, "my_fork/kernels/block.py")


def test_a_framework_without_helpers_has_no_such_policy(rule_support: ModuleType) -> None:
    text = DECIDES.replace(HEADER, "")
    names = {name for _, name, _ in rule_support.run(rule_support.all_rules(), "# profile: generic\n" + text)}
    assert not names & {rule.name() for rule in rule_support.all_rules() if rule.needs_helpers}
