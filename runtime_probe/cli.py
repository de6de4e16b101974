"""`moelint probe`: run blocks for real and measure them against the policy. Imports no torch: the children do."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from moelint.runtime_probe import compare, coverage, emit, plan, ranks, report, runner, static
from moelint.runtime_probe.records import Job, Measurement, Unit

if TYPE_CHECKING:
    from rich.progress import Progress

CLEAN, WRONG, ERROR = 0, 1, 2


def main(argv: Sequence[str]) -> int:
    """Run the command and return its exit code: 0 nothing wrong, 1 something measured wrong, 2 the request is."""
    parser = _parser()
    options = parser.parse_args(argv)
    try:
        return _run(options, argv)
    except (plan.PlanError, report.ReportError, static.StaticError, runner.NoInterpreter) as error:
        print(f"moelint: {error}", file=sys.stderr)
        return ERROR


def _run(options: argparse.Namespace, argv: Sequence[str]) -> int:
    if all(target.suffix == ".json" for target in options.targets):
        return _kept(options)
    old = report.read(options.compare) if options.compare else None
    routes = static.read(options.from_report) if options.from_report else None
    flagged = plan.flagged_by(options.from_report) if options.from_report and routes is None else None
    keep = None if options.all else routes.blocks() if routes is not None else flagged
    choice = _choice(options, routes)
    jobs = [job for target in options.targets for job in plan.jobs(target, choice, keep)]
    limits = runner.Limits(memory_bytes=options.memory << 20, total_seconds=options.budget)
    runs, measurements = [], []
    with _Progress(enabled=not options.no_progress) as progress:
        for job in jobs:
            started = time.monotonic()
            result = runner.run(job, python=options.python, limits=limits, progress=progress.of(job))
            runs.append((job, result, time.monotonic() - started))
            measurements += [one for one in result.measurements if options.route in one.route]
    if flagged is not None:
        measurements = plan.with_static(measurements, flagged)
    judged = static.join(measurements, routes) if routes is not None else []
    measurements = [one.one for one in judged] if routes is not None else measurements
    if options.json:
        report.write(report.assemble(runs, measurements, ["moelint", "probe", *argv]), options.json)
    if options.json != "-":
        print("\n".join(report.table(measurements, verbose=options.verbose)))
    if routes is not None and options.json != "-":
        print("\n".join(static.lines(judged, routes)))
    if options.coverage and options.json != "-":
        print("\n".join(coverage.lines(coverage.pairs(_units(jobs), measurements))))
    if options.emit_test:
        _emit(options.emit_test, options.emit_to, jobs, measurements)
    disagree = any(one.relation == static.DISAGREES for one in judged)
    return max(_verdict(measurements, old), WRONG if disagree else CLEAN)


def _kept(options: argparse.Namespace) -> int:
    """Coverage and agreement of kept reports: nothing is run. Raises PlanError if neither is asked for."""
    measurements = [one for path in options.targets for one in report.read(path)]
    routes = static.read(options.from_report) if options.from_report else None
    if routes is None and not options.coverage:
        raise plan.PlanError("kept reports are read with --coverage or --from routes.json")
    judged = static.join(measurements, routes) if routes is not None else []
    if routes is not None:
        print("\n".join(static.lines(judged, routes)))
    if options.coverage:
        units = [unit for path in options.targets for unit in report.units(path)]
        print("\n".join(coverage.lines(coverage.pairs(units, measurements))))
    return WRONG if any(one.relation == static.DISAGREES for one in judged) else CLEAN


def _units(jobs: Sequence[Job]) -> list[Unit]:
    return [unit for job in jobs for unit in job.units]


def _verdict(measurements: list[Measurement], old: list[Measurement] | None) -> int:
    if old is None:
        return WRONG if any(map(report.is_wrong, measurements)) else CLEAN
    changed = compare.changes(old, measurements)
    for change in changed:
        print(("worse: " if change.worse else "changed: ") + str(change), file=sys.stderr)
    return WRONG if any(change.worse for change in changed) else CLEAN


def _emit(cell: str, where: Path, jobs: Sequence[Job], measurements: Sequence[Measurement]) -> None:
    one = next((one for one in measurements if one.cell == cell), None)
    if one is None:
        raise plan.PlanError(f"no cell {cell!r}; --json names them")
    job = next(job for job in jobs if job.platform == one.configuration["platform"])
    try:
        where.write_text(emit.test_file(job, one, where.name), encoding="utf-8")
    except ValueError as error:
        raise plan.PlanError(str(error)) from None
    print(f"wrote {where}", file=sys.stderr)


def _ranks(options: argparse.Namespace) -> dict[str, Any]:
    """World, launcher and back end as a job has them. Raises PlanError for what does not go together."""
    world, launcher, backend = options.world, options.launcher, options.backend
    if not 1 <= world <= ranks.MOST:
        raise plan.PlanError(f"--world {world}: from 1 to {ranks.MOST} ranks")
    if world == 1:
        if launcher or backend:
            raise plan.PlanError("--launcher and --backend need --world 2 or more")
        return {}
    launcher = launcher or ranks.LAUNCHERS[0]
    if launcher == "threads":
        if backend:
            raise plan.PlanError(f"--backend {backend} needs --launcher torchrun: threads need none")
        return {"world": world, "launcher": launcher}
    backend = backend or ("gloo" if options.device == "cpu" else "nccl")
    if backend == "nccl" and options.device == "cpu":
        raise plan.PlanError("--backend nccl needs --device cuda")
    return {"world": world, "launcher": launcher, "backend": backend}


def _choice(options: argparse.Namespace, routes: static.Routes | None) -> plan.Choice:
    return plan.Choice(
        classes=tuple(options.classes),
        platforms=_platforms(options, routes),
        device=options.device,
        framework=options.framework,
        factors=tuple(float(value) for value in options.factors.split(",")),
        seed=options.seed,
        dtype=options.dtype,
        unit_seconds=options.timeout,
        only=options.cell or options.emit_test or "",
        **_ranks(options),
        edges=options.edges,
        kernels=options.kernels,
        asks=routes.asked() if routes is not None else (),
    )


def _platforms(options: argparse.Namespace, routes: static.Routes | None) -> tuple[str, ...]:
    """Those asked for; else those that wrong cells of the route analysis are about; else the framework's."""
    if options.platform:
        return tuple(options.platform.split(","))
    return routes.platforms() if routes is not None and options.device == "cpu" else ()


