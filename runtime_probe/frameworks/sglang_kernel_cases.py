"""SGLang's router, append and runner kernels: how each is called, and the same in plain torch.

Every case answers for a factor value with the routed weights as a (tokens, experts) table and the fused shared slot's
weight after the multiply that follows where the factor is not in the weights yet. The references are written from the
policy and from what a router is for, not from the target's own torch code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from moelint.runtime_probe.tiny import TOKENS, VOCABULARY

EXPERTS, TOP_K, GROUPS, OPEN_GROUPS = 64, 4, 4, 2
"""64 experts: the smallest number for which SGLang aligns small batches in Triton."""
_RANKS, _RANK = 4, 1
_HIDDEN, _INNER = 128, 64
_SATURATED = 16.0
"""silu(16) is 16 in every dtype."""


@dataclass(frozen=True)
class Sample:
    """What came out for one factor value."""

    routed: Any
    """(tokens, experts): the weight of each expert; for runners the weight with which its output arrived."""
    shared: Any = None
    """(tokens,): the slot's weight in the end; None: there is no slot."""


@dataclass(frozen=True)
class Case:
    """One way to call a kernel."""

    configuration: dict[str, Any]
    exponent: float
    """How often the factor is in the routed weights, as the call asks for it."""
    kernel: Callable[[float], Sample]
    reference: Callable[[float], Sample]


@dataclass(frozen=True)
class Router:
    """A kind of router."""

    scoring: str
    biased: bool
    groups: int = 1
    renormalise: bool = True


ROUTERS = {
    "biased grouped": Router("sigmoid", True, GROUPS),
    "biased grouped, not renormalised": Router("sigmoid", True, GROUPS, False),
    "unbiased grouped": Router("softmax", False, GROUPS),
    "ungrouped softmax": Router("softmax", False),
    "ungrouped sigmoid": Router("sigmoid", True),
    "ungrouped sqrtsoftplus": Router("sqrtsoftplus", True),
}


def reference(router: Router, logits: Any, bias: Any, factor: float, top_k: int = TOP_K) -> Any:
    """The (tokens, experts) table of a router that puts `factor` into its weights."""
    scores = _scores(router.scoring, logits.float())
    choice = scores + bias if router.biased else scores
    if router.groups > 1:
        grouped = choice.view(len(choice), router.groups, -1)
        best = grouped.topk(2, -1)[0].sum(-1) if router.biased else grouped.amax(-1)
        closed = torch.ones_like(best, dtype=torch.bool).scatter(1, best.topk(OPEN_GROUPS, -1)[1], False)
        choice = choice.masked_fill(closed.repeat_interleave(grouped.shape[-1], 1), float("-inf"))
    ids = choice.topk(top_k, -1)[1]
    weights = scores.gather(1, ids)
    if router.renormalise:
        weights = weights / weights.sum(-1, keepdim=True)
    return table(weights * factor, ids, logits.shape[1])


def table(weights: Any, ids: Any, experts: int) -> Any:
    """(tokens, experts) from weights and expert numbers."""
    found = torch.zeros(len(weights), experts, device=weights.device)
    return found.scatter_add_(1, ids.long(), weights.float())


def logits(device: str, experts: int = EXPERTS) -> tuple[Any, Any]:
    """Router logits and a correction bias that changes the choice, the same on every device."""
    generator = torch.Generator("cpu").manual_seed(13)
    found = torch.randn(TOKENS, experts, generator=generator, device="cpu")
    bias = 0.3 * torch.randn(experts, generator=generator, device="cpu")
    return found.to(device), bias.to(device)


def cases(module: Any, name: str, device: str) -> Iterator[Case]:
    """The cases of a function, found by its name."""
    return globals()[f"_{name}"](module, getattr(module, name), device)  # type: ignore[no-any-return]


def _select_experts(module: Any, function: Any, device: str) -> Iterator[Case]:
    scores, bias = logits(device)
    hidden = torch.ones(TOKENS, _HIDDEN, device=device)
    helper = getattr(module, "is_routed_scaling_factor_fused_in_topk", None)
    for kind, router in ROUTERS.items():
        for fold in (False, True):

            def config(factor: float, router: Router = router, fold: bool = fold) -> Any:
                return module.TopKConfig(
                    top_k=TOP_K,
                    use_grouped_topk=router.groups > 1,
                    num_expert_group=router.groups if router.groups > 1 else None,
                    topk_group=OPEN_GROUPS if router.groups > 1 else None,
                    renormalize=router.renormalise,
                    correction_bias=bias if router.biased else None,
                    scoring_func=router.scoring,
                    routed_scaling_factor=factor,
                    apply_routed_scaling_factor_on_output=fold,
                )

            folded = bool(helper(config(2.0))) if helper else fold

            def kernel(factor: float, config: Any = config) -> Sample:
                out = function(hidden, scores.clone(), config(factor), layer_id=0)
                return Sample(table(out.topk_weights, out.topk_ids, EXPERTS))

            def plain(factor: float, router: Router = router, folded: bool = folded) -> Sample:
                return Sample(reference(router, scores, bias, factor if folded else 1.0))

            yield Case({"router": kind, "fold": fold}, float(folded), kernel, plain)


