"""Measure a block class: choose a configuration that it can be built in, run its cells, read the weights, judge."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from moelint.runtime_probe import edges, invoke, measure, reading
from moelint.runtime_probe.build import Built, Recipe, build
from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.emitter import Emitter, Inconclusive
from moelint.runtime_probe.frameworks.base import Configuration, Framework
from moelint.runtime_probe.measure import Rows
from moelint.runtime_probe.records import FORCED, LATENT, REACHED, UNREACHED, Expected, Job, Measurement, Unit, Weights
from moelint.runtime_probe.standins import Leaves
from moelint.runtime_probe.tiny import HIDDEN, OVERLAYS, SHARED_CHANNEL, TOKENS


@dataclass
class Prepared:
    """One configuration of one class, built once for each factor value."""

    recipe: Recipe
    leaves: Leaves
    blocks: dict[float | None, Built]
    shared_ids: list[int]
    linear: set[tuple[str, ...]]
    """The chains of routes that put out twice as much when every leaf does, with this kind of router."""


@dataclass
class Reference:
    """What is learnt of a class from cell to cell."""

    overlay: dict[str, Any]
    number: int
    own_config: bool
    """Whether the target's own configuration class is used, where there is one."""
    passed_over: str = ""
    """Why the first configuration was not the one."""
    baselines: dict[str, float] = field(default_factory=dict)
    """By kind of router: the routed weight at factor 1 where nothing folds and nothing is fused."""
    hits: set[str] = field(default_factory=set)
    linear: dict[str, set[tuple[str, ...]]] = field(default_factory=dict)


