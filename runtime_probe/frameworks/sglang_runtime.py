"""The process-wide state in which SGLang's blocks are built and called, entered through its own context objects."""

from __future__ import annotations

import contextlib
import importlib
import types
from collections.abc import Iterator, Mapping
from typing import Any
from unittest import mock

from moelint.runtime_probe.frameworks import sglang_groups

RANKS = 4
"""Expert-parallel ranks in a configuration with an all-to-all back end; this process is rank 0."""


_GLOBALS = {
    "a2a_backend": "MOE_A2A_BACKEND",
    "runner_backend": "MOE_RUNNER_BACKEND",
    "tbo_enabled": "IS_TBO_ENABLED",
    "sbo_enabled": "IS_SBO_ENABLED",
}
"""Where releases without flags keep them: in the module of the expert layer's helpers."""
_LOCATIONS = "_global_expert_location_metadata"


class Runtime:
    """The release's runtime context, with a server's arguments installed. Earlier releases have less of a context."""

    def __init__(self) -> None:
        self._context = importlib.import_module("sglang.srt.runtime_context")
        self._utils = importlib.import_module("sglang.srt.layers.moe.utils")
        self._locations = importlib.import_module("sglang.srt.eplb.expert_location")
        context = self._context.get_context()
        if hasattr(context, "override_server_args"):
            self._arguments = context.override_server_args().install()
        else:
            home = importlib.import_module("sglang.srt.server_args")
            self._arguments = home.ServerArgs(model_path="dummy")
            home.set_global_server_args_for_scheduler(self._arguments)

    @contextlib.contextmanager
    def entered(self, a2a: str, fused: int, waterfill: bool) -> Iterator[None]:
        """A server with this all-to-all back end, so many fused shared experts, and the Waterfill balancer or not."""
        context, utils = self._context, self._utils
        ranks = 1 if a2a == "none" else RANKS
        with contextlib.ExitStack() as stack:
            values = {
                "a2a_backend": utils.MoeA2ABackend(a2a),
                "runner_backend": utils.MoeRunnerBackend("auto"),
                "tbo_enabled": False,
                "sbo_enabled": False,
                "disable_shared_experts_fusion": not fused,
            }
            self._enter_flags(stack, values)
            self._enter_locations(stack)
            groups = sglang_groups.alone(ranks)
            parallel = _known({**_parallel(ranks), **groups}, parallel_fields(context))
            stack.enter_context(context.get_parallel().override(**parallel))
            stack.enter_context(sglang_groups.in_globals(groups))
            _override(stack, context, "get_exec", "moe", {"enable_waterfill": waterfill})
            shared = _shared_experts(fused, waterfill)
            if shared is not None:
                stack.enter_context(context.get_model().override(shared_experts=shared))
            yield

    def experts_place(self) -> dict[str, Any]:
        """What earlier releases are told beside the model, and later ones ask the context for: arguments and rank."""
        parallel = self._context.get_parallel()
        return {
            "server_args": self._arguments,
            "moe_ep_size": parallel.moe_ep_size,
            "moe_ep_rank": parallel.moe_ep_rank,
        }

    def _enter_locations(self, stack: contextlib.ExitStack) -> None:
        """Experts are where the model has them: in the context or, in releases that keep it there, in a global."""
        where = types.SimpleNamespace()
        _override(stack, self._context, "get_resources", "", {"expert_location_metadata": where})
        if hasattr(self._locations, _LOCATIONS):
            stack.enter_context(mock.patch.object(self._locations, _LOCATIONS, where))

    def _enter_flags(self, stack: contextlib.ExitStack, values: Mapping[str, Any]) -> None:
        taken = _override(stack, self._context, "get_flags", "moe", values)
        for name, value in values.items():
            if name not in taken and name in _GLOBALS and hasattr(self._utils, _GLOBALS[name]):
                stack.enter_context(mock.patch.object(self._utils, _GLOBALS[name], value))
            elif name not in taken and name in getattr(type(self._arguments), "__dataclass_fields__", ()):
                stack.callback(object.__setattr__, self._arguments, name, getattr(self._arguments, name))
                object.__setattr__(self._arguments, name, value)


def _override(stack: contextlib.ExitStack, context: Any, getter: str, part: str, values: Mapping[str, Any]) -> set[str]:
    """Override what a group of the context has of the values, and say what that was; nothing without the group."""
    get = getattr(context, getter, None)
    group = get() if get is not None else None
    group = getattr(group, part, None) if part and group is not None else group
    if group is None:
        return set()
    kind = type(group)
    names = (
        getattr(kind, "__struct_fields__", None)
        or getattr(kind, "__dataclass_fields__", None)
        or vars(kind).get("_fields")
    )
    names = names or getattr(group, "_fields", values)
    known = _known(values, names)
    stack.enter_context(group.override(**known))
    return set(known)


def parallel_fields(context: Any) -> Any:
    """The names that the release's parallel context has."""
    fields = getattr(context, "_parallel_fields", None)
    return fields() if fields is not None else context._PARALLEL_FIELDS


def _parallel(ranks: int) -> dict[str, int]:
    sizes = {"moe_ep_size": ranks, "tp_size": ranks, "attn_tp_size": ranks}
    ones = dict.fromkeys(("moe_tp_size", "moe_dp_size", "attn_dp_size", "attn_cp_size"), 1)
    own = dict.fromkeys(
        ["tp_rank", "moe_ep_rank", "moe_tp_rank", "attn_tp_rank", "attn_dp_rank", "attn_cp_rank", "attn_dcp_rank"], 0
    )
    return {**sizes, **ones, **own}


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
