"""Start ranks with torchrun, and say afterwards which of them ended the run. Imports no torch."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path

from moelint.runtime_probe.records import Job

TORCHRUN = "torchrun"
BOOT = Path(__file__).resolve().parent.parent / "boot.py"
_FAILED_RANK = re.compile(r"^\s*rank\s*:\s*(\d+) \(local_rank")
_FAILED_CODE = re.compile(r"^\s*exitcode\s*:\s*(-?\d+)")
_LOG_LINES = 6
_TORCHRUN = re.compile(r"^([EWI]\d{4} |=+$|-+$|Traceback|\s+File .*torch/distributed)")


def command(job: Job, python: str, folder: Path, records: Path, memory_bytes: int) -> list[str]:
    """The command that runs the job in as many processes as it has ranks. Writes the job into `folder`."""
    (folder / "job.json").write_text(json.dumps(job.as_dict()), encoding="utf-8")
    return [python, "-s", str(BOOT), "ranks.agent", str(job.world), str(folder), str(records), str(memory_bytes)]


def torchrun(world: int, folder: str, arguments: Iterable[str]) -> list[str]:
    """The arguments of `python -m torch.distributed.run` for ranks on this machine."""
    return [
        "--nnodes=1",
        f"--nproc-per-node={world}",
        "--rdzv-backend=c10d",
        "--rdzv-endpoint=127.0.0.1:0",
        "--local-addr=127.0.0.1",
        "--max-restarts=0",
        "--monitor-interval=0.2",
        "--tee=3",
        f"--log-dir={folder}/logs",
        str(BOOT),
        "ranks.worker",
        *arguments,
    ]


def how_it_ended(output: Iterable[str], folder: Path, world: int, ending: str) -> str:
    """Why the run ended early: the rank that torchrun names as the first failure, or the one that lags behind."""
    lines = list(output)
    rank = next((int(found[1]) for line in reversed(lines) if (found := _FAILED_RANK.match(line))), None)
    code = next((int(found[1]) for line in reversed(lines) if (found := _FAILED_CODE.match(line))), None)
    if rank is None:
        lag = lagging(folder, world)
        return f"{ending}; {lag}" if lag else ending
    what = f"was ended by signal {-code}" if code is not None and code < 0 else f"exited with code {code}"
    own = [
        line.partition("]:")[2].strip() for line in lines if line.startswith((f"[rank{rank}]:", f"[default{rank}]:"))
    ]
    log = " | ".join(line for line in own[-_LOG_LINES:] if line and not _TORCHRUN.match(line))
    return f"rank {rank} {what}" + (f"; its log: {log[:400]}" if log else "")


def progress_file(folder: Path, rank: int) -> Path:
    """Where a rank notes how many collectives it has entered, and the last one."""
    return folder / f"progress-{rank}"


def lagging(folder: Path, world: int) -> str:
    """Which rank entered fewer collectives than the others; empty if they are level."""
    counts = {}
    for rank in range(world):
        try:
            number, _, what = progress_file(folder, rank).read_text().strip().partition(" ")
            counts[rank] = (int(number), what)
        except (OSError, ValueError):
            counts[rank] = (0, "nothing")
    low, high = min(counts.values())[0], max(counts.values())[0]
    if low == high:
        return ""
    behind = [rank for rank, (number, _) in counts.items() if number == low]
    ahead = next(what for number, what in counts.values() if number == high)
    return f"rank {', '.join(map(str, behind))} did not come to {ahead}, where the others wait"
