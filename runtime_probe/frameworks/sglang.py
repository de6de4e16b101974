"""SGLang: where its runtime state lives, how its expert layer is called, which platform applies the factor where.

The runner contract on the tensor-parallel path: the Triton combine of CUDA and of ROCm without aiter multiplies by the
factor unless the experts fold it; with aiter it does not; nor on the CPU. An all-to-all path's runners never do.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import os
import sys
import types
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

import torch

from moelint.runtime_probe import mount, platforms, reading
from moelint.runtime_probe.emitter import Inconclusive
from moelint.runtime_probe.engine import BlockProbe
from moelint.runtime_probe.fabricate import Fabricator
from moelint.runtime_probe.frameworks import aiter
from moelint.runtime_probe.frameworks.base import Configuration, Framework
from moelint.runtime_probe.frameworks.sglang_experts import make_experts
from moelint.runtime_probe.frameworks.sglang_runtime import RANKS, Runtime
from moelint.runtime_probe.invoke import patch_modules
from moelint.runtime_probe.pipelines import Pipelines
from moelint.runtime_probe.records import FORCED, LATENT, REACHED, Job
from moelint.runtime_probe.standins import Batch, Inert, Leaves, Projection, SharedExpert, one_hot, routing
from moelint.runtime_probe.tiny import EXPERTS, SOFTMAX, UNGROUPED

PLATFORMS = ("cuda", "rocm", "hip", "cpu")
_A2A = {"cuda": ("deepep",), "rocm": ("mori", "deepep"), "hip": ("deepep",), "cpu": ("deepep",)}
_APPLYING = ("cuda", "hip")
"""Platforms whose Triton combine multiplies by the factor."""
FUNCTIONAL = ("fused_moe", "fused_experts", "outplace_fused_experts", "inplace_fused_experts")
_SQRT = dict.fromkeys(["scoring_func", "score_function", "score_func"], "sqrtsoftplus")
_ROUTERS: dict[str, dict[str, Any]] = {
    "unbiased": SOFTMAX | {"topk_method": "group_limited_greedy"},
    "ungrouped": UNGROUPED,
    "sqrtsoftplus": {**_SQRT, "model_type": "deepseek_v4", "is_deepseek_v4": True},
    "hash": {**_SQRT, "model_type": "deepseek_v4", "is_deepseek_v4": True, "num_hash_layers": 1},
    "unified": {},
}
_HASH_ENV = "SGLANG_OPT_USE_FUSED_HASH_TOPK"
_UNIFIED_ENV = "SGLANG_OPT_USE_JIT_KERNEL_GROUPED_TOPK"


class SGLang(Framework):
    """One release on one platform, real or emulated."""

    kept = frozenset({"ReplicatedLinear", "ColumnParallelLinear", "RowParallelLinear", "TopK", "HashTopK"})

    def __init__(self, job: Job) -> None:
        self._job = job
        self._pipelines: Pipelines | None = None
        self._emulated = job.platform != "cpu" and not (job.platform == "cuda" and job.device != "cpu")
        emulation = self._emulate()
        mount.mount("sglang", job.root)
        self._fabricator = Fabricator((job.root,), ("sglang",), ("aiter",) if job.platform == "rocm" else ())
        sys.meta_path.append(self._fabricator)
        _let_dummies_register()
        if job.platform == "rocm":
            aiter.install()
        importlib.import_module("sglang.srt.layers.moe.topk")
        self._runtime = Runtime()
        self._forward_mode = importlib.import_module("sglang.srt.model_executor.forward_batch_info").ForwardMode
        if emulation is not None:
            if job.device != "cpu":
                self._import_units()
            emulation.restore(device=job.device)

    def _import_units(self) -> None:
        """Freeze the platform's constants before the device is real again; what fails, fails again when measured."""
        for name in {unit.module for unit in self._job.units}:
            with contextlib.suppress(Exception):
                importlib.import_module(name)

    def _emulate(self) -> platforms.Emulation | None:
        on_cpu = self._job.device == "cpu"
        if on_cpu:
            os.environ[_HASH_ENV] = "0"
        if not self._emulated:
            return None
        if self._job.platform == "cuda":
            return platforms.Emulation(platforms.CUDA, interpret=on_cpu)
        os.environ["SGLANG_USE_AITER"] = "1" if self._job.platform == "rocm" else "0"
        return platforms.Emulation(platforms.ROCM, interpret=on_cpu)

    def about(self) -> dict[str, Any]:
        """What was fabricated, with the place that needed it."""
        root = self._job.root
        places = {name: place.removeprefix(root) for name, place in self._fabricator.fabricated.items()}
        return {"fabricated": places, "platform": self._job.platform, "emulated": self._emulated}

    def configurations(self, cls: type, overlay: Mapping[str, Any]) -> list[Configuration]:
        """Every router x back end x fold wish x fused slots."""
        return [
            {
                **({"router": router} if router else {}),
                **({"a2a": backend} if backend != "none" else {}),
                **({"fold": True} if fold else {}),
                **({"fused": fused} if fused else {}),
                **({"waterfill": True} if waterfill else {}),
            }
            for router in ("", *_ROUTERS)
            for backend in ("none", *_A2A[self._job.platform])
            for fold in (False, True)
            for fused, waterfill in ((0, False), (1, False), (1, True))
            if not (waterfill and backend == "none")
        ]

    def shown(self, configuration: Configuration) -> dict[str, Any]:
        """All dimensions, defaults too."""
        return {"a2a": "none", "fold": False, "fused": 0, "router": "default", **configuration}

    def router_overlay(self, configuration: Configuration) -> Mapping[str, Any]:
        """The fields that make the block choose this router."""
        return _ROUTERS.get(str(configuration.get("router", "")), {})

    def applies(self, cls: type, built: Any, configuration: Configuration) -> bool:
        """Leave out routers that the block cannot choose and slots that it does not fuse."""
        router = str(configuration.get("router", ""))
        if router == "unified" and (self._job.platform == "cpu" or "n_group" not in built.reads):
            return False
        if router not in ("", "unified") and not (set(_ROUTERS[router]) - {"model_type"}) & (
            built.reads | _parameters(cls)
        ):
            return False
        if configuration.get("fused") and not _fused(built.block):
            return False
        functional = not hasattr(getattr(built.block, "experts", None), "should_fuse_routed_scaling_factor_in_topk")
        return not functional or not (configuration.get("fold") or configuration.get("a2a"))

    @contextlib.contextmanager
    def entered(self, configuration: Configuration) -> Any:
        """The runtime context and, for the unified router, its switch."""
        with contextlib.ExitStack() as stack:
            if configuration.get("router") == "unified":
                switches = importlib.import_module("sglang.srt.environ").envs
                stack.enter_context(getattr(switches, _UNIFIED_ENV).override(True))
            stack.enter_context(
                self._runtime.entered(
                    str(configuration.get("a2a", "none")),
                    int(configuration.get("fused", 0)),
                    bool(configuration.get("waterfill")),
                )
            )
            yield

    def stand_ins(self, configuration: Configuration, leaves: Leaves) -> tuple[type, type]:
        """Experts that fold or not, whose runner applies the factor as the platform's does."""
        fold = bool(configuration.get("fold"))
        applies = self._job.platform in _APPLYING and not configuration.get("a2a") and not fold
        shared = type("Shared", (SharedExpert,), {"leaves": leaves})
        return make_experts(leaves, fold=fold, applies=applies), shared

    def leaf_patches(self, experts: type) -> Mapping[str, Any]:
        """Linear layers that need a distributed group, expert layers, and memory of several GPUs."""
        return {
            "get_moe_impl_class": lambda *_, **__: experts,
            "FusedMoE": experts,
            "EPMoE": experts,
            "DeepEPMoE": experts,
            "ReplicatedLinear": Projection,
            "use_symmetric_memory": Inert,
        }

    def after_build(self, block: Any, configuration: Configuration) -> None:
        """What loading does: the Waterfill balancer is attached, runner back ends are bound."""
        if not configuration.get("waterfill"):
            return
        setup = importlib.import_module("sglang.srt.model_executor.model_runner_components.moe_ep_setup")
        config = types.SimpleNamespace(hf_config=types.SimpleNamespace(n_routed_experts=EXPERTS))
        told = {"model": block, "model_config": config, **self._runtime.experts_place()}
        asked = inspect.signature(setup.prepare_moe_topk).parameters
        setup.prepare_moe_topk(**{name: value for name, value in told.items() if name in asked})

    def shared_ids(self, block: Any, configuration: Configuration) -> list[int]:
        """With an all-to-all back end every rank has its own slots behind its own experts."""
        fused = _fused(block)
        if not configuration.get("a2a"):
            return list(range(EXPERTS, EXPERTS + fused))
        local = EXPERTS // RANKS
        return [rank * (local + fused) + local + slot for rank in range(RANKS) for slot in range(fused)]

    def enter_call(self, cls: type, block: Any, leaves: Leaves, force: bool, stack: contextlib.ExitStack) -> None:
        """Functional experts, symmetric memory, and on demand a second stream and a graph being captured."""
        for name in FUNCTIONAL:
            runner = partial(_functional, leaves, self._job.platform in _APPLYING)
            patch_modules(cls, name, runner, stack, types.FunctionType)
        patch_modules(cls, "use_symmetric_memory", Inert, stack)
        if not force:
            return
        if getattr(block, "ep_size", 2) in (None, 1):
            stack.enter_context(mock.patch.object(block, "ep_size", 2))
        patch_modules(cls, "get_is_capture_mode", lambda *_: True, stack)
        if hasattr(block, "alt_stream"):
            stream: Any = Inert() if self._job.device == "cpu" else torch.cuda.Stream()
            old, block.alt_stream = block.alt_stream, stream
            stack.callback(setattr, block, "alt_stream", old)

    def has_edges(self, configuration: Configuration) -> bool:
        """The plain tensor-parallel and all-to-all routes."""
        return not set(configuration) - {"a2a"}

    def has_pipeline(self, configuration: Configuration) -> bool:
        """Two-batch overlap needs an all-to-all back end."""
        return bool(configuration.get("a2a"))

    def pipeline(self, operations: Sequence[str]) -> Sequence[str]:
        """As the two-batch overlap's strategies list them."""
        if self._pipelines is None:
            self._pipelines = Pipelines(Path(self._job.root) / "srt")
        return self._pipelines.order(operations)

    def grade(self, force: bool) -> str:
        """Only CUDA's models make a second stream; pretending one elsewhere shows code that nothing runs."""
        if not force:
            return REACHED
        return FORCED if self._job.platform == "cuda" else LATENT

    def remarks(self, cls: type, built: Any, configuration: Configuration) -> list[str]:
        """What the models of the block say against fusing shared experts in a configuration as small as this."""
        reasons = _fusion_refusals(cls, built.config) if configuration.get("fused") else []
        return [f"fusion is forced, the model says: {reason}" for reason in reasons[:1]]

    def batch(self) -> Any:
        """An extend batch without padding."""
        return Batch(forward_mode=self._forward_mode.EXTEND, moe_num_token_non_padded=lambda: None)

    def latent(self, routes: list[str]) -> list[str]:
        """Routes of this platform; the other platforms' routes cannot run here."""
        others = ("cpu", "npu", "xpu", "musa", "mega", "dwdp", "lora", "fp4", "ascend", "dispatch")
        return [name for name in routes if name != reading.PIPELINE and not any(word in name for word in others)]

    def latent_configurations(self, route: str) -> list[Configuration]:
        """An all-to-all route with its back end, others without."""
        with_a2a: list[Configuration] = [{"a2a": backend} for backend in reversed(_A2A[self._job.platform])]
        return [*with_a2a, {}] if "deepep" in route or "a2a" in route else [{}, *with_a2a]

    def emulations(self, configuration: Configuration) -> tuple[str, ...]:
        """The platform, its routers, and the expert layer's runner, whose contract is stated here."""
        found = ["runner contract"]
        if self._emulated:
            found.append(f"platform:{self._job.platform}")
        if self._job.platform == "rocm":
            found += aiter.EMULATED
        if configuration.get("a2a", "none") != "none":
            found.append(f"dispatcher:{configuration['a2a']}")
        return tuple(found)