def _moe_fused_gate(module: Any, function: Any, device: str) -> Iterator[Case]:
    wide = Router("sigmoid", True)
    kinds = [(kind, router, EXPERTS, TOP_K) for kind, router in ROUTERS.items() if router.biased]
    for kind, router, experts, top_k in [*kinds, ("ungrouped sigmoid, 896 experts", wide, 896, 16)]:
        scores, bias = logits(device, experts)
        for fold in (False, True):
            for fused in (0, 1) if experts == EXPERTS else (0,):

                def kernel(factor: float, use: Any = (router, scores, bias, top_k, fold, fused)) -> Sample:
                    router, scores, bias, top_k, fold, fused = use
                    weights, ids = function(
                        scores,
                        bias,
                        top_k + fused,
                        scoring_func=router.scoring,
                        num_fused_shared_experts=fused,
                        renormalize=router.renormalise,
                        routed_scaling_factor=factor,
                        apply_routed_scaling_factor_on_output=fold,
                        num_expert_group=router.groups,
                        topk_group=OPEN_GROUPS if router.groups > 1 else 1,
                    )
                    return _with_slot(weights, ids, fused, scores.shape[1], 1.0 if fold else factor)

                def plain(factor: float, use: Any = (router, scores, bias, top_k, fold, fused)) -> Sample:
                    router, scores, bias, top_k, fold, fused = use
                    routed = reference(router, scores, bias, factor if fold else 1.0, top_k)
                    return Sample(routed, torch.ones(TOKENS, device=device) if fused else None)

                yield Case({"router": kind, "fold": fold, "fused": fused}, float(fold), kernel, plain)


def _with_slot(weights: Any, ids: Any, fused: int, experts: int, later: float) -> Sample:
    """The sample of weights whose last columns are slots that a later multiply by `later` still reaches."""
    split = weights.shape[1] - fused
    shared = later * weights[:, split:].float().sum(-1) if fused else None
    return Sample(table(weights[:, :split], ids[:, :split], experts), shared)


def _chosen(device: str) -> tuple[Any, Any]:
    scores, bias = logits(device)
    weights, ids = reference(ROUTERS["biased grouped"], scores, bias, 1.0).topk(TOP_K, -1)
    return weights, ids.to(torch.int32)


def _appended(device: str, call: Callable[[Any, Any, float], tuple[Any, Any]], numbers: Any = None) -> Iterator[Case]:
    """An append: routed columns stay (numbers as `numbers` says), and the slot gets the weight that is given."""
    weights, ids = _chosen(device)
    where = ids if numbers is None else numbers(ids)
    total = 2 * EXPERTS

    for folded in (False, True):

        def kernel(factor: float, folded: bool = folded) -> Sample:
            given = weights * (factor if folded else 1.0)
            out_ids, out = call(ids, given, 1.0 if folded else 1.0 / factor)
            return _with_slot(out, out_ids, 1, total, 1.0 if folded else factor)

        def plain(factor: float, folded: bool = folded) -> Sample:
            routed = table(weights * (factor if folded else 1.0), where, total)
            return Sample(routed, torch.ones(TOKENS, device=device))

        yield Case({"fold": folded, "fused": 1}, float(folded), kernel, plain)


def _fused_append_shared_experts(module: Any, function: Any, device: str) -> Iterator[Case]:
    return _appended(device, lambda ids, weights, slot: function(ids, weights, 1, slot, N=EXPERTS))


def _fused_append_shared_experts_with_weights(module: Any, function: Any, device: str) -> Iterator[Case]:
    def call(ids: Any, weights: Any, slot: float) -> Any:
        return function(ids, weights, torch.full((TOKENS, 1), slot, device=device), 1, N=EXPERTS)

    return _appended(device, call)


def _per_rank(ids: Any) -> Any:
    return ids + ids // (EXPERTS // _RANKS)


def _fused_append_remap_shared_experts_deepep(module: Any, function: Any, device: str) -> Iterator[Case]:
    local = EXPERTS // _RANKS

    def call(ids: Any, weights: Any, slot: float) -> Any:
        return function(ids, weights, 1, slot, _RANK * (local + 1) + local, local)

    return _appended(device, call, _per_rank)


def _materialize_waterfill_dispatch_fused(module: Any, function: Any, device: str) -> Iterator[Case]:
    load = torch.zeros(_RANKS, dtype=torch.int32, device=device)

    def call(ids: Any, weights: Any, slot: float) -> Any:
        return function(ids.long(), weights, load, EXPERTS, _RANKS, _RANK, slot)

    return _appended(device, call, _per_rank)


