"""Files that bring their own block, on several ranks.

As on one rank (see `moelint.runtime_probe.frameworks.file`), but a function with a parameter is called on every rank
with its group, which has `rank_in_group`, `world_size` and the collectives of `moelint.runtime_probe.ranks.group`.
Every rank must have the weights that the file wants. A function without a parameter brings ranks of its own.
"""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from moelint.runtime_probe import measure
from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.frameworks import file
from moelint.runtime_probe.ranks.group import Group
from moelint.runtime_probe.ranks.judging import Had, judge
from moelint.runtime_probe.ranks.world import World
from moelint.runtime_probe.records import FORCED, NOT_RUN, REFUSED, Expected, Job, Measurement, Unit


class RankedFiles:
    """Runs the functions of files on all ranks."""

    def __init__(self, job: Job, world: World) -> None:
        self._job, self._world = job, world
        self._alone = file.FileTargets(job)

    def about(self) -> dict[str, Any]:
        """Nothing: what a file imports is its own affair."""
        return {}

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """One cell, over all ranks."""
        started = time.monotonic()
        path = Path(self._job.root) / unit.path
        bench, own = file.factor_home(path)
        rows: dict[int, dict[float, tuple[float, float]]] = {rank: {} for rank in range(self._world.size)}
        expected: Expected | None = None
        for factor in dict.fromkeys((1.0, *self._job.factors)):
            acting = factor if own is not None else 1.0
            with file.handed_over(path, bench, acting) as handed:
                if handed.function is None or not inspect.signature(handed.function).parameters:
                    yield from self._alone.measure(unit)
                    return
                expected = _expected(file.wanted(handed, bench, acting), factor, expected)
                try:
                    found = self._on_all(handed.function)
                except Exception as error:
                    verdict = REFUSED if isinstance(error, AssertionError) else NOT_RUN
                    yield self._measurement(unit, verdict, describe(error), started)
                    return
            for rank, pair in found.items():
                rows[rank][factor] = (pair[0], pair[1])
        assert expected is not None
        had = [
            Had(rank, {f: [pair[0]] for f, pair in one.items()}, {f: [pair[1]] for f, pair in one.items()})
            for rank, one in rows.items()
        ]
        judged = judge(had, expected, self._job.factors, measure.tolerance("float32"))
        yield self._measurement(
            unit,
            judged.verdict,
            judged.reason,
            started,
            expected=expected,
            measured=judged.measured,
            shares=judged.shares,
        )

    def _on_all(self, function: Callable[[Any], Any]) -> dict[int, Any]:
        members = tuple(range(self._world.size))

        def task(rank: int) -> list[float]:
            output = function(Group(self._world, rank, members, "world")).float()
            return [float(output[:, channel].mean()) for channel in (0, 1)]

        tasks = {rank: partial(task, rank) for rank in self._world.here}
        done: dict[int, Any] = self._world.run(tasks, lambda _: contextlib.nullcontext())
        return self._world.share(done)

    def _measurement(self, unit: Unit, verdict: str, reason: str, started: float, **values: Any) -> Measurement:
        return Measurement(
            path=unit.path,
            block=unit.block,
            route="main",
            configuration={"platform": self._job.platform, "world": self._job.world},
            device=self._job.device,
            verdict=verdict,
            reason=reason,
            grade=FORCED,
            tolerance=measure.tolerance("float32"),
            seed=self._job.seed,
            seconds=round(time.monotonic() - started, 3),
            world=self._job.world,
            launcher=self._job.launcher,
            backend=self._job.backend,
            **values,
        )


def _expected(wanted: tuple[float | None, float | None], factor: float, before: Expected | None) -> Expected:
    """What the file wants; the exponent follows from the wish at factor 1 and at this factor."""
    routed, shared = wanted
    if before is None:
        return Expected(routed_exponent=None, shared_exponent=0.0, baseline=routed, shared=shared)
    exponent = measure.exponent({1.0: before.baseline, factor: routed})
    return Expected(exponent if exponent is None else round(exponent, 6), 0.0, before.baseline, before.shared)


def make(job: Job, world: World) -> RankedFiles:
    """The adapter for files."""
    return RankedFiles(job, world)