def _let_dummies_register() -> None:
    """Model files register image processors while they are imported; without Pillow these are dummies that raise."""
    try:
        from transformers.utils.import_utils import DummyObject
    except ImportError:
        return
    plain = DummyObject.__getattribute__

    def getattribute(cls: type, name: str) -> Any:
        return (lambda *_, **__: None) if name == "register" else plain(cls, name)

    DummyObject.__getattribute__ = getattribute


def _functional(leaves: Leaves, applies: bool, *arguments: Any, **keywords: Any) -> Any:
    """`fused_moe(hidden, w1, w2, topk_output, runner_config, ...)`: a runner as a function, with the same contract."""
    values = [*arguments, *keywords.values()]
    place = next(number for number, one in enumerate(values) if isinstance(one, torch.Tensor) and one.dim() == 2)
    routed = routing(values[place + 1 :])
    if routed is None:
        raise Inconclusive("functional experts are called without a top-k output")
    out = one_hot(values[place], routed[1], routed[0], leaves)
    factors = [getattr(one, "routed_scaling_factor", None) for one in values] if applies else []
    factor = next((one for one in factors if one is not None), None)
    return out if factor is None else out * factor


def _fused(block: Any) -> int:
    experts = getattr(block, "experts", None)
    keywords = getattr(experts, "keywords", {})
    return int(keywords.get("num_fused_shared_experts") or getattr(block, "num_fused_shared_experts", 0) or 0)


def _parameters(cls: type) -> set[str]:
    return set(inspect.signature(cls.__init__).parameters)  # type: ignore[misc]


def _fusion_refusals(cls: type, config: Any) -> list[str]:
    """The reasons of the block's models, if all of them refuse to fuse their shared experts."""
    answers = []
    for module in reading.modules(cls):
        for model in vars(module).values():
            ask = getattr(model, "shared_experts_fusion_disable_reason", None)
            if isinstance(model, type) and model.__module__ == module.__name__ and ask is not None:
                with contextlib.suppress(Exception):
                    answers.append(ask(config, None))
    return [str(answer) for answer in answers] if all(answer is not None for answer in answers) else []


def make(job: Job) -> BlockProbe:
    """Import the release for the job's platform. Raises ValueError for a platform that is not known."""
    if job.platform not in PLATFORMS:
        raise ValueError(f"no platform {job.platform!r}; there are: {', '.join(PLATFORMS)}")
    return BlockProbe(job, SGLang(job))
