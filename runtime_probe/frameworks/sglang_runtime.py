"""The process-wide state in which SGLang's blocks are built and called, entered through its own context objects."""

from __future__ import annotations

import contextlib
import importlib
import types
from collections.abc import Iterator, Mapping
from typing import Any

RANKS = 4
"""Expert-parallel ranks in a configuration with an all-to-all back end; this process is rank 0."""


class Runtime:
    """The release's runtime context, with a server's arguments installed."""

    def __init__(self) -> None:
        self._context = importlib.import_module("sglang.srt.runtime_context")
        self._arguments = self._context.get_context().override_server_args()
        self._arguments.install()

    @contextlib.contextmanager
    def entered(self, a2a: str, fused: int, waterfill: bool) -> Iterator[None]:
        """A server with this all-to-all back end, so many fused shared experts, and the Waterfill balancer or not."""
        context = self._context
        utils = importlib.import_module("sglang.srt.layers.moe.utils")
        ranks = 1 if a2a == "none" else RANKS
        with contextlib.ExitStack() as stack:
            flags = context.get_flags().moe
            values = {
                "a2a_backend": utils.MoeA2ABackend(a2a),
                "runner_backend": utils.MoeRunnerBackend("auto"),
                "tbo_enabled": False,
                "sbo_enabled": False,
                "disable_shared_experts_fusion": not fused,
            }
            stack.enter_context(flags.override(**_known(values, type(flags).__struct_fields__)))
            stack.enter_context(context.get_resources().override(expert_location_metadata=types.SimpleNamespace()))
            stack.enter_context(context.get_parallel().override(**_known(_parallel(ranks), parallel_fields(context))))
            moe = context.get_exec().moe
            stack.enter_context(moe.override(**_known({"enable_waterfill": waterfill}, moe._fields)))
            shared = _shared_experts(fused, waterfill)
            if shared is not None:
                stack.enter_context(context.get_model().override(shared_experts=shared))
            yield


def parallel_fields(context: Any) -> Any:
    """The names that the release's parallel context has."""
    fields = getattr(context, "_parallel_fields", None)
    return fields() if fields is not None else context._PARALLEL_FIELDS


def _parallel(ranks: int) -> dict[str, Any]:
    group = types.SimpleNamespace(world_size=ranks, rank_in_group=0, device_group=None)
    sizes = {"moe_ep_size": ranks, "tp_size": ranks, "attn_tp_size": ranks}
    ones = dict.fromkeys(("moe_tp_size", "moe_dp_size", "attn_dp_size", "attn_cp_size"), 1)
    own = dict.fromkeys(
        ["tp_rank", "moe_ep_rank", "moe_tp_rank", "attn_tp_rank", "attn_dp_rank", "attn_cp_rank", "attn_dcp_rank"], 0
    )
    return {**sizes, **ones, **own, "tp_group": group, "attn_tp_group": group}


def _shared_experts(fused: int, waterfill: bool) -> Any:
    try:
        module = importlib.import_module("sglang.srt.configs.shared_experts")
    except ImportError:
        return None
    return module.SharedExpertsConfig(
        fusion_disabled=not fused, num_fused_shared_experts=fused, use_waterfill=bool(fused and waterfill)
    )


def _known(values: Mapping[str, Any], fields: Any) -> dict[str, Any]:
    """The values that this release has a field for."""
    return {name: value for name, value in values.items() if name in fields}
