"""SGLang on several ranks: its groups, its parallel state as each rank sees it, its experts' and boundaries' contracts.

The experts' contract: without an all-to-all back end a rank has a partial sum over the expert-parallel and the expert
tensor-parallel group, of the same tokens on every rank. With one, rows travel to the experts and come back complete,
and every rank has tokens of its own. The boundary's contract, where the release has functions for it, is theirs.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from moelint.runtime_probe.emitter import Inconclusive
from moelint.runtime_probe.frameworks import sglang, sglang_groups
from moelint.runtime_probe.frameworks.base import Configuration
from moelint.runtime_probe.frameworks.sglang_experts import make_experts
from moelint.runtime_probe.frameworks.sglang_runtime import parallel_fields
from moelint.runtime_probe.invoke import patch_modules
from moelint.runtime_probe.ranks.engine import RankProbe
from moelint.runtime_probe.ranks.group import Group
from moelint.runtime_probe.ranks.shards import Layout, Shards
from moelint.runtime_probe.ranks.world import World
from moelint.runtime_probe.records import Job
from moelint.runtime_probe.standins import Inert

_UTILS = "sglang.srt.layers.moe.utils"
_NVIDIA = ("deepep", "mooncake", "nixl", "flashinfer", "deepep_v2", "pplx", "flashinfer_megamoe")
_ALL_TO_ALL = {"cuda": _NVIDIA, "rocm": ("mori", "deepep", "mooncake"), "hip": ("mori", "deepep"), "cpu": ("deepep",)}
"""The back ends of a platform that send rows to the experts' ranks and combine them there. `megamoe` is none of them:
its dispatcher sends nothing, and only models with a path of their own for it can use it."""
_REGISTERED = ("deepep_v2",)
"""The back ends that a server refuses unless the model's module has registered itself for them."""
_APPLYING = ("flashinfer_megamoe",)
"""The all-to-all back ends whose runner multiplies by the factor, as the one without any does."""


class RankedSGLang(sglang.SGLang):
    """One release on one platform, whose blocks run on several ranks."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._context = importlib.import_module("sglang.srt.runtime_context")
        self._utils = importlib.import_module(_UTILS)

    def rank_configurations(self, world: int, block: type | None = None) -> list[tuple[Configuration, Layout]]:
        """Each way to share experts without an all-to-all back end, then every all-to-all back end of the platform, or
        those that the block can have."""
        plain = [size for size in range(1, world + 1) if world % size == 0]
        known = {one.value for one in self._utils.MoeA2ABackend}
        backends = [name for name in _ALL_TO_ALL[self._job.platform] if name in known]
        if block is not None:
            said = Path(str(sys.modules[block.__module__].__file__)).read_text(encoding="utf-8")
            backends = [name for name in backends if name not in _REGISTERED or name in said]
        return [
            *(({"ep": size}, Layout(world, size)) for size in plain),
            *(({"a2a": name, "ep": world}, Layout(world, world, all_to_all=True)) for name in backends),
        ]

    def shown(self, configuration: Configuration) -> dict[str, Any]:
        """The dimensions that are varied over ranks."""
        return {"a2a": "none", **configuration}

    @contextlib.contextmanager
    def as_rank(self, world: World, layout: Layout, rank: int) -> Iterator[None]:
        """The parallel state as this rank sees it, in the context and in the globals."""
        groups = {name: self._group(world, layout, rank, axis) for name, axis in sglang_groups.AXES.items()}
        values = {**_sizes(layout), **_places(layout, rank), **groups}
        fields = parallel_fields(self._context)
        with contextlib.ExitStack() as stack:
            known = {name: value for name, value in values.items() if name in fields}
            stack.enter_context(self._context.get_parallel().override(**known))
            stack.enter_context(sglang_groups.in_globals(groups))
            yield

    def _group(self, world: World, layout: Layout, rank: int, axis: str) -> Group:
        return Group(world, rank, layout.members(rank, axis), axis)

    def sharded_experts(self, configuration: Configuration, leaves: Shards) -> type:
        """Experts whose runner applies the factor as the platform's does, sharded over the ranks."""
        by_runner = not leaves.layout.all_to_all or configuration.get("a2a") in _APPLYING
        applies = self._job.platform in ("cuda", "hip") and by_runner
        plain = make_experts(leaves, fold=False, applies=False)

        def forward(self: Any, hidden_states: Any = None, topk_output: Any = None, **_: Any) -> Any:
            if hasattr(topk_output, "to_standard"):
                topk_output = topk_output.to_standard(layer_id=0)
            out = leaves.routed(hidden_states, topk_output.topk_ids, topk_output.topk_weights)
            if applies and self.factor is not None:
                out = out * self.factor
            reduces = self.keywords.get("reduce_results") and not leaves.layout.all_to_all
            return leaves.group("tp").all_reduce(out) if reduces else out

        return type("ShardedExperts", (plain,), {"forward": forward, "forward_impl": forward})

    def layer_patches(self, cls: type) -> dict[str, Any]:
        """What a layer has beside its block: communicators and boundaries, by their contract."""
        return {
            "LayerCommunicator": _Communicator,
            "LayerScatterModes": _ScatterModes,
            "append_stages": self._stages,
            "make_stages": self._stages,
            "declare_attn": lambda **keywords: _Declared(False, keywords),
            "declare_ffn": lambda **keywords: _Declared(True, keywords),
        }

    def _stages(self, *stages: tuple[Any, ...], **_: Any) -> tuple[_Boundary, ...]:
        return tuple(_Boundary(self.completed if stage[0].owes else None) for stage in stages)

    def completed(self, output: Any) -> Any:
        """The output once the boundary after the block has done what is its to do, in releases where that is a sum."""
        owed = self._owned()
        if owed is None or self._utils.is_moe_input_scattered_across_dp_ranks():
            return output
        return owed(output)

    def _owned(self) -> Any:
        """What completes a block's output in releases whose boundaries own the sum, None in others."""
        return getattr(self._utils, "sum_post_experts_output", None)

    def completes(self, cls: type) -> bool:
        """Whether a boundary takes the block's output. Raises Inconclusive where its layer decides who sums."""
        home = sys.modules[cls.__module__]
        if not hasattr(home, "declare_ffn") and not hasattr(home, "append_stages"):
            return False
        if "output_complete" in Path(str(home.__file__)).read_text(encoding="utf-8"):
            raise Inconclusive("the layer decides whether the block or its boundary completes the sum")
        return True

    def enter_run(self, cls: type, stack: contextlib.ExitStack) -> None:
        """Patches for a run on all ranks."""

        def refuse(*_: Any, **__: Any) -> Any:
            raise Inconclusive("experts that are a function of their weights are not measured on several ranks")

        for name in sglang.FUNCTIONAL:
            patch_modules(cls, name, refuse, stack, types.FunctionType)
        patch_modules(cls, "use_symmetric_memory", Inert, stack)

    def emulations(self, configuration: Configuration) -> tuple[str, ...]:
        """Beside those of one rank: the contracts that are stated here."""
        return (*super().emulations(configuration), "layer boundary contract")


