"""Kernels that are compared by themselves, by name: what the parent must know of them without importing anything."""

from __future__ import annotations

from moelint.runtime_probe.records import Unit

_SGLANG = (
    ("srt/layers/moe/topk.py", "select_experts"),
    ("kernels/ops/moe/moe_fused_gate.py", "moe_fused_gate"),
    ("kernels/ops/moe/fused_moe_triton_kernels.py", "fused_append_shared_experts"),
    ("kernels/ops/moe/fused_moe_triton_kernels.py", "fused_append_remap_shared_experts_deepep"),
    ("kernels/ops/moe/fused_moe_triton_kernels.py", "fused_append_shared_experts_with_weights"),
    ("kernels/ops/moe/deepep_waterfill_kernels.py", "materialize_waterfill_dispatch_fused"),
    ("kernels/ops/moe/triton_hash_topk.py", "hash_topk_triton"),
    ("kernels/ops/moe/dsv4.py", "hash_topk"),
    ("kernels/ops/moe/fused_moe_triton_kernels.py", "moe_sum_reduce_triton"),
    ("srt/layers/moe/moe_runner/triton_utils/fused_moe.py", "fused_experts_impl"),
)

UNITS = {
    "sglang": tuple(
        Unit(path, name, "sglang." + path.removesuffix(".py").replace("/", "."), routes=("kernel",))
        for path, name in _SGLANG
    )
}
"""Framework -> the functions of its tree that launch a router's, an append's or a runner's kernels."""
