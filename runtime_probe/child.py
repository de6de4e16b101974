"""The child process: reads a job from standard input, runs its units, writes records to the file it was given.

It trusts the target with nothing: records go to a descriptor of their own, not to standard output, and every unit has
an alarm. What the alarm cannot end, the parent does.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from typing import Any

from moelint.runtime_probe import limits
from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.ranks.world import Stuck
from moelint.runtime_probe.records import Job, Unit, not_run

_HIGH = 200
"""The lowest number that the record file's descriptor may get, out of the way of a target's guesses."""


class TimeLimit(BaseException):
    """The unit's time is over. No Exception, so that a target's own handlers let it pass."""


class Channel:
    """Writes one JSON record a line."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        os.close(descriptor)

    def send(self, kind: str, **values: Any) -> None:
        """Write a record; the leading newline ends whatever the target may have written before it."""
        line = "\n" + json.dumps({"record": kind, **values}) + "\n"
        os.write(self._descriptor, line.encode())


def main(argv: Sequence[str]) -> int:
    """Run the job on standard input. `argv`: the descriptor for records, and the memory limit in bytes."""
    channel = Channel(int(argv[0]))
    job = Job.from_dict(json.load(sys.stdin))
    sys.stdin.close()
    channel.send("limits", missing=limits.apply(int(argv[1]), address_space=job.device == "cpu"))
    signal.signal(signal.SIGALRM, ring)
    sys.path.extend(filter(None, os.environ.get("MOELINT_PROBE_PATH", "").split(os.pathsep)))
    if job.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        from moelint.runtime_probe import frameworks, ranks
        from moelint.runtime_probe.ranks.world import Threads

        adapter = ranks.adapter(job, Threads(job.world)) if job.world > 1 else frameworks.adapter(job)
        channel.send("ready", about=adapter.about())
    except BaseException as error:
        channel.send("fatal", reason=describe(error), trace=traceback.format_exc()[-2000:])
        return 1
    for unit in job.units:
        run_unit(adapter, job, unit, channel)
    channel.send("done")
    return 0


def run_unit(adapter: Any, job: Job, unit: Unit, channel: Any) -> None:
    """Measure the unit and send its cells. Ends the process where a rank is lost in it."""
    channel.send("begin", unit=unit.key)
    started = time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, job.unit_seconds)
    try:
        for measurement in adapter.measure(unit):
            channel.send("cell", cell=measurement.as_dict())
        signal.setitimer(signal.ITIMER_REAL, 0)
    except BaseException as error:
        signal.setitimer(signal.ITIMER_REAL, 0)
        if isinstance(error, Stuck):
            channel.send("fatal", reason=_cause(error, job))
            os._exit(1)
        if isinstance(error, TimeLimit):
            reason = f"time limit of {job.unit_seconds:g} s"
        else:
            reason = describe(error)
        channel.send("cell", cell=not_run(job, unit, reason).as_dict())
        if os.environ.get("MOELINT_PROBE_TRACE"):
            traceback.print_exc()
    channel.send("end", unit=unit.key, seconds=round(time.monotonic() - started, 3))


def _cause(error: Stuck, job: Job) -> str:
    late = f"time limit of {job.unit_seconds:g} s; " if isinstance(error.__cause__, TimeLimit) else ""
    return f"{late}{error}"


def ring(*_: object) -> None:
    """The unit's time is over."""
    raise TimeLimit
