"""Time the language server against those of ruff and pylint: `python bench/server.py --file PATH`.

Each round edits the same line of the same file in each server, one after the other, and waits for the diagnostics of
the new text. The edit puts in, or takes out, a statement that breaks the policy. Ratios are medians over the rounds of
two times taken in the same round. `--check` holds the medians against the targets. ruff runs its default rules, pylint
its default checks through python-lsp-server, all other plug-ins off. moelint runs its rules; routes are not analysed.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import peers
from language_client import Server
from measure import BenchError

MOELINT, RUFF, PYLINT = "moelint server", "ruff server", "pylsp with pylint"
MOST_OF_RUFF, MOST_OF_PYLINT = 3.0, 1.0
_EDIT = "        final_hidden_states = final_hidden_states * self.routed_scaling_factor\n"
_OFF = ("autopep8", "flake8", "mccabe", "preload", "pycodestyle", "pydocstyle", "pyflakes", "rope_autoimport", "yapf")


@dataclass(slots=True)
class Contestant:
    name: str
    server: Server
    rounds: int
    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    found: set[int] = field(default_factory=set)

    def play(self, line: int, number: int) -> None:
        """Make the edit, or take it back."""
        before = self.server.cpu
        wall = self.server.edit(line, number % 2, "" if number % 2 else _EDIT)
        self.wall.append(wall)
        self.cpu.append(self.server.cpu - before)
        self.found.add(self.server.found)


def tool(name: str) -> str:
    """The path of a program. Raises BenchError if it is missing."""
    path = peers.executable(name)
    if path is None:
        raise BenchError(f"{name} is missing: make bench-server installs it")
    return path


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    tools = ", ".join(f"{name} {version(name)}" for name in ("moelint", "pygls", "ruff", "python-lsp-server", "pylint"))
    return f"{platform.platform()}, {cores} cores, load {load}, Python {platform.python_version()}\n{tools}"


def contestants(file: Path, rounds: int, slow_rounds: int) -> list[Contestant]:
    """The servers, started, with the file open."""
    found = [
        Contestant(MOELINT, Server([tool("moelint"), "server"], file, {"routes": False}, 60), rounds),
        Contestant(RUFF, Server([tool("ruff"), "server", "--isolated"], file, {}, 60), rounds),
    ]
    if slow_rounds:
        found.append(Contestant(PYLINT, Server([tool("pylsp")], file, _pylsp(), 600), slow_rounds))
    return found


def _pylsp() -> Mapping[str, Any]:
    """pylint reads text that is not saved only where its program is named."""
    plugins: dict[str, Any] = {name: {"enabled": False} for name in _OFF}
    plugins["pylint"] = {"enabled": True, "executable": tool("pylint")}
    return {"pylsp": {"plugins": plugins}}


def place(file: Path) -> int:
    """The line, from 0, before the first return of the experts' output in a method."""
    lines = file.read_text("utf-8").split("\n")
    for number, line in enumerate(lines):
        if line == "        return final_hidden_states":
            return number
    raise BenchError(f"{file} has no method that returns final_hidden_states")


def table(players: list[Contestant]) -> str:
    rows = [f"{'':20}{'median ms':>10}{'least':>8}{'most':>8}{'cpu ms':>8}{'rounds':>8}  found"]
    for player in players:
        wall = sorted(1000 * value for value in player.wall)
        cpu = 1000 * statistics.median(player.cpu)
        found = "/".join(str(count) for count in sorted(player.found))
        times = f"{statistics.median(wall):10.0f}{wall[0]:8.0f}{wall[-1]:8.0f}{cpu:8.0f}"
        rows.append(f"{player.name:20}{times}{len(wall):8}  {found}")
    return "\n".join(rows)


def ratio(one: Contestant, other: Contestant) -> float:
    """The median over the rounds that both played."""
    return statistics.median(mine / theirs for mine, theirs in zip(one.wall, other.wall, strict=False))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument(
        "--file", type=Path, required=True, help="a model file, such as deepseek_v2.py of SGLang 0.5.22"
    )
    parser.add_argument("--rounds", type=int, default=30, help="edits in the fast servers (default 30)")
    parser.add_argument("--slow-rounds", type=int, default=1, help="edits in pylint's server; 0 leaves it out")
    parser.add_argument("--pause", type=float, default=0.3, help="seconds between rounds (default 0.3)")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    chosen = parser.parse_args()
    players: list[Contestant] = []
    try:
        file = chosen.file.resolve()
        line = place(file)
        print(machine())
        print(f"{file.name}: {len(file.read_bytes().splitlines())} lines; one statement put in or taken out a round")
        players = contestants(file, chosen.rounds, chosen.slow_rounds)
        for number in range(chosen.rounds):
            for player in players:
                if number < player.rounds:
                    player.play(line, number)
            time.sleep(chosen.pause)
    except (BenchError, OSError, json.JSONDecodeError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    finally:
        for player in players:
            player.server.stop()
    print(table(players))
    by_name = {player.name: player for player in players}
    outcome = True
    for other, most in ((RUFF, MOST_OF_RUFF), (PYLINT, MOST_OF_PYLINT)):
        if other in by_name:
            value = ratio(by_name[MOELINT], by_name[other])
            outcome = outcome and value <= most
            print(f"{'met   ' if value <= most else 'MISSED'} {MOELINT} / {other} = {value:.3f}, target <= {most}")
    return 1 if chosen.check and not outcome else 0


if __name__ == "__main__":
    sys.exit(main())
