"""Measure Step-3.5's repaired reductions on several ranks: one table.

    python tools/reductions_exam.py --releases DIR --wrong 0.5.20 0.5.21 --right 0.5.22 0.5.23

CUDA is emulated on the CPU. In the releases that are wrong every routed output is summed once for each rank and the
shared expert of other tokens is added, but only where rows travel to the experts. Exit code 0 if every cell of the
layer has the verdict that is asked for, and all launchers have the same numbers.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from moelint.runtime_probe import plan, runner
from moelint.runtime_probe.records import MATCHES, VIOLATES, Job, Measurement

BLOCK = "step3p5.py:Step3p5MoEMLP"
LAYER = "Step3p5DecoderLayer"
BACKENDS = ("none", "deepep")


@dataclass(frozen=True)
class Run:
    """One release on so many ranks of one launcher."""

    version: str
    wrong: bool
    world: int
    launcher: str

    def job(self, root: Path) -> Job:
        """What the probe is asked."""
        backend = "gloo" if self.launcher == "torchrun" else ""
        choice = plan.Choice(classes=(BLOCK,), platforms=("cuda",), unit_seconds=900.0)
        (job,) = plan.jobs(root, choice)
        among = tuple({"a2a": backend_name} for backend_name in BACKENDS)
        return Job(**{**vars(job), "among": among, "world": self.world, "launcher": self.launcher, "backend": backend})

    def wanted(self, one: Measurement) -> str:
        """The verdict that the cell must have."""
        return VIOLATES if self.wrong and one.configuration["a2a"] != "none" else MATCHES


def numbers(cells: Sequence[Measurement]) -> dict[str, object]:
    """What launchers must agree on."""
    return {one.cell: (one.verdict, one.shares) for one in cells}


def rows(run: Run, cells: Sequence[Measurement]) -> Iterator[tuple[str, bool]]:
    """A line for each cell, and whether its verdict is the one that is asked for."""
    for one in cells:
        good = one.verdict == run.wanted(one)
        routed = " ".join(f"{share.routed['2.5']:g}" for share in one.shares)
        shared = " ".join(f"{share.shared['2.5']:g}" for share in one.shares)
        a2a, experts = one.configuration["a2a"], one.configuration.get("ep", "?")
        yield (
            f"{run.version:8} {run.world:5} {run.launcher:9} {a2a:7} {experts:2}  {one.verdict:9} "
            f"{'' if good else '!! '}routed {routed or one.reason}; shared {shared}",
            good,
        )


def main() -> int:
    """Run everything and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=Path, required=True, help="folder with sglang-VERSION/sglang")
    parser.add_argument("--wrong", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("--right", nargs="*", default=[], metavar="VERSION")
    parser.add_argument("--worlds", nargs="+", type=int, default=[2, 4])
    parser.add_argument("--launchers", nargs="+", default=["threads", "torchrun"], choices=("threads", "torchrun"))
    options = parser.parse_args()
    print("What each rank has at factor 2.5, in units of its own tokens; the policy is routed 2.5 and shared 1.")
    print("release  ranks launcher  a2a     ep  verdict")
    passed = True
    for version in (*options.wrong, *options.right):
        root = options.releases / f"sglang-{version}" / "sglang"
        for world in options.worlds:
            seen: dict[str, object] | None = None
            for launcher in options.launchers:
                run = Run(version, version in options.wrong, world, launcher)
                cells = [one for one in runner.run(run.job(root)).measurements if one.block == LAYER]
                passed = passed and bool(cells)
                for line, good in rows(run, cells):
                    print(line, flush=True)
                    passed = passed and good
                if seen is not None and seen != numbers(cells):
                    print(f"{version}: the launchers differ on {world} ranks")
                    passed = False
                seen = numbers(cells)
    print("as asked for" if passed else "not as asked for")
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
