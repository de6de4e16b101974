"""The parent: starts child processes, watches their time and memory, and turns whatever they do into measurements."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import IO, Any

from moelint.runtime_probe.ranks import launch
from moelint.runtime_probe.records import Job, Measurement, not_run

BOOT = Path(__file__).with_name("boot.py")
_PERIOD = 0.05
_TAIL = 200
_KEPT = ("PATH", "LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_PATH", "CUDA_VISIBLE_DEVICES", "TRITON_INTERPRET", "SYSTEMROOT")
_KEPT_PREFIXES = ("MOELINT_PROBE_", "OPENBLAS_", "NVIDIA_", "SGLANG_", "LC_", "LANG")

Progress = Callable[[str, int, int], None]


class NoInterpreter(OSError):
    """The interpreter that was asked for cannot be started."""


@dataclass(frozen=True)
class Limits:
    """What a child may use."""

    memory_bytes: int = 12 << 30
    startup_seconds: float = 900.0
    total_seconds: float = 0.0
    """For the whole job; 0: no limit. What is not begun by then is not run."""
    grace_seconds: float = 10.0
    """How long after a unit's own alarm the parent waits before it ends the child."""


@dataclass
class Result:
    """What came of one job."""

    measurements: list[Measurement] = field(default_factory=list)
    about: dict[str, Any] = field(default_factory=dict)
    unlimited: list[str] = field(default_factory=list)
    """Limits that this system does not offer."""
    garbage: int = 0
    """Lines in a child's record file that are no record."""
    children: int = 0
    log: list[str] = field(default_factory=list)


def run(
    job: Job, *, python: str = sys.executable, limits: Limits | None = None, progress: Progress | None = None
) -> Result:
    """Run every unit of the job; a unit that ends its child is reported and the others go on in a new one."""
    limits = limits or Limits()
    result = Result()
    left = list(job.units)
    end = time.monotonic() + limits.total_seconds if limits.total_seconds else float("inf")
    with tempfile.TemporaryDirectory(prefix="moelint-probe-", ignore_cleanup_errors=True) as cache:
        while left:
            child = _Child(replace(job, units=tuple(left)), python, limits, cache)
            cause = child.watch(result, progress, len(job.units), end)
            result.children += 1
            finished = child.finished
            left = [unit for unit in left if unit.key not in finished]
            if not left:
                break
            if child.current is None:
                result.measurements += [not_run(job, unit, cause) for unit in left]
                break
            culprit = next(unit for unit in left if unit.key == child.current)
            result.measurements.append(not_run(job, culprit, cause))
            left.remove(culprit)
            result.log += list(child.output)[-20:]
    return result


