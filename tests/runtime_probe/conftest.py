"""What the probe's tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from moelint.runtime_probe import runner
from moelint.runtime_probe.records import Job, Unit


@pytest.fixture
def run_files() -> Callable[..., runner.Result]:
    """Probe files of a folder that bring their own blocks."""

    def run(folder: Path, *names: str, seconds: float = 20.0, limits: runner.Limits | None = None) -> runner.Result:
        units = tuple(Unit(path=name, block=Path(name).stem) for name in names)
        job = Job("file", str(folder), "cpu", "cpu", units, unit_seconds=seconds)
        result = runner.run(job, limits=limits)
        assert len({one.path for one in result.measurements}) == len(result.measurements)
        return result

    return run
