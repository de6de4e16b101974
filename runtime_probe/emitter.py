"""Make the measurements of one configuration of one class: verdicts from numbers, and from errors."""

from __future__ import annotations

import time

from moelint.runtime_probe import measure, records
from moelint.runtime_probe.describe import describe
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

    def measured(
        self, route: str, grade: str, expected: Expected | None, measured: Weights | None, started: float
    ) -> Measurement:
        allowed = measure.tolerance(self._job.dtype)
        verdict, reason = records.NOT_RUN, ""
        if expected is not None and measured is not None:
            verdict, reason = measure.judge(expected, measured, allowed)
        return self._make(route, grade, verdict, reason, started, expected, measured, allowed)

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
        )
