"""Targets that bring their own block: a file whose `main()` hands a function to `report`.

The contract: `report(function, want_routed=..., want_shared=..., base=...)`, where `function()` gives an output of
shape (tokens, channels) with the routed part on channel 0 and the shared part on channel 1. `report` may come from
another module; an upper-case number there that is named like the factor (`RSF`, `ROUTED_SCALING_FACTOR`) is varied, and
the file is run afresh for each of its values. The file's own `report` is never run: the factors are read here.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import re
import sys
import time
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from moelint.runtime_probe import measure
from moelint.runtime_probe.records import FORCED, NOT_RUN, REFUSED, VIOLATES, Expected, Job, Measurement, Unit, Weights

_FACTOR = re.compile(r"^(RSF|(MOE_)?ROUT\w*_SCAL\w*|ROUTE_SCALE)$")


class Handed:
    """What `main()` gave to `report`."""

    def __init__(self) -> None:
        self.function: Callable[..., Any] | None = None
        self.wants: dict[str, Any] = {}


class FileTargets:
    """Runs files; there is nothing to set up."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def about(self) -> dict[str, Any]:
        """Nothing: what a file imports is its own affair."""
        return {}

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """One cell: the block that the file's `main()` reports on."""
        started = time.monotonic()
        path = Path(self._job.root) / unit.path
        bench, own = factor_home(path)
        rows: dict[float, tuple[list[float], list[float]]] = {}
        wants: dict[float, tuple[float | None, float | None]] = {}
        emit = _Emit(self._job, unit, started)
        for factor in (1.0,) if own is None else dict.fromkeys((1.0, *self._job.factors, own)):
            with handed_over(path, bench, factor) as handed:
                if handed.function is None:
                    yield emit(NOT_RUN, "main() handed nothing to report()")
                    return
                wants[factor] = wanted(handed, bench, factor)
                if "torch" in sys.modules:
                    sys.modules["torch"].manual_seed(self._job.seed)
                try:
                    output = handed.function().float()
                except AssertionError as error:
                    yield emit(REFUSED, f"AssertionError: {error}")
                    return
                except Exception as error:
                    yield emit(VIOLATES, f"no output: {type(error).__name__}: {error}")
                    return
            base = float(handed.wants.get("base", 1.0))
            rows[factor] = ([value / base for value in output[:, 0].tolist()], output[:, 1].tolist())
        yield emit.weighed(rows, wants)


class _Emit:
    def __init__(self, job: Job, unit: Unit, started: float) -> None:
        self._job, self._unit, self._started = job, unit, started

    def __call__(
        self, verdict: str, reason: str = "", measured: Weights | None = None, expected: Expected | None = None
    ) -> Measurement:
        return Measurement(
            path=self._unit.path,
            block=self._unit.block,
            route="main",
            configuration={"platform": self._job.platform},
            device="cpu",
            verdict=verdict,
            reason=reason,
            grade=FORCED,
            expected=expected,
            measured=measured,
            tolerance=measure.tolerance("float32"),
            seed=self._job.seed,
            seconds=round(time.monotonic() - self._started, 3),
        )

    def weighed(
        self,
        rows: dict[float, tuple[list[float], list[float]]],
        wants: dict[float, tuple[float | None, float | None]],
    ) -> Measurement:
        """Compare with what the file wants at every factor value."""
        factors = self._job.factors if set(self._job.factors) <= set(rows) else tuple(rows)
        routed = {factor: row[0] for factor, row in rows.items()}
        shared = {factor: row[1] for factor, row in rows.items()}
        if len(factors) < 2:
            measured = Weights(
                routed={measure.name(f): _mean(values) for f, values in routed.items()},
                shared={measure.name(f): _mean(values) for f, values in shared.items()},
            )
        else:
            measured = measure.weights(routed, shared, factors)
        allowed = 2 * measure.tolerance("float32")
        wrong = []
        for factor, (want_routed, want_shared) in wants.items():
            key = measure.name(factor)
            for what, value, want in (
                ("routed", measured.routed[key], want_routed),
                ("shared", measured.shared[key], want_shared),
            ):
                if want is not None and (value is None or abs(value - want) > allowed * max(1.0, abs(want))):
                    wrong.append(f"{what} weight {value} at factor {key}, expected {want:g}")
        expected = Expected(routed_exponent=_wanted_exponent(wants), shared_exponent=0.0)
        return self(VIOLATES if wrong else "matches", "; ".join(wrong), measured, expected)


def _mean(values: list[float]) -> float | None:
    total = math.fsum(values) / len(values) if values else 0.0
    return round(total, 6) if math.isfinite(total) else None


def _wanted_exponent(wants: dict[float, tuple[float | None, float | None]]) -> float | None:
    values = {factor: want for factor, (want, _) in wants.items()}
    return round(measure.exponent(values) or 0.0, 6) if len(values) > 1 else None


def factor_home(path: Path) -> tuple[types.ModuleType | None, float | None]:
    """The module that the file's `report` comes from, None for the file itself; and the factor's own value."""
    namespace = _execute(path)
    home = sys.modules.get(getattr(namespace.get("report"), "__module__", ""))
    known = {**namespace, **(vars(home) if home is not None else {})}
    values = [value for name, value in known.items() if _FACTOR.match(name) and isinstance(value, (int, float))]
    return home, float(values[0]) if values else None


def _execute(path: Path) -> dict[str, Any]:
    namespace: dict[str, Any] = {"__name__": "moelint_target", "__file__": str(path)}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), namespace)
    return namespace


@contextlib.contextmanager
def handed_over(path: Path, bench: types.ModuleType | None, factor: float) -> Iterator[Handed]:
    """Run the file with this factor, which stays in force while the context is open, and catch what it hands over."""
    handed = Handed()

    def report(function: Callable[[], Any], *positional: Any, **wants: Any) -> dict[str, Any]:
        handed.function = function
        handed.wants = {**dict(zip(("want_routed", "want_shared", "base"), positional, strict=False)), **wants}
        return {}

    def put(namespace: dict[str, Any]) -> None:
        for name in list(namespace):
            if name == "report" or _FACTOR.match(name):
                namespace[name] = report if name == "report" else factor

    saved = dict(vars(bench)) if bench is not None else {}
    try:
        if bench is not None:
            put(vars(bench))
        namespace = _execute(path)
        put(namespace)
        if callable(namespace.get("main")):
            namespace["main"]()
        yield handed
    finally:
        if bench is not None:
            vars(bench).update(saved)


def wanted(handed: Handed, bench: types.ModuleType | None, factor: float) -> tuple[float | None, float | None]:
    """What the file wants; what it leaves out is the policy: the factor once, the shared part whole."""
    defaults: dict[str, Any] = {"want_routed": factor, "want_shared": 1.0}
    if bench is not None:
        shared = inspect.signature(bench.report).parameters.get("want_shared")
        if shared is not None and shared.default is not shared.empty:
            defaults["want_shared"] = shared.default
    values = {**defaults, **handed.wants}
    return values["want_routed"], values["want_shared"]


def make(job: Job) -> FileTargets:
    """The adapter for files."""
    return FileTargets(job)
