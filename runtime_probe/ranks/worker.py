"""One rank: joins the others, runs the units of the job with them; rank 0 writes what was measured.

`python boot.py ranks.worker FOLDER RECORDS MEMORY_BYTES`, started by torchrun.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from moelint.runtime_probe import child, limits
from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.records import Job


class _Silent:
    """What the other ranks write to: only the end of the run is theirs to report."""

    def __init__(self, channel: child.Channel) -> None:
        self._channel = channel

    def send(self, kind: str, **values: Any) -> None:
        """Pass on what ends the run."""
        if kind == "fatal":
            self._channel.send(kind, **values)


def main(argv: Sequence[str]) -> int:
    """Run the job of the folder as the rank that the environment names."""
    folder, records, memory_bytes = Path(argv[0]), argv[1], int(argv[2])
    job = Job.from_dict(json.loads((folder / "job.json").read_text(encoding="utf-8")))
    rank = int(os.environ["RANK"])
    own = child.Channel(os.open(records, os.O_WRONLY | os.O_APPEND))
    channel: Any = own if rank == 0 else _Silent(own)
    missing = [*filter(None, os.environ.get("MOELINT_PROBE_MISSING", "").split(";"))]
    missing += limits.apply(memory_bytes, address_space=job.device == "cpu", leave_network=False)
    channel.send("limits", missing=missing)
    signal.signal(signal.SIGALRM, child.ring)
    sys.path.extend(filter(None, os.environ.get("MOELINT_PROBE_PATH", "").split(os.pathsep)))
    if job.device == "cpu":
        os.environ["TRITON_INTERPRET"] = "1"
    try:
        from moelint.runtime_probe import ranks
        from moelint.runtime_probe.ranks.processes import Processes

        world = Processes(job.backend, folder, job.unit_seconds)
        adapter = ranks.adapter(job, world)
        channel.send("ready", about={**adapter.about(), "backend": job.backend})
    except BaseException as error:
        own.send("fatal", reason=f"rank {rank}: {describe(error)}", trace=traceback.format_exc()[-2000:])
        return 1
    for unit in job.units:
        child.run_unit(adapter, job, unit, channel)
    channel.send("done")
    world.close()
    return 0