def _hashed(device: str, call: Callable[[Any, Any, Any, int, float], tuple[Any, Any]]) -> Iterator[Case]:
    scores, _ = logits(device)
    tokens = torch.arange(TOKENS, device=device)
    names = (torch.arange(VOCABULARY)[:, None] * 3 + torch.arange(TOP_K)) % EXPERTS
    names = names.to(torch.int32).to(device)
    for fused in (0, 1):

        def kernel(factor: float, fused: int = fused) -> Sample:
            weights, ids = call(scores, tokens, names, fused, factor)
            return _with_slot(weights, ids, fused, EXPERTS, factor)

        def plain(factor: float, fused: int = fused) -> Sample:
            weights = _scores("sqrtsoftplus", scores).gather(1, names[tokens].long())
            routed = table(weights / weights.sum(-1, keepdim=True), names[tokens], EXPERTS)
            return Sample(routed, torch.ones(TOKENS, device=device) if fused else None)

        yield Case({"router": "hash", "fold": False, "fused": fused}, 0.0, kernel, plain)


def _hash_topk_triton(module: Any, function: Any, device: str) -> Iterator[Case]:
    return _hashed(device, lambda *arguments: function(*arguments, "sqrtsoftplus"))


def _hash_topk(module: Any, function: Any, device: str) -> Iterator[Case]:
    def call(scores: Any, tokens: Any, names: Any, fused: int, factor: float) -> Any:
        return function(
            router_logits=scores,
            input_ids=tokens,
            tid2eid=names,
            num_fused_shared_experts=fused,
            routed_scaling_factor=factor,
            scoring_func="sqrtsoftplus",
        )

    return _hashed(device, call)


def _moe_sum_reduce_triton(module: Any, function: Any, device: str) -> Iterator[Case]:
    weights, ids = _chosen(device)
    outputs = torch.zeros(TOKENS, TOP_K, EXPERTS, device=device).scatter_(2, ids.long()[..., None], weights[..., None])

    def kernel(factor: float) -> Sample:
        out = torch.empty(TOKENS, EXPERTS, device=device)
        function(outputs, out, factor)
        return Sample(out)

    yield Case({"fold": False}, 1.0, kernel, lambda factor: Sample(factor * outputs.sum(1)))


def _fused_experts_impl(module: Any, function: Any, device: str) -> Iterator[Case]:
    """The Triton runner with its final sum: expert e maps every token to its weight on channel e."""
    dtype = torch.float16
    hidden = torch.zeros(TOKENS, _HIDDEN, dtype=dtype, device=device)
    hidden[:, 0] = 1.0
    up = torch.zeros(EXPERTS, 2 * _INNER, _HIDDEN, dtype=dtype, device=device)
    up[:, 0, 0], up[:, _INNER, 0] = _SATURATED, 1.0 / _SATURATED
    down = torch.zeros(EXPERTS, _HIDDEN, _INNER, dtype=dtype, device=device)
    down[torch.arange(EXPERTS), torch.arange(EXPERTS), 0] = 1.0
    weights, ids = _chosen(device)
    known = set(inspect.signature(function).parameters)
    for top_k in (1, 2, TOP_K):
        for folded in (False, True):
            chosen = weights[:, :top_k].contiguous(), ids[:, :top_k].contiguous()

            def kernel(factor: float, use: Any = (chosen, folded)) -> Sample:
                (weights, ids), folded = use
                given = weights * (factor if folded else 1.0)
                keywords = {"routed_scaling_factor": None if folded else factor, "filter_expert": False}
                used = {name: value for name, value in keywords.items() if name in known}
                out = function(hidden.clone(), up, down, given, ids, **used)
                return Sample(out[:, :EXPERTS].float())

            def plain(factor: float, use: Any = chosen) -> Sample:
                return Sample(factor * table(use[0], use[1], EXPERTS))

            yield Case({"top_k": top_k, "fold": folded}, 1.0, kernel, plain)


def interpreted(module: Any) -> dict[str, Any]:
    """What of a module cannot run without a compiler for CUDA, in torch: activations, which scale nothing."""

    def silu_and_mul(gated: Any, out: Any = None, *_: Any, **__: Any) -> Any:
        gate, up = gated.float().chunk(2, -1)
        done = (torch.nn.functional.silu(gate) * up).to(gated.dtype)
        return done if out is None else out.copy_(done)

    return {"silu_and_mul": silu_and_mul} if hasattr(module, "silu_and_mul") else {}


def _scores(scoring: str, logits: Any) -> Any:
    if scoring == "softmax":
        return logits.softmax(-1)
    return logits.sigmoid() if scoring == "sigmoid" else torch.nn.functional.softplus(logits).sqrt()
