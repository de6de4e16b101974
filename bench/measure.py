"""Time commands against each other: interleaved, so that a busy moment hits all of them alike."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median


class BenchError(Exception):
    """A contestant did not do its job; the text carries the end of what it said."""


@dataclass(frozen=True, slots=True)
class Contestant:
    """One command. `count` reads its findings from standard output, `accept` holds the exit codes of a job done."""

    name: str
    command: Sequence[str]
    cwd: Path
    count: Callable[[str], int] | None = None
    accept: frozenset[int] = frozenset({0, 1})
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lap:
    """Seconds: on the clock, and of processor time (user and system, with all children)."""

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True)
class Result:
    contestant: Contestant
    found: int | None
    laps: tuple[Lap, ...]

    @property
    def wall(self) -> float:
        return median(lap.wall for lap in self.laps)

    @property
    def best(self) -> float:
        return min(lap.wall for lap in self.laps)

    @property
    def cpu(self) -> float:
        return median(lap.cpu for lap in self.laps)

    def wall_ratio(self, other: Result) -> float:
        """The median over the rounds of this one's time divided by the other's in the same round."""
        return median(mine.wall / theirs.wall for mine, theirs in zip(self.laps, other.laps, strict=True))

    def cpu_ratio(self, other: Result) -> float:
        return median(mine.cpu / max(theirs.cpu, 1e-4) for mine, theirs in zip(self.laps, other.laps, strict=True))


def environment_of(contestant: Contestant) -> dict[str, str]:
    """What is set for a command. Python tools may keep byte code, as they do wherever they are installed."""
    kept = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, **contestant.env}


def once(contestant: Contestant) -> Lap:
    """Run it with its output thrown away. Raises BenchError on an exit code that it does not accept."""
    start = time.perf_counter()
    process = subprocess.Popen(
        contestant.command,
        cwd=contestant.cwd,
        env=environment_of(contestant),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in contestant.accept:
        raise BenchError(f"{contestant.name} ended with exit code {process.returncode}")
    return Lap(wall, usage.ru_utime + usage.ru_stime)


def warm_up(contestant: Contestant) -> int | None:
    """Run it once unmeasured: fills the page cache and byte code, shows that it works, and counts what it finds."""
    done = subprocess.run(
        contestant.command,
        cwd=contestant.cwd,
        env=environment_of(contestant),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode not in contestant.accept:
        said = (done.stderr or done.stdout)[-2000:]
        raise BenchError(f"{contestant.name} ended with exit code {done.returncode}:\n{said}")
    return contestant.count(done.stdout) if contestant.count else None


def race(contestants: Sequence[Contestant], rounds: int) -> dict[str, Result]:
    """Name -> result. In every round each contestant runs once, the order turning by one from round to round."""
    found = {contestant.name: warm_up(contestant) for contestant in contestants}
    laps: dict[str, list[Lap]] = {contestant.name: [] for contestant in contestants}
    for number in range(rounds):
        turn = number % len(contestants)
        for contestant in (*contestants[turn:], *contestants[:turn]):
            laps[contestant.name].append(once(contestant))
    return {c.name: Result(c, found[c.name], tuple(laps[c.name])) for c in contestants}
