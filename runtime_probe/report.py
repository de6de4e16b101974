"""The report: one JSON object that a nightly job can keep, and a table for people."""

from __future__ import annotations

import json
import platform
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from moelint.runtime_probe.records import FORCED, MATCHES, NOT_RUN, REACHED, SCHEMA, VIOLATES, Job, Measurement, Unit
from moelint.runtime_probe.runner import Result

Runs = Sequence[tuple[Job, Result, float]]
"""Each job, what came of it, and the seconds it took."""

_REASON = 110


class ReportError(ValueError):
    """A file is no report of the probe."""


def assemble(runs: Runs, measurements: Sequence[Measurement], command: Sequence[str]) -> dict[str, Any]:
    """The whole report."""
    return {
        "schema": SCHEMA,
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "command": list(command),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "jobs": [
            {
                "framework": job.framework,
                "root": job.root,
                "platform": job.platform,
                "device": job.device,
                "dtype": job.dtype,
                "factors": list(job.factors),
                "seed": job.seed,
                "world": job.world,
                "launcher": job.launcher,
                "backend": job.backend,
                "about": result.about,
                "unlimited": result.unlimited,
                "garbage": result.garbage,
                "children": result.children,
                "seconds": round(seconds, 1),
                "units": [
                    {"path": unit.path, "block": unit.block, "routes": unit.routes, "reads_factor": unit.reads_factor}
                    for unit in job.units
                ],
            }
            for job, result, seconds in runs
        ],
        "summary": summary(measurements),
        "measurements": [one.as_dict() for one in measurements],
    }


def summary(measurements: Iterable[Measurement]) -> dict[str, Any]:
    """Counts: cells by verdict, and classes that were measured at all among those seen."""
    cells = list(measurements)
    classes = {(one.path, one.block) for one in cells}
    measured = {(one.path, one.block) for one in cells if one.measured is not None}
    return {
        "cells": dict(Counter(one.verdict for one in cells)),
        "wrong": sum(is_wrong(one) for one in cells),
        "classes": len(classes),
        "classes_measured": len(measured),
    }


def is_wrong(one: Measurement) -> bool:
    """A violation on a route that was really taken; a latent one proves nothing."""
    return one.verdict == VIOLATES and one.grade in (REACHED, FORCED)


def read(path: Path) -> list[Measurement]:
    """The measurements of a report. Raises ReportError."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return [Measurement.from_dict(one) for one in raw["measurements"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{path}: no report of the probe ({error})") from None


def units(path: Path) -> list[Unit]:
    """What a report's jobs were to run. Raises ReportError."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        found = [unit for job in raw["jobs"] for unit in job["units"]]
        return [Unit(**{**unit, "routes": tuple(unit["routes"])}) for unit in found]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ReportError(f"{path}: no report of the probe with its units ({error})") from None


def table(measurements: Iterable[Measurement], *, verbose: bool) -> Iterator[str]:
    """Lines for people: every cell if `verbose`, otherwise those that are not plain matches; then the counts."""
    cells = list(measurements)
    shown = [one for one in cells if verbose or one.verdict != MATCHES]
    block = ""
    for one in shown:
        head = f"{one.path}:{one.block}"
        if head != block:
            block = head
            yield head
        yield f"  {one.verdict:8} {one.grade:8} {_route(one)}"
        yield f"           {_numbers(one)}"
        if one.reason:
            yield f"           {one.reason[:_REASON]}"
    counts = summary(cells)
    words = ", ".join(f"{count} {verdict}" for verdict, count in sorted(counts["cells"].items()))
    yield f"{len(cells)} cells: {words or 'none'}; {counts['classes_measured']} of {counts['classes']} classes measured"


def _route(one: Measurement) -> str:
    configuration = " ".join(f"{key}={value}" for key, value in one.configuration.items())
    mark = " (emulated)" if one.emulated else ""
    return f"{one.route}  [{configuration}] on {one.device}{mark}"


def _numbers(one: Measurement) -> str:
    if one.measured is None:
        return "no numbers" if one.verdict != NOT_RUN else "not run"
    wanted = one.expected
    routed = f"routed exponent {_shown(one.measured.routed_exponent)}"
    if wanted is not None and wanted.routed_exponent is not None:
        routed += f" (policy {wanted.routed_exponent:g})"
    weights = " ".join(f"{_shown(weight)}@{factor}" for factor, weight in one.measured.shared.items())
    shared = f"; shared weight {weights} (policy 1)" if wanted is not None and wanted.shared is not None else ""
    return f"{routed}; at factor 1: {_shown(one.measured.baseline)}{shared}" + (
        f"; linter: {one.static_verdict}" if one.static_verdict else ""
    )


def _shown(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"


def write(report: dict[str, Any], where: str) -> None:
    """Write the report as JSON to a file, or to standard output for `-`."""
    text = json.dumps(report, indent=1, sort_keys=True) + "\n"
    if where == "-":
        sys.stdout.write(text)
    else:
        Path(where).write_text(text, encoding="utf-8")