def _factors(text: str) -> str:
    values = [float(value) for value in text.split(",")]
    if len(set(values)) < 2 or min(values) <= 0 or 1.0 in values:
        raise ValueError
    return text


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "moelint probe",
        description="Run the blocks of a target in child processes and measure with which weight routed and shared "
        "experts arrive. This executes the target's code; see docs/probe.md for what is limited.",
    )
    add = parser.add_argument
    add("targets", nargs="+", type=Path, metavar="PATH", help="a release's package, a folder or file of it")
    add(
        "--class",
        dest="classes",
        action="append",
        default=[],
        metavar="WORD",
        help="only blocks with WORD in path:Class",
    )
    add("--route", default="", metavar="WORD", help="report only routes with WORD in them")
    add("--cell", metavar="CELL", help="only this cell, as named in the JSON report")
    add(
        "--from",
        dest="from_report",
        type=Path,
        metavar="FILE",
        help="only classes that a check --output json or routes --json flags",
    )
    add("--all", action="store_true", help="with --from: every class, each with what check said of it")
    add("--framework", default="auto", choices=("auto", "file", *plan.PACKAGES))
    add(
        "--platform", default="", metavar="A,B", help="cuda, rocm (with aiter), hip (without), cpu; emulated on the CPU"
    )
    add("--device", default="cpu", choices=("cpu", "cuda"), help="where tensors are; cuda runs the real kernels")
    add("--dtype", default="float32", choices=("float32", "float16", "bfloat16"))
    add("--factors", default="1.5,2.5", type=_factors, metavar="X,Y", help="factor values; 1 is always measured too")
    add("--seed", default=7, type=int)
    add("--python", default=sys.executable, metavar="EXE", help="the interpreter of the engine's environment")
    add("--timeout", default=180.0, type=float, metavar="SECONDS", help="for one class")
    add("--budget", default=0.0, type=float, metavar="SECONDS", help="for one platform; 0: no limit")
    add("--memory", default=12288, type=int, metavar="MIB", help="for one child process")
    add("--world", default=1, type=int, metavar="N", help="run every block on N ranks: reductions become numbers")
    add("--launcher", default="", choices=ranks.LAUNCHERS, help="ranks as threads (default) or as processes")
    add("--backend", default="", choices=ranks.BACKENDS, help="with torchrun: gloo (CPU) or nccl (a GPU for each rank)")
    add("--json", metavar="FILE", help="write the report, to standard output for -")
    add("--compare", type=Path, metavar="OLD.json", help="exit 1 only for what is worse than in an older report")
    add("--emit-test", metavar="CELL", help="write a pytest file that reproduces this cell")
    add("--emit-to", default=Path("test_moe_cell.py"), type=Path, metavar="FILE")
    add("--kernels", action="store_true", help="compare the framework's own kernels with plain torch, not its blocks")
    add("--edges", action="store_true", help="measure a factor of None, 0 and 1, no token and one token too")
    add(
        "--coverage",
        action="store_true",
        help="print how many (class, route) pairs were measured and why not the others; PATHs may be kept reports",
    )
    add("--verbose", action="store_true", help="print the cells that match as well")
    add("--no-progress", action="store_true")
    return parser


class _Progress:
    """A bar for people who watch; silent in pipes, and where rich is not installed."""

    def __init__(self, *, enabled: bool) -> None:
        self._bar = _rich_bar() if enabled and sys.stderr.isatty() else None

    def __enter__(self) -> _Progress:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def of(self, job: Job) -> Callable[[str, int, int], None] | None:
        """What the runner calls after each unit of the job."""
        bar = self._bar
        if bar is None:
            return None
        task = bar.add_task(f"{job.framework} on {job.platform}", total=len(job.units))

        def advance(unit: str, done: int, total: int) -> None:
            bar.update(task, completed=done, total=total, description=f"{job.platform} {unit.rpartition(':')[2]}")

        return advance


def _rich_bar() -> Progress | None:
    try:
        from rich import progress
        from rich.console import Console
    except ImportError:
        return None
    return progress.Progress(console=Console(stderr=True), transient=True)