class _Declared:
    def __init__(self, ffn: bool, keywords: Mapping[str, Any]) -> None:
        self.owes = ffn and bool(keywords.get("sparse")) and not keywords.get("output_complete")


class _Boundary:
    """Takes a stage's output, and completes it where the declaration leaves that to it."""

    def __init__(self, complete: Callable[[Any], Any] | None) -> None:
        self._complete = complete
        self.fuse_mlp_allreduce = self.mlp_reduce_scatter = False

    def prepare(self, hidden: Any, *_: Any, **__: Any) -> Any:
        """The stage's input: this rank's tokens."""
        return hidden

    def finish(self, hidden: Any, *_: Any, **__: Any) -> Any:
        """The stage's output."""
        return self._complete(hidden) if self._complete is not None else hidden

    @contextlib.contextmanager
    def exit(self, *_: Any, **__: Any) -> Iterator[_Boundary]:
        """The boundary's own decision: nothing is deferred."""
        yield self


class _ScatterModes:
    @classmethod
    def init_new(cls, **_: Any) -> _ScatterModes:
        """No modes: the communicator that takes them does not ask."""
        return cls()


class _Communicator:
    """A layer communicator that defers nothing and moves nothing: every rank has the tokens it needs."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def prepare_attn(self, hidden: Any, residual: Any, *_: Any, **__: Any) -> Any:
        """The hidden states, and the residual apart from them."""
        return hidden, residual

    prepare_mlp = postprocess_layer = prepare_attn

    def should_fuse_mlp_allreduce_with_next_layer(self, *_: Any) -> bool:
        """False: the next layer is not here."""
        return False

    def should_use_reduce_scatter(self, *_: Any) -> bool:
        """False: no attention data parallelism."""
        return False


def _sizes(layout: Layout) -> dict[str, int]:
    ones = dict.fromkeys(("moe_dp_size", "attn_dp_size", "attn_cp_size", "attn_dcp_size", "dcp_size", "pp_size"), 1)
    wide = dict.fromkeys(("world_size", "tp_size", "attn_tp_size"), layout.world)
    return {**ones, **wide, "moe_ep_size": layout.experts, "moe_tp_size": layout.world // layout.experts}


def _places(layout: Layout, rank: int) -> dict[str, int]:
    zeros = ("moe_dp_rank", "attn_dp_rank", "attn_cp_rank", "attn_dcp_rank", "dcp_rank", "pp_rank")
    return {
        **dict.fromkeys(zeros, 0),
        **dict.fromkeys(("world_rank", "tp_rank", "attn_tp_rank"), rank),
        "moe_ep_rank": layout.members(rank, "ep").index(rank),
        "moe_tp_rank": layout.members(rank, "moe_tp").index(rank),
    }


def groups(layouts: Sequence[Layout]) -> list[tuple[int, ...]]:
    """Every group that one of the layouts has, the same on every rank."""
    found = {
        layout.members(rank, axis): None
        for layout in layouts
        for axis in ("tp", "ep", "moe_tp")
        for rank in range(layout.world)
    }
    return list(found)


def make(job: Job, world: World) -> RankProbe:
    """Import the release for the job's platform. Raises ValueError for a platform that is not known."""
    if job.platform not in sglang.PLATFORMS:
        raise ValueError(f"no platform {job.platform!r}; there are: {', '.join(sglang.PLATFORMS)}")
    framework = RankedSGLang(job)
    world.prepare(groups([layout for _, layout in framework.rank_configurations(world.size)]))
    return RankProbe(job, world, framework)