class _Child:
    """One child process and the file that it writes its records to."""

    def __init__(self, job: Job, python: str, limits: Limits, cache: str) -> None:
        self._job, self._limits = job, limits
        self.current: str | None = None
        self.finished: set[str] = set()
        self.output: deque[str] = deque(maxlen=_TAIL)
        self._folder = tempfile.TemporaryDirectory(prefix="moelint-child-", ignore_cleanup_errors=True)
        records = Path(self._folder.name, "records")
        self._records: IO[bytes] = records.open("w+b")
        self._read = 0
        self._rest = b""
        try:
            self._process = subprocess.Popen(
                self._command(python, records),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=self._folder.name,
                env=environment(self._folder.name, cache),
                pass_fds=(self._records.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            raise NoInterpreter(f"{python}: {error.strerror}") from None
        self._drain = threading.Thread(target=self._keep_tail, daemon=True)
        self._drain.start()

    def _command(self, python: str, records: Path) -> list[str]:
        """A child writes to the descriptor that it inherits; ranks, which torchrun starts, by the file's name."""
        memory = self._limits.memory_bytes
        if self._job.launcher == launch.TORCHRUN:
            return launch.command(self._job, python, Path(self._folder.name), records, memory)
        records.unlink()
        return [python, "-s", str(BOOT), "child", str(self._records.fileno()), str(memory)]

    def watch(self, result: Result, progress: Progress | None, total: int, end: float) -> str:
        """Follow the child to its end; the cause of an early one, for the unit it was at."""
        try:
            self._hand_over()
            return self._follow(result, progress, total, end)
        finally:
            self._end()

    def _hand_over(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.write(json.dumps(self._job.as_dict()).encode())
            self._process.stdin.close()

    def _follow(self, result: Result, progress: Progress | None, total: int, end: float) -> str:
        deadline = time.monotonic() + self._limits.startup_seconds
        fatal = ""
        while True:
            over = self._process.poll() is not None
            for record in self._news(result):
                kind = record["record"]
                if kind == "begin":
                    self.current = record["unit"]
                    deadline = time.monotonic() + self._job.unit_seconds + self._limits.grace_seconds
                elif kind == "end":
                    self.finished.add(record["unit"])
                    self.current = None
                    deadline = time.monotonic() + self._limits.grace_seconds
                    if progress is not None:
                        progress(record["unit"], len({m.path + m.block for m in result.measurements}), total)
                elif kind == "fatal":
                    fatal = record["reason"]
                elif kind == "ready":
                    result.about = record["about"]
                elif kind == "limits":
                    result.unlimited = record["missing"]
                elif kind == "cell":
                    result.measurements.append(Measurement.from_dict(record["cell"]))
            if over:
                return fatal or self._explained(self._how_it_ended())
            if time.monotonic() > end:
                self.current = None
                return f"time budget of {self._limits.total_seconds:g} s for the job"
            if time.monotonic() > deadline:
                seconds = self._job.unit_seconds if self.current else self._limits.startup_seconds
                return self._explained(f"time limit of {seconds:g} s; the child had to be killed")
            if self._resident() > self._limits.memory_bytes:
                return f"memory limit of {self._limits.memory_bytes >> 20} MiB; the child had to be killed"
            time.sleep(_PERIOD)

    def _news(self, result: Result) -> list[dict[str, Any]]:
        """The records that came since the last call. What is no record is counted and dropped."""
        chunk = os.pread(self._records.fileno(), 1 << 24, self._read)
        self._read += len(chunk)
        *lines, self._rest = (self._rest + chunk).split(b"\n")
        records = []
        for line in lines:
            if not line:
                continue
            record = _parsed(line, {unit.key for unit in self._job.units})
            if record is None:
                result.garbage += 1
            else:
                records.append(record)
        return records

    def _resident(self) -> int:
        """Bytes of memory in use, 0 where the system does not say."""
        try:
            pages = int(Path(f"/proc/{self._process.pid}/statm").read_text().split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            return f"the child was ended by {signal.Signals(-code).name}"
        return f"the child exited with code {code} on its own"

    def _explained(self, ending: str) -> str:
        """With several processes: which rank it was."""
        if self._job.launcher != launch.TORCHRUN:
            return ending
        self._drain.join(timeout=2 * _PERIOD)
        return launch.how_it_ended(self.output, Path(self._folder.name), self._job.world, ending)

    def _keep_tail(self) -> None:
        assert self._process.stdout is not None
        while chunk := self._process.stdout.read1(1 << 16):  # type: ignore[attr-defined]
            self.output.extend(line[:500] for line in chunk.decode(errors="replace").splitlines()[-_TAIL:])

    def _end(self) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._drain.join(timeout=2)
        self._records.close()
        self._folder.cleanup()


def _parsed(line: bytes, units: set[str]) -> dict[str, Any] | None:
    """The record on a line, or None if the line is anything else."""
    try:
        record = json.loads(line)
        kind = record["record"]
        if kind in ("begin", "end"):
            return record if record["unit"] in units else None
        if kind == "cell":
            Measurement.from_dict(record["cell"])
        elif kind not in ("fatal", "ready", "limits", "done"):
            return None
    except (ValueError, KeyError, TypeError, AttributeError):
        return None
    return dict(record)


def environment(folder: str, cache: str) -> dict[str, str]:
    """The variables a child sees: none of the caller's but those that lead to the tools of the machine."""
    kept = {name: value for name, value in os.environ.items() if name in _KEPT or name.startswith(_KEPT_PREFIXES)}
    return {
        **kept,
        "HOME": folder,
        "TMPDIR": folder,
        "TRITON_CACHE_DIR": os.path.join(cache, "triton"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONHASHSEED": "0",
        "TORCHDYNAMO_DISABLE": "1",
        "TORCH_COMPILE_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
        "TRANSFORMERS_OFFLINE": "1",
        "OMP_NUM_THREADS": kept.get("OMP_NUM_THREADS", "2"),
    }
