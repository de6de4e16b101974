"""Real kernels of a release, interpreted on the CPU, against plain torch: a small part, for CI."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from moelint.runtime_probe import plan, runner

NAMES = ("fused_append_remap_shared_experts_deepep", "hash_topk_triton", "moe_sum_reduce_triton")


def test_interpreted_kernels_have_the_weights_that_torch_has(release: Callable[[str], Path]) -> None:
    (job,) = plan.jobs(release("0.5.23"), plan.Choice(classes=NAMES, kernels=True))
    found = runner.run(job).measurements
    assert {one.block for one in found} == set(NAMES)
    for one in found:
        assert one.verdict == "matches", (one.cell, one.reason)
        assert "triton interpreter" in one.emulated


def test_a_kernel_that_forgets_the_factor_is_caught() -> None:
    from moelint.runtime_probe.frameworks import sglang_kernel_cases as kernel_cases

    def forgets(outputs: Any, out: Any, factor: float) -> None:
        out.copy_(outputs.sum(1))

    (case,) = kernel_cases.cases(SimpleNamespace(moe_sum_reduce_triton=forgets), "moe_sum_reduce_triton", "cpu")
    assert case.exponent == 1
    for factor, difference in ((1.0, 0.0), (2.5, 0.1)):
        off = float((case.kernel(factor).routed - case.reference(factor).routed).abs().max())
        assert off >= difference and (off == 0) == (factor == 1)
