"""Time moelint against its peers on one tree: `python bench/compare.py --tree PATH`.

Each contest runs its contestants in turn, several rounds; ratios are medians over the rounds of two times taken in
the same round, so that load on the machine weighs on both. `--check` holds three of them against their targets. On a
busy machine the ratios of processor time say more.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import peers
from corpus import Corpus, python_files, survey
from measure import BenchError, Contestant, Result, race

COLD, CACHED, ONE, PASS, RUFF = "moelint cold", "moelint cached", "moelint", "python -c pass", "ruff F"


@dataclass(frozen=True, slots=True)
class Contest:
    title: str
    reference: str
    rounds: int
    contestants: Sequence[Contestant | None]

    def run(self) -> dict[str, Result]:
        return race([contestant for contestant in self.contestants if contestant is not None], self.rounds)


@dataclass(frozen=True, slots=True)
class Target:
    """`wall(one) / wall(other)` may be at most `most`."""

    contest: str
    one: str
    other: str
    most: float


TARGETS = (
    Target("tree", COLD, RUFF, 1.0),
    Target("tree", CACHED, COLD, 0.3),
    Target("miss", ONE, PASS, 3.0),
)


def contests(corpus: Corpus, rounds: int, slow_rounds: int, scratch: Path) -> dict[str, Contest]:
    """Name -> contest. Without slow rounds, the sub-tree contest with flake8 and pylint is left out."""
    tree, part = corpus.tree, corpus.part
    cache = str(scratch / "cache")
    planned = {
        "tree": Contest(
            f"Whole tree: {corpus.files} files, {corpus.size / 1e6:.1f} MB",
            RUFF,
            rounds,
            [
                peers.moelint(COLD, tree, "--no-cache"),
                peers.moelint(CACHED, tree, "--cache-dir", cache),
                peers.ripgrep(tree),
                peers.ruff(tree),
                peers.ast_grep(tree),
            ],
        ),
        "part": Contest(
            f"Sub-tree {part.relative_to(tree)}: {corpus.part_files} files (the slow tools run here only)",
            COLD,
            slow_rounds,
            [
                peers.moelint(COLD, part, "--no-cache"),
                peers.ruff(part),
                peers.ast_grep(part),
                peers.flake8(part),
                peers.pylint(part, sorted(python_files(part)), scratch),
            ],
        ),
        "miss": one_file("One file without a word of the field", corpus.miss, rounds),
        "hit": one_file("One file that names the attribute", corpus.hit, rounds),
    }
    return {name: contest for name, contest in planned.items() if contest.rounds}


def one_file(title: str, path: Path, rounds: int) -> Contest:
    contestants = [peers.interpreter(path.parent), peers.moelint(ONE, path, "--no-cache"), peers.ruff(path)]
    return Contest(f"{title}: {path.name}, {path.stat().st_size / 1e3:.1f} kB", PASS, 2 * rounds, contestants)


def table(contest: Contest, results: dict[str, Result]) -> str:
    base = results[contest.reference]
    head = f"{'':16}{'wall s':>9}{'least':>9}{'cpu s':>9}{'wall x':>9}{'cpu x':>9}{'found':>8}"
    rows = [
        f"{name:16}{result.wall:9.3f}{result.best:9.3f}{result.cpu:9.3f}"
        f"{result.wall_ratio(base):9.2f}{result.cpu_ratio(base):9.2f}{'' if result.found is None else result.found:>8}"
        for name, result in results.items()
    ]
    note = f"{contest.rounds} rounds; x = times {contest.reference}"
    return "\n".join([f"{contest.title}\n  {note}", head, *rows])


def verdicts(results: dict[str, dict[str, Result]]) -> list[tuple[bool, str]]:
    """One line for each target, and whether it is met."""
    said: list[tuple[bool, str]] = []
    for target in TARGETS:
        one, other = results[target.contest][target.one], results[target.contest][target.other]
        ratio = one.wall_ratio(other)
        met = ratio <= target.most
        line = (
            f"{'met   ' if met else 'MISSED'} {target.one} / {target.other} = {ratio:.2f}, target <= {target.most}"
            f" (processor time: {one.cpu_ratio(other):.2f})"
        )
        said.append((met, line))
    return said


def machine() -> str:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = "/".join(f"{value:.1f}" for value in os.getloadavg())
    named = ("moelint", "ruff", "ast-grep", "rg", "flake8", "pylint")
    tools = ", ".join(f"{name} {peers.version(name)}" for name in named)
    return f"{platform.platform()}, {cores} cores, load {load}, Python {platform.python_version()}\n{tools}"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tree", type=Path, required=True, help="folder to check")
    parser.add_argument(
        "--rounds", type=int, default=7, help="rounds on the tree; twice as many on one file (default 7)"
    )
    parser.add_argument("--slow-rounds", type=int, default=2, help="rounds with flake8 and pylint; 0 leaves them out")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    chosen = parser.parse_args()
    try:
        corpus = survey(chosen.tree.resolve())
        print(
            f"{machine()}\nmoelint runs all its rules, each peer one check (reads of one attribute; ruff: its F rules)."
        )
        results: dict[str, dict[str, Result]] = {}
        with tempfile.TemporaryDirectory(prefix="moelint-bench-") as scratch:
            for name, contest in contests(corpus, chosen.rounds, chosen.slow_rounds, Path(scratch)).items():
                results[name] = contest.run()
                print(f"\n{table(contest, results[name])}", flush=True)
    except (BenchError, ValueError) as problem:
        print(f"bench: {problem}", file=sys.stderr)
        return 2
    outcome = verdicts(results)
    print("\n" + "\n".join(line for _, line in outcome))
    return 1 if chosen.check and not all(met for met, _ in outcome) else 0


if __name__ == "__main__":
    sys.exit(main())
