"""Make the measurements of one configuration of one class: verdicts from numbers, and from errors."""

from __future__ import annotations

import copy
import time

from moelint.runtime_probe import edges, measure, records
from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.edges import Edge
from moelint.runtime_probe.fabricate import FabricatedCall
from moelint.runtime_probe.frameworks.base import Configuration, Framework
from moelint.runtime_probe.records import Expected, Job, Measurement, Unit, Weights

_REFUSALS = (AssertionError, NotImplementedError, ValueError)


class Inconclusive(RuntimeError):
    """The numbers would say nothing about the block."""


class Emitter:
    """Makes the measurements of one configuration of one unit."""

    def __init__(self, job: Job, framework: Framework, unit: Unit, configuration: Configuration) -> None:
        self._job, self._framework, self._unit = job, framework, unit
        self.configuration = {"platform": job.platform, **framework.shown(configuration)}
        if job.dtype != "float32":
            self.configuration["dtype"] = job.dtype
        self.notes: tuple[str, ...] = ()
        self.fields: dict[str, str] = {}

    def is_wanted(self) -> bool:
        """Whether the job asks for cells of this configuration."""
        only, among = self._job.only, self._job.among
        if only and records.in_words(self.configuration) != only.rpartition("|")[2]:
            return False
        return not among or any(wanted.items() <= self.configuration.items() for wanted in among)

    def measured(
        self, route: str, grade: str, expected: Expected | None, measured: Weights | None, started: float
    ) -> Measurement:
        allowed = measure.tolerance(self._job.dtype)
        verdict, reason = records.NOT_RUN, ""
        if expected is not None and measured is not None:
            verdict, reason = measure.judge(expected, measured, allowed)
        return self._make(route, grade, verdict, reason, started, expected, measured, allowed)

    def judged(
        self,
        route: str,
        verdict: str,
        reason: str,
        expected: Expected,
        measured: Weights,
        allowed: float,
        started: float,
    ) -> Measurement:
        """A measurement whose verdict was found elsewhere."""
        return self._make(route, records.REACHED, verdict, reason, started, expected, measured, allowed)

    def at_edge(self, name: str) -> Emitter:
        """An emitter for an edge of this configuration."""
        found = copy.copy(self)
        found.configuration = {**self.configuration, "edge": name}
        return found

    def edge(
        self, route: str, edge: Edge, rows: tuple[list[float], list[float]], expected: Expected, started: float
    ) -> Measurement:
        """The measurement of an edge."""
        allowed = measure.tolerance(self._job.dtype)
        verdict, reason = edges.judge(edge, rows, expected, allowed)
        return self._make(
            route, records.REACHED, verdict, reason, started, expected, edges.weights(edge, rows), allowed
        )

    def failed(self, route: str, grade: str, error: Exception, started: float) -> Measurement:
        """A cell that gave no numbers: refused by the target, or not run."""
        verdict = records.REFUSED if self._is_refusal(error) else records.NOT_RUN
        return self._make(route, grade, verdict, describe(error), started)

    def _is_refusal(self, error: Exception) -> bool:
        """Whether the target itself says no: an assertion or refusal raised by its own code."""
        if isinstance(error, (FabricatedCall, Inconclusive)) or not isinstance(error, _REFUSALS):
            return False
        trace = error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        return trace is not None and trace.tb_frame.f_code.co_filename.startswith(self._job.root)

    def _make(
        self,
        route: str,
        grade: str,
        verdict: str,
        reason: str,
        started: float,
        expected: Expected | None = None,
        measured: Weights | None = None,
        allowed: float | None = None,
    ) -> Measurement:
        return Measurement(
            path=self._unit.path,
            block=self._unit.block,
            line=self._unit.line,
            route=route,
            configuration=self.configuration,
            device=self._job.device,
            verdict=verdict,
            reason=reason,
            grade=grade,
            emulated=self._framework.emulations(self.configuration),
            notes=self.notes,
            expected=expected,
            measured=measured,
            tolerance=allowed,
            seed=self._job.seed,
            seconds=round(time.monotonic() - started, 3),
            fields=self.fields,
        )
