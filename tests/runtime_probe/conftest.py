"""What the probe's tests share."""

from __future__ import annotations

import importlib.util
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from moelint.runtime_probe import runner
from moelint.runtime_probe.records import Job, Unit

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def release() -> Callable[[str], Path]:
    """The package of a release of SGLang with all its files, fetched once with pip: kernels look for their headers."""
    return _release


def _release(version: str) -> Path:
    folder = ROOT / ".releases" / f"sglang-{version}-all"
    partial = folder.with_name(f"{folder.name}.part")
    if not (folder / "sglang").is_dir():
        tool = importlib.util.spec_from_file_location("fetch_release", ROOT / "tools" / "fetch_release.py")
        assert tool is not None and tool.loader is not None
        fetch_release = importlib.util.module_from_spec(tool)
        tool.loader.exec_module(fetch_release)
        with tempfile.TemporaryDirectory() as downloads:
            wheel = fetch_release.download(f"sglang=={version}", Path(downloads))
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(partial)
        partial.rename(folder)
    return folder / "sglang"


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
