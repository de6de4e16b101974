"""The routers and the GEMM of ROCm's aiter package in torch, from the contract that callers rely on. Not AMD execution.

Contract: the biased grouped router and the gating router multiply the (normalised, where asked) weights by the factor
that they are given; the plain fused top-k takes no factor. Weights never contain the correction bias. The tuned GEMM,
which computes router logits, is a linear layer whose output has the type that is asked for.
"""

from __future__ import annotations

import importlib.machinery
import sys
import types
from typing import Any

import torch

from moelint.runtime_probe.fabricate import FabricatedModule

EMULATED = ("aiter.biased_grouped_topk", "aiter.topk_gating", "aiter.fused_moe.fused_topk", "aiter.tuned_gemm.tgemm.mm")


def biased_grouped_topk(
    gating_output: Any,
    correction_bias: Any,
    topk_weights: Any,
    topk_ids: Any,
    num_expert_group: int,
    topk_group: int,
    need_renorm: bool,
    routed_scaling_factor: float = 1.0,
) -> None:
    """Sigmoid scores; groups and experts chosen with the bias; weights without it, times the factor; in place."""
    scores = gating_output.float().sigmoid()
    rows, experts = scores.shape
    choice = scores + correction_bias.float()[None]
    grouped = choice.view(rows, num_expert_group, -1)
    best = grouped.topk(min(2, grouped.shape[-1]), -1)[0].sum(-1).topk(topk_group, -1)[1]
    open_groups = torch.zeros(rows, num_expert_group, device=scores.device).scatter_(1, best, 1.0)
    mask = open_groups[..., None].expand_as(grouped).reshape(rows, experts)
    ids = choice.masked_fill(mask == 0, float("-inf")).topk(topk_ids.shape[1], -1)[1]
    _store(scores.gather(1, ids), ids, need_renorm, routed_scaling_factor, topk_weights, topk_ids)


def topk_gating(
    topk_weights: Any,
    topk_ids: Any,
    gating_output: Any,
    correction_bias: Any,
    renormalize: bool,
    routed_scaling_factor: float = 1.0,
    score_func: str = "sqrtsoftplus",
) -> None:
    """Ungrouped: experts chosen with the bias, weights without it, times the factor; in place."""
    logits = gating_output.float()
    scores = torch.nn.functional.softplus(logits).sqrt() if score_func == "sqrtsoftplus" else logits.sigmoid()
    choice = scores if correction_bias is None else scores + correction_bias.float()[None]
    ids = choice.topk(topk_ids.shape[1], -1)[1]
    _store(scores.gather(1, ids), ids, renormalize, routed_scaling_factor, topk_weights, topk_ids)


def fused_topk(
    hidden_states: Any, gating_output: Any, topk: int, renormalize: bool, topk_ids: Any = None, topk_weights: Any = None
) -> tuple[Any, Any]:
    """Softmax top-k without a factor."""
    weights, ids = gating_output.float().softmax(-1).topk(topk, -1)
    if renormalize:
        weights = weights / weights.sum(-1, keepdim=True)
    if topk_ids is None:
        return weights, ids.to(torch.int32)
    topk_ids.copy_(ids.to(topk_ids.dtype))
    topk_weights.copy_(weights)
    return topk_weights, topk_ids


def tuned_mm(inp: Any, weights: Any, bias: Any = None, otype: Any = None) -> Any:
    """`inp` times the transposed weights, plus the bias, as `otype`."""
    out = torch.nn.functional.linear(inp, weights, bias)
    return out if otype is None else out.to(otype)


def _store(weights: Any, ids: Any, renormalise: bool, factor: float, topk_weights: Any, topk_ids: Any) -> None:
    if renormalise:
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
    topk_weights.copy_(weights * factor)
    topk_ids.copy_(ids.to(topk_ids.dtype))


def install() -> None:
    """Be `aiter` for the target: these routers and this GEMM, everything else fabricated."""
    package = _module("aiter")
    kernels = _module("aiter.fused_moe")
    package.biased_grouped_topk, package.topk_gating = biased_grouped_topk, topk_gating
    kernels.fused_topk = fused_topk
    package.fused_moe = kernels
    gemms = _module("aiter.tuned_gemm")
    gemms.tgemm = types.SimpleNamespace(mm=tuned_mm)
    package.tuned_gemm = gemms


def _module(name: str) -> Any:
    module = FabricatedModule(name)
    module.__path__ = []
    module.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    sys.modules[name] = module
    return module
