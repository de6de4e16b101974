"""A stand-in for SGLang's expert layer: the interface that blocks use, with one-hot experts behind it."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import torch
from torch import nn

from moelint.runtime_probe.standins import Leaves, listed_expert, one_hot, routing


class Dispatcher:
    """Sends nothing anywhere and returns complete rows, as a combine does."""

    def dispatch_a(self, hidden_states: Any = None, topk_output: Any = None, **_: Any) -> None:
        """Take what would be sent."""
        self._sent = (hidden_states, topk_output)

    def dispatch_b(self, **_: Any) -> Any:
        """What was sent, as received."""
        return self._sent

    def combine_a(self, combine_input: Any = None, **_: Any) -> None:
        """Take the experts' output."""
        self._combined = combine_input

    def combine_b(self, **_: Any) -> Any:
        """The complete rows."""
        return self._combined

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("register_"):
            return lambda *_: types.SimpleNamespace(remove=lambda: None)
        raise AttributeError(name)


def make_experts(leaves: Leaves, *, fold: bool, applies: bool) -> type:
    """The class for one configuration: do the experts wish the factor folded, does their runner apply it."""

    class LinearExperts(nn.Module):
        """Expert number e puts its weight on channel e."""

        should_fuse_routed_scaling_factor_in_topk = fold
        runner_backend = None
        supports_deferred_finalize = False

        def __init__(self, *_: Any, **keywords: Any) -> None:
            super().__init__()
            self.keywords = keywords
            self.num_experts = self.num_local_experts = keywords.get("num_experts")
            self.top_k = keywords.get("top_k")
            self.routing_method_type = keywords.get("routing_method_type")
            self.factor = keywords.get("routed_scaling_factor")
            self.quant_method, self.quant_config = object(), keywords.get("quant_config")
            self.moe_runner_config = types.SimpleNamespace(
                inplace=False, routed_scaling_factor=self.factor, apply_router_weight_on_input=False
            )
            self.dispatcher = Dispatcher()
            self.placeholder = nn.Parameter(torch.zeros(1), requires_grad=False)
            self.number = leaves.listed
            leaves.listed += 1

        def forward(self, hidden_states: Any = None, *arguments: Any, **keywords: Any) -> Any:
            """Weigh and, where the runner does, multiply by the factor. One of a list of experts does neither."""
            routed = routing((*arguments, *keywords.values()))
            if routed is None:
                return listed_expert(hidden_states, self.number, leaves)
            out = one_hot(hidden_states, routed[1], routed[0], leaves)
            return out * self.factor if applies and self.factor is not None else out

        forward_impl = forward

        def run_moe_core(self, dispatch_output: Any = None) -> Any:
            """The experts between dispatch and combine."""
            return self.forward(*dispatch_output)

        def clear_overlap_args(self) -> None:
            """Nothing overlaps."""

    return LinearExperts