class BlockProbe:
    """Measures the blocks of one framework."""

    def __init__(self, job: Job, framework: Framework) -> None:
        self._job, self._framework = job, framework
        self._dtype = getattr(torch, job.dtype)
        self._routes: tuple[str, ...] = ()

    def about(self) -> dict[str, Any]:
        """Versions and fabrications, for the report."""
        return {"torch": torch.__version__, **self._framework.about()}

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """All cells of the class. Raises what makes the class impossible to build."""
        cls: type = getattr(importlib.import_module(unit.module), unit.block)
        self._routes = unit.routes
        reference = self._choose_overlay(cls)
        for configuration in self._framework.configurations(cls, reference.overlay):
            yield from self._cells(unit, cls, configuration, reference)
        if not self._job.among:
            yield from self._latent(unit, cls, reference)

    def _choose_overlay(self, cls: type) -> Reference:
        """The first configuration in which the block's own `forward` runs; else the first in which it can be built."""
        entry = "forward" if "forward" in reading.routes(cls) else reading.routes(cls)[0]
        failures: list[str] = []
        built: Reference | None = None
        for own_config in (True, False):
            for number, overlay in enumerate(OVERLAYS):
                reference = Reference(dict(overlay), number, own_config)
                try:
                    with self._framework.entered({}):
                        prepared = self._prepare(cls, {}, reference, (2.0,))
                        built = built or reference
                        self._call(prepared, cls, 2.0, entry, force=False)
                    reference.passed_over = failures[0] if failures else ""
                    return reference
                except Exception as error:
                    failures.append(describe(error))
        best = built or Reference({}, 0, False)
        best.passed_over = failures[0]
        return best

    def _cells(
        self, unit: Unit, cls: type, configuration: Configuration, reference: Reference
    ) -> Iterator[Measurement]:
        started = time.monotonic()
        emit = Emitter(self._job, self._framework, unit, configuration)
        if not emit.is_wanted():
            return
        with self._framework.entered(configuration):
            try:
                prepared = self._prepare(cls, configuration, reference, (1.0, *self._job.factors))
            except Exception as error:
                yield emit.failed("*", UNREACHED, error, started)
                return
            if not self._framework.applies(cls, prepared.blocks[1.0], configuration):
                return
            remarks = self._framework.remarks(cls, prepared.blocks[1.0], configuration)
            emit.notes = (*_notes(prepared, reference), *remarks)
            emit.fields = _fields(prepared.blocks[1.0].config, self._job.asks)
            seen: set[str] = set()
            for entry, force in self._entries(cls, configuration):
                yield from self._entry(cls, prepared, entry, force, reference, emit, seen)
            if self._job.edges and self._framework.has_edges(configuration):
                yield from self._edges(cls, configuration, reference, emit)

    def _entries(self, cls: type, configuration: Configuration) -> list[tuple[str, bool]]:
        names = reading.routes(cls)
        entries = [("forward", False), ("forward", True)] if "forward" in names else [(names[0], False)]
        if reading.PIPELINE in names and self._framework.has_pipeline(configuration):
            entries.append((reading.PIPELINE, True))
        return entries

    def _entry(
        self,
        cls: type,
        prepared: Prepared,
        entry: str,
        force: bool,
        reference: Reference,
        emit: Emitter,
        seen: set[str],
    ) -> Iterator[Measurement]:
        started = time.monotonic()
        grade = FORCED if entry == reading.PIPELINE else self._framework.grade(force)
        route = entry
        try:
            rows, has_shared, hits = self._rows(cls, prepared, entry, force)
            passed = [hit for hit in hits if "shared" not in hit or hit in self._routes]
            route = " -> ".join(dict.fromkeys((entry, *passed)))
            reference.hits.update(hits, (entry,))
            if route in seen:
                return
            measured = measure.weights(rows[0], rows[1], self._job.factors)
        except Exception as error:
            failed = emit.failed(route, grade, error, started)
            if force and failed.reason in seen:
                return
            seen.add(failed.reason)
            yield failed
            return
        seen.add(route)
        expected = self._expected(prepared, has_shared, emit.configuration, measured, reference)
        yield emit.measured(route, grade, expected, measured, started)

    def _edges(
        self, cls: type, configuration: Configuration, reference: Reference, emit: Emitter
    ) -> Iterator[Measurement]:
        """The block's own `forward` at the ends of the ranges. Raises nothing: what the target raises is the answer."""
        high = max(self._job.factors)
        entry = self._entries(cls, configuration)[0][0]
        for edge in edges.edges(TOKENS, high):
            started = time.monotonic()
            at = emit.at_edge(edge.name)
            try:
                prepared = self._prepare(cls, configuration, reference, (1.0, high, edge.factor))
                plain, one, edged = (
                    self._split(prepared, self._call(prepared, cls, factor, entry, force=False, count=count)[0])
                    for factor, count in ((1.0, TOKENS), (1.0, 1), (edge.factor, edge.tokens))
                )
            except Exception as error:
                yield at.failed(entry, REACHED, error, started)
                continue
            reads = prepared.blocks[high].reads_factor
            base = (one if edge.tokens == 1 else plain)[0]
            has_shared = bool(prepared.leaves.shared_called or prepared.shared_ids)
            expected = Expected(
                routed_exponent=None,
                shared_exponent=None,
                baseline=edges.acting(edge.factor, float(reads)) * sum(base) / len(base),
                shared=1.0 if has_shared else None,
            )
            yield at.edge(entry, edge, edged, expected, started)

    def _expected(
        self,
        prepared: Prepared,
        has_shared: bool,
        configuration: Configuration,
        measured: Weights,
        reference: Reference,
    ) -> Expected:
        router = str(configuration.get("router", ""))
        if measured.baseline is not None and self._framework.is_reference(configuration):
            reference.baselines.setdefault(router, measured.baseline)
        reads = prepared.blocks[self._job.factors[0]].reads_factor
        return Expected(
            routed_exponent=1.0 if reads else 0.0,
            shared_exponent=0.0 if has_shared else None,
            baseline=reference.baselines.get(router),
            shared=1.0 if has_shared else None,
        )

    def _prepare(
        self, cls: type, configuration: Configuration, reference: Reference, factors: tuple[float | None, ...]
    ) -> Prepared:
        leaves = Leaves()
        overlay = {**reference.overlay, **self._framework.router_overlay(configuration)}
        experts, shared = self._framework.stand_ins(configuration, leaves)
        recipe = Recipe(
            cls=cls,
            experts=experts,
            shared=shared,
            overlay=overlay,
            leaf_patches=self._framework.leaf_patches(experts),
            keep=self._framework.kept,
            make_config=self._framework.config_maker(cls, overlay) if reference.own_config else None,
        )
        blocks: dict[float | None, Built] = {}
        for factor in factors:
            with torch.device(self._job.device):
                blocks[factor] = build(recipe, factor)
            blocks[factor].block.to(self._job.device).eval()
            self._framework.after_build(blocks[factor].block, configuration)
        shared_ids = self._framework.shared_ids(blocks[factors[-1]].block, configuration)
        linear = reference.linear.setdefault(str(configuration.get("router", "")), set())
        return Prepared(recipe, leaves, blocks, shared_ids, linear)

    def _call(
        self, prepared: Prepared, cls: type, factor: float | None, entry: str, *, force: bool, count: int = TOKENS
    ) -> tuple[Any, list[str]]:
        built = prepared.blocks[factor]
        hidden = invoke.tokens(count, self._dtype, self._job.device)
        if self._framework.batched(cls):
            hidden = hidden[None]
        extra = {"shared_output": _shared_output(prepared, hidden)}
        with contextlib.ExitStack() as stack:
            self._framework.enter_call(cls, built.block, prepared.leaves, force, stack)
            hits = stack.enter_context(invoke.recorded(built.block, cls))
            pipeline = self._framework.pipeline(reading.operations(cls)) if entry == reading.PIPELINE else ()
            out = invoke.call(built.block, cls, entry, hidden, self._framework.batch(), extra, pipeline)
            return out.float().cpu(), list(hits)

    def _rows(
        self, cls: type, prepared: Prepared, entry: str, force: bool
    ) -> tuple[tuple[Rows, Rows], bool, list[str]]:
        """By factor and token, what arrived of the routed and of the shared part."""
        routed: dict[float, list[float]] = {}
        shared: dict[float, list[float]] = {}
        hits: list[str] = []
        leaves = prepared.leaves
        leaves.experts_called = leaves.shared_called = 0
        for factor in (1.0, *self._job.factors):
            out, hits = self._call(prepared, cls, factor, entry, force=force)
            routed[factor], shared[factor] = self._split(prepared, out)
        has_shared = bool(leaves.shared_called or prepared.shared_ids)
        if not leaves.experts_called:
            raise Inconclusive("the routed experts were not replaced by stand-ins")
        if tuple(hits) in prepared.linear:
            return (routed, shared), has_shared, hits
        leaves.amplitude = 2.0
        try:
            doubled, _ = self._call(prepared, cls, factor, entry, force=force)
        finally:
            leaves.amplitude = 1.0
        if not torch.allclose(doubled, 2 * out, rtol=measure.tolerance(self._job.dtype), atol=1e-4):
            raise Inconclusive("the block is not linear in its experts: twice their output is not twice the block's")
        prepared.linear.add(tuple(hits))
        return (routed, shared), has_shared, hits

    def _split(self, prepared: Prepared, out: Any) -> tuple[list[float], list[float]]:
        """By token, the summed weights of the routed and of the shared channels."""
        shared_columns = sorted({*prepared.shared_ids, SHARED_CHANNEL})
        routed_columns = [column for column in range(HIDDEN) if column not in shared_columns]
        return out[:, routed_columns].sum(-1).tolist(), out[:, shared_columns].sum(-1).tolist()

    def _latent(self, unit: Unit, cls: type, reference: Reference) -> Iterator[Measurement]:
        """Routes that no configuration came through: called by themselves, which proves nothing about reaching them."""
        for route in self._framework.latent(reading.routes(cls)):
            if route in reference.hits:
                continue
            failure = None
            for configuration in self._framework.latent_configurations(route):
                emit = Emitter(self._job, self._framework, unit, configuration)
                started = time.monotonic()
                try:
                    with self._framework.entered(configuration):
                        prepared = self._prepare(cls, configuration, reference, (1.0, *self._job.factors))
                        emit.notes = _notes(prepared, reference)
                        rows, has_shared, _ = self._rows(cls, prepared, route, True)
                        measured = measure.weights(rows[0], rows[1], self._job.factors)
                        expected = self._expected(prepared, has_shared, configuration, measured, reference)
                        failure = None
                        yield emit.measured(route, LATENT, expected, measured, started)
                        break
                except Exception as error:
                    failure = failure or emit.failed(route, UNREACHED, error, started)
            if failure is not None:
                yield failure


def _shared_output(prepared: Prepared, hidden: Any) -> Any:
    """What a route that is handed the shared expert's output gets, without counting as a call of it."""
    out = torch.zeros_like(hidden)
    out[..., SHARED_CHANNEL] = prepared.leaves.amplitude
    return out


def _fields(config: Any, names: Iterable[str]) -> dict[str, str]:
    """The values of configuration fields, as far as the configuration has them."""
    found = {}
    for name in names:
        with contextlib.suppress(Exception):
            found[name] = repr(getattr(config, name))
    return found


def _notes(prepared: Prepared, reference: Reference) -> tuple[str, ...]:
    notes = []
    if reference.number:
        notes.append(f"configuration {reference.number}, because with the first: {reference.passed_over}")
    if prepared.recipe.guessed:
        notes.append(
            "guessed: " + ", ".join(f"{key}={value!r}" for key, value in sorted(prepared.recipe.guessed.items()))
        )
    norms = next(iter(prepared.blocks.values())).norms
    if norms:
        notes.append("measured before: " + ", ".join(norms))
    if prepared.recipe.stubbed:
        notes.append("inert: " + ", ".join(sorted(prepared.recipe.stubbed)))
    return tuple(notes)
