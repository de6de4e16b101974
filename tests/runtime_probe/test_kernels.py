"""Real kernels of a release, interpreted on the CPU, against plain torch: a small part, for CI."""

from __future__ import annotations

import pytest
from test_exam import release

from moelint.runtime_probe import plan, runner

NAMES = ("fused_append_remap_shared_experts_deepep", "hash_topk_triton", "moe_sum_reduce_triton")


def test_interpreted_kernels_have_the_weights_that_torch_has() -> None:
    (job,) = plan.jobs(release("0.5.23"), plan.Choice(classes=NAMES, kernels=True))
    found = runner.run(job).measurements
    assert {one.block for one in found} == set(NAMES)
    for one in found:
        assert one.verdict == "matches", (one.cell, one.reason)
        assert "triton interpreter" in one.emulated


def test_a_kernel_that_forgets_the_factor_is_caught(tmp_path: object) -> None:
    torch = pytest.importorskip("torch")
    from types import SimpleNamespace

    from moelint.runtime_probe.frameworks import sglang_kernel_cases as kernel_cases

    def forgets(outputs: object, out: object, factor: float) -> None:
        out.copy_(outputs.sum(1))  # type: ignore[attr-defined]

    module = SimpleNamespace(moe_sum_reduce_triton=forgets)
    (case,) = kernel_cases.cases(module, "moe_sum_reduce_triton", "cpu")  # type: ignore[arg-type]
    difference = (case.kernel(2.5).routed - case.reference(2.5).routed).abs().max()
    assert case.exponent == 1 and difference > 0.1
    assert torch.allclose(case.kernel(1.0).routed, case.reference(1.0).routed)
