"""Measure a block on several ranks: build it on each with sharded stand-ins, call it, read what every rank has."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from moelint.runtime_probe import invoke, measure
from moelint.runtime_probe.build import Built, Recipe, build
from moelint.runtime_probe.emitter import Emitter, Inconclusive
from moelint.runtime_probe.frameworks.base import Configuration
from moelint.runtime_probe.ranks import owners
from moelint.runtime_probe.ranks.judging import Had, judge, leaves_its_sum
from moelint.runtime_probe.ranks.shards import AMPLITUDE, MOST, Layout, Shards, shared_class
from moelint.runtime_probe.ranks.world import Threads, World
from moelint.runtime_probe.records import REACHED, UNREACHED, Expected, Job, Measurement, Unit
from moelint.runtime_probe.standins import SharedExpert
from moelint.runtime_probe.tiny import HIDDEN, OVERLAYS, TOKENS

if TYPE_CHECKING:
    from moelint.runtime_probe.ranks.sglang import RankedSGLang


class _Subject:
    """What is built and called: a block, or the layer that owns its shared expert."""

    def __init__(self, cls: type, block: type) -> None:
        self.cls, self.block = cls, block
        self.is_layer = cls is not block
        self.overlay: Mapping[str, Any] = {}
        self.own_config = True
        self.baseline: float | None = None
        self.guessed: dict[str, Any] = {}


class RankProbe:
    """Measures the blocks of one framework on several ranks."""

    def __init__(self, job: Job, world: World, framework: RankedSGLang) -> None:
        self._job, self._world, self._framework = job, world, framework
        self._dtype = getattr(torch, job.dtype)

    def about(self) -> dict[str, Any]:
        """Versions and fabrications, for the report."""
        return {"torch": torch.__version__, "world": self._world.size, **self._framework.about()}

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """All cells of the block and of the layers that own its shared expert. Raises what a rank cannot survive."""
        block: type = getattr(importlib.import_module(unit.module), unit.block)
        for cls in (block, *owners.owners(block)):
            target = replace(unit, block=cls.__name__)
            if not self._job.only or target.key == self._job.only.partition("|")[0]:
                yield from self._subject(target, _Subject(cls, block))

    def _subject(self, unit: Unit, subject: _Subject) -> Iterator[Measurement]:
        failure = self._learn(subject)
        for configuration, layout in self._framework.rank_configurations(self._world.size, subject.block):
            emit = Emitter(self._job, self._framework, unit, {**configuration, "world": self._world.size})
            if not emit.is_wanted():
                continue
            started = time.monotonic()
            if failure is not None:
                yield self._on_ranks(emit.failed("*", UNREACHED, failure, started))
                return
            try:
                yield self._on_ranks(self._cell(subject, configuration, layout, emit, started))
            except Exception as error:
                yield self._on_ranks(emit.failed("forward", UNREACHED, error, started))

    def _on_ranks(self, one: Measurement) -> Measurement:
        return replace(one, world=self._world.size, launcher=self._job.launcher, backend=self._job.backend)

    def _learn(self, subject: _Subject) -> Exception | None:
        """Find a configuration that the subject runs in, alone, and its routed weight at factor 1. Or say why not."""
        first: Exception | None = None
        for own_config in (True, False):
            for overlay in OVERLAYS:
                around = owners.FIELDS if subject.is_layer else owners.told(subject.block)
                subject.overlay = {**around, **overlay}
                subject.own_config, subject.guessed = own_config, {}
                try:
                    found = self._run(subject, {}, Layout(1, 1), Threads(1), (1.0,))[0]
                    subject.baseline = found["routed"]["1"][0]
                    return None
                except Exception as error:
                    first = first or error
        return first

    def _cell(
        self, subject: _Subject, configuration: Configuration, layout: Layout, emit: Emitter, started: float
    ) -> Measurement:
        found = self._run(subject, configuration, layout, self._world, (1.0, *self._job.factors))
        factors = {measure.name(factor): factor for factor in (1.0, *self._job.factors)}
        had = [
            Had(
                rank,
                {factors[name]: parts for name, parts in one["routed"].items()},
                {factors[name]: parts for name, parts in one["shared"].items()},
            )
            for rank, one in sorted(found.items())
        ]
        has_shared = any(one["has_shared"] for one in found.values())
        expected = Expected(
            routed_exponent=1.0 if found[0]["reads"] else 0.0,
            shared_exponent=0.0 if has_shared else None,
            baseline=subject.baseline,
            shared=1.0 if has_shared else None,
        )
        emit.notes = tuple(found[0]["notes"])
        if not subject.is_layer and leaves_its_sum(had, expected, measure.tolerance(self._job.dtype)):
            raise Inconclusive("every rank has its own part of both: the block leaves the sum to its layer")
        judged = judge(had, expected, self._job.factors, measure.tolerance(self._job.dtype))
        one = emit.measured(str(found[0]["route"]), REACHED, expected, judged.measured, started)
        return replace(one, verdict=judged.verdict, reason=judged.reason, shares=judged.shares)

    def _run(
        self,
        subject: _Subject,
        configuration: Configuration,
        layout: Layout,
        world: World,
        factors: tuple[float, ...],
    ) -> dict[int, Any]:
        """By rank: what it has of both parts at each factor, and how the block got there."""
        framework = self._framework
        with contextlib.ExitStack() as stack:
            stack.enter_context(framework.entered(configuration))
            framework.enter_run(subject.block, stack)
            if self._job.device == "cpu":
                invoke.enter_without_accelerator(stack)
            tasks = {
                rank: partial(self._task, subject, configuration, Shards(world, layout, rank), factors)
                for rank in world.here
            }
            done = world.run(tasks, lambda rank: framework.as_rank(world, layout, rank))
        return world.share(done)

    def _task(
        self, subject: _Subject, configuration: Configuration, leaves: Shards, factors: tuple[float, ...]
    ) -> dict[str, Any]:
        """What one rank does."""
        recipe = self._recipe(subject, configuration, leaves)
        device = _device(self._job.device)
        routed, shared = {}, {}
        hits: list[str] = []
        with torch.no_grad(), torch.device(device):
            for factor in factors:
                built = build(recipe, factor)
                built.block.to(device).eval()
                _blind_gates(built.block)
                out, hits = self._call(subject, built, leaves, device)
                name = measure.name(factor)
                routed[name] = out[: leaves.layout.world].tolist()
                shared[name] = out[MOST : MOST + leaves.layout.world].tolist()
            leaves.amplitude = 2.0
            doubled, _ = self._call(subject, built, leaves, device)
        if not leaves.experts_called:
            raise Inconclusive("the routed experts were not replaced by stand-ins")
        if not torch.allclose(doubled, 2 * out, rtol=measure.tolerance(self._job.dtype), atol=1e-4):
            raise Inconclusive("the block is not linear in its experts: twice their output is not twice the block's")
        return {
            "routed": routed,
            "shared": shared,
            "has_shared": bool(leaves.shared_called),
            "reads": built.reads_factor,
            "route": " -> ".join(dict.fromkeys(("forward", *(hit for hit in hits if "shared" not in hit)))),
            "notes": _notes(recipe, built),
        }

    def _recipe(self, subject: _Subject, configuration: Configuration, leaves: Shards) -> Recipe:
        framework = self._framework
        experts = framework.sharded_experts(configuration, leaves)
        patches = dict(framework.leaf_patches(experts))
        if subject.is_layer:
            patches |= framework.layer_patches(subject.cls)
            patches |= dict.fromkeys(owners.attention_classes(subject.cls), owners.Attention)
        return Recipe(
            cls=subject.cls,
            experts=experts,
            shared=SharedExpert,
            overlay=subject.overlay,
            leaf_patches=patches,
            keep=framework.kept,
            make_config=framework.config_maker(subject.cls, subject.overlay) if subject.own_config else None,
            shared_for=lambda original: shared_class(original, leaves),
            guessed=subject.guessed,
        )

    def _call(self, subject: _Subject, built: Built, leaves: Shards, device: str) -> tuple[Any, list[str]]:
        """The mean over the rank's tokens of what each channel has, in units of the tokens' amplitude."""
        hidden = invoke.tokens(TOKENS, self._dtype, device)
        amplitude = 1.0 + leaves.rank if leaves.layout.all_to_all else 1.0
        hidden[..., AMPLITUDE] = amplitude
        layer = built.block
        block = owners.inner(layer, subject.block)
        with invoke.recorded(block, subject.block) as hits:
            arguments = invoke.arguments(layer.forward, hidden, self._framework.batch(), {})
            out = invoke.output_of(layer.forward(**arguments), hidden.numel() // HIDDEN)
        if not subject.is_layer and self._framework.completes(subject.block):
            out = self._framework.completed(out)
        return (out.float() / amplitude).mean(0).cpu(), list(hits)


def _device(kind: str) -> str:
    """This process's device, which is that of its rank where each has one."""
    return kind if kind == "cpu" else f"{kind}:{torch.cuda.current_device()}"


def _blind_gates(block: Any) -> None:
    """Let no gate see the channel of the amplitude, so that tokens that differ in it alone are routed alike."""
    for value in block.parameters():
        if value.dim() == 2 and value.shape[1] == HIDDEN != value.shape[0]:
            value[:, AMPLITUDE] = 0.0


def _notes(recipe: Recipe, built: Built) -> list[str]:
    notes = []
    if recipe.guessed:
        notes.append("guessed: " + ", ".join(f"{key}={value!r}" for key, value in sorted(recipe.guessed.items())))
    if built.norms:
        notes.append("measured before: " + ", ".join(built.norms))
    if recipe.stubbed:
        notes.append("inert: " + ", ".join(sorted(recipe.stubbed)))
    return notes
