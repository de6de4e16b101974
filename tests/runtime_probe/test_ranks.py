"""Several ranks, as threads and as processes: the same numbers, and no rank that is lost holds up or spoils a run."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

from moelint.runtime_probe import cli, emit, plan, runner
from moelint.runtime_probe.ranks import launch
from moelint.runtime_probe.ranks.judging import Had, judge, leaves_its_sum
from moelint.runtime_probe.ranks.world import Desynchronised, Stuck, Threads
from moelint.runtime_probe.records import Expected, Job, Measurement, Unit, Weights

TOY = """
import os, time, torch
RSF = 2.5
def report(function, want_routed=RSF, want_shared=1.0, base=1.0): ...
def block(group):
    out = torch.zeros(3, 4)
    out[:, 0] = RSF / group.world_size
    out[:, 1] = 1.0 / group.world_size
    first = group.rank_in_group == 0
    {body}
def main():
    return report(block, want_routed=RSF)
"""
BODIES = {
    "once": "return group.all_reduce(out)",
    "twice": "return group.all_reduce(group.all_reduce(out))",
    "never": "return out",
    "gathered": "return sum(group.all_gather(out, 0).chunk(group.world_size))",
    "scattered": "return group.reduce_scatter_along_dim(torch.cat([out] * group.world_size), 0)",
    "other": "return group.all_reduce(out * (1 + group.rank_in_group)) / (1 + group.rank_in_group)",
    "killed": "print('down', flush=True)\\n    first or os.kill(os.getpid(), 9)\\n    return group.all_reduce(out)",
    "hangs": "\\n    while not first: time.sleep(0.1)\\n    return group.all_reduce(out)",
    "skips": "return out if first else group.all_reduce(out)",
    "raises": "return group.all_reduce(out) if first else 1 / 0",
}
WRONG = {
    "twice": ["rank 0: routed weight at factor 1 2, expected 1", "rank 1: routed weight at factor 1 2"],
    "never": ["rank 0: routed weight at factor 1 0.5, expected 1"],
    "other": ["rank 0: routed weight at factor 1 1.5, expected 1", "rank 1: routed weight at factor 1 0.75"],
}


def probed(folder: Path, names: list[str], launcher: str, seconds: float = 60.0) -> dict[str, Measurement]:
    """Probe toys on two ranks."""
    for name in names:
        body = BODIES[name].replace("\\n", "\n")
        (folder / f"{name}.py").write_text(TOY.format(body=body))
    backend = "gloo" if launcher == "torchrun" else ""
    units = tuple(Unit(f"{name}.py", name) for name in names)
    job = Job(
        "file", str(folder), "cpu", "cpu", units, unit_seconds=seconds, world=2, launcher=launcher, backend=backend
    )
    found = runner.run(job, limits=runner.Limits(grace_seconds=20.0)).measurements
    assert len(found) == len(names)
    return {one.block: one for one in found}


def numbers(one: Measurement) -> Any:
    return one.verdict, one.reason, one.measured, one.shares, one.cell


def test_threads_and_processes_measure_the_same(tmp_path: Path) -> None:
    names = ["once", "twice", "never", "gathered", "scattered", "other"]
    threads, processes = (probed(tmp_path, names, launcher) for launcher in ("threads", "torchrun"))
    for name in names:
        one = threads[name]
        assert numbers(one) == numbers(processes[name])
        assert (one.world, one.launcher, one.backend) == (2, "threads", "")
        assert (processes[name].launcher, processes[name].backend) == ("torchrun", "gloo")
        assert one.verdict == ("violates" if name in WRONG else "matches"), one.reason
        assert all(part in one.reason for part in WRONG.get(name, []))
        assert Measurement.from_dict(one.as_dict()) == one


LOST = {
    "threads": {
        "killed": "the child was ended by SIGKILL",
        "hangs": "time limit of 8 s; rank 1 hangs after 0 collectives",
        "skips": "rank 1 waits in all_reduce(3, 4), and nobody else comes",
        "raises": "ZeroDivisionError",
    },
    "torchrun": {
        "killed": "rank 1 was ended by signal 9; its log: down",
        "hangs": "rank 1 did not come to all_reduce, where the others wait",
    },
}


@pytest.mark.parametrize("launcher", LOST)
def test_lost_ranks_are_named_and_the_other_classes_run(launcher: str, tmp_path: Path) -> None:
    started = time.monotonic()
    found = probed(tmp_path, [*LOST[launcher], "once"], launcher, seconds=8.0 if launcher == "threads" else 12.0)
    assert time.monotonic() - started < 240
    for name, reason in LOST[launcher].items():
        assert found[name].verdict == "not-run"
        assert reason in found[name].reason
    assert found["once"].verdict == "matches", found["once"].reason


def meet(size: int, *tasks: Any) -> dict[int, Any]:
    import contextlib

    world = Threads(size)
    entered: list[int] = []

    @contextlib.contextmanager
    def as_rank(rank: int) -> Any:
        entered.append(rank)
        yield
        assert entered.pop() == rank, "another rank ran in between"

    return world.run(
        {rank: (lambda task=task, rank=rank: task(world, rank)) for rank, task in enumerate(tasks)}, as_rank
    )


def test_only_one_rank_runs_at_a_time_and_groups_meet_by_themselves() -> None:
    torch = pytest.importorskip("torch")

    def task(world: Threads, rank: int) -> Any:
        pair = (0, 1) if rank < 2 else (2, 3)
        value = torch.tensor([float(rank + 1)])
        first = world.all_reduce(rank, pair, value)
        swapped = world.all_to_all(rank, (0, 1, 2, 3), [value * 10 + other for other in range(4)])
        return [float(first), [float(one) for one in swapped]]

    found = meet(4, *[task] * 4)
    assert [one[0] for one in found.values()] == [3.0, 3.0, 7.0, 7.0]
    assert found[2][1] == [12.0, 22.0, 32.0, 42.0]
    assert threading.active_count() == 1


def test_ranks_in_different_collectives_are_told_apart() -> None:
    torch = pytest.importorskip("torch")
    value = torch.zeros(2)
    with pytest.raises(Desynchronised, match=r"rank 1 enters all_gather\(2,\), others of \(0, 1\) all_reduce\(2,\)"):
        meet(2, lambda w, r: w.all_reduce(r, (0, 1), value), lambda w, r: w.all_gather(r, (0, 1), value))


def test_a_rank_that_exits_is_lost() -> None:
    def leave(*_: Any) -> None:
        raise SystemExit(3)

    with pytest.raises(Stuck, match="rank 1 ended with SystemExit: 3"):
        meet(2, lambda *_: None, leave)


def test_the_rank_that_is_off_is_shown() -> None:
    right = {factor: [factor / 2, factor / 2] for factor in (1.0, 1.5, 2.5)}
    wrong = {factor: [factor, factor / 2] for factor in (1.0, 1.5, 2.5)}
    one = {factor: [0.5, 0.5] for factor in (1.0, 1.5, 2.5)}
    expected = Expected(1.0, 0.0, 1.0, 1.0)
    judged = judge([Had(0, right, one), Had(1, wrong, one)], expected, (1.5, 2.5), 1e-3)
    assert (judged.verdict, judged.reason) == ("violates", "rank 1: routed weight at factor 1 1.5, expected 1")
    assert judged.measured.baseline == 1.5
    assert judged.shares[1].routed_from == (1.0, 0.5)
    assert judge([Had(0, right, one)], expected, (1.5, 2.5), 1e-3).verdict == "matches"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--world", "0"], "--world 0: from 1 to 32 ranks"),
        (["--world", "33"], "--world 33: from 1 to 32 ranks"),
        (["--launcher", "torchrun"], "--launcher and --backend need --world 2 or more"),
        (["--world", "2", "--backend", "gloo"], "--backend gloo needs --launcher torchrun"),
        (["--world", "2", "--launcher", "torchrun", "--backend", "nccl"], "--backend nccl needs --device cuda"),
    ],
)
def test_what_does_not_go_together_is_said(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "toy.py").write_text("")
    assert cli.main([str(tmp_path), *options]) == 2
    assert message in capsys.readouterr().err


def test_blocks_without_an_adapter_for_ranks_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "transformers" / "models").mkdir(parents=True)
    assert cli.main([str(tmp_path / "transformers"), "--world", "2"]) == 2
    assert "blocks of transformers are not measured on several ranks" in capsys.readouterr().err


def test_the_first_failure_that_torchrun_names_is_the_cause(tmp_path: Path) -> None:
    output = [
        "[rank1]:something went wrong",
        "Root Cause (first observed failure):",
        "[0]:",
        "  rank      : 1 (local_rank: 1)",
        "  exitcode  : -11 (pid: 7)",
    ]
    assert (
        launch.how_it_ended(output, tmp_path, 2, "x") == "rank 1 was ended by signal 11; its log: something went wrong"
    )
    assert launch.how_it_ended([], tmp_path, 2, "the time is over") == "the time is over"


def test_a_part_that_is_left_whole_to_somebody_else_is_no_verdict() -> None:
    expected = Expected(1.0, 0.0, 1.0, 1.0)
    parts = [
        {factor: [factor / 2 if rank == one else 0.0 for one in (0, 1)] for factor in (1.0, 1.5, 2.5)}
        for rank in (0, 1)
    ]
    half = [{factor: [0.5 if rank == one else 0.0 for one in (0, 1)] for factor in (1.0, 1.5, 2.5)} for rank in (0, 1)]
    full = [{factor: [1.0 if rank == one else 0.0 for one in (0, 1)] for factor in (1.0, 1.5, 2.5)} for rank in (0, 1)]
    left = [Had(rank, parts[rank], half[rank]) for rank in (0, 1)]
    assert leaves_its_sum(left, expected, 1e-3)
    assert not leaves_its_sum([Had(rank, parts[rank], full[rank]) for rank in (0, 1)], expected, 1e-3)
    together = {factor: [factor / 2, factor / 2] for factor in (1.0, 1.5, 2.5)}
    assert not leaves_its_sum([Had(rank, together, half[rank]) for rank in (0, 1)], expected, 1e-3)


SHARED = """
class RowParallelLinear:
    def __init__(self, reduce_results=True, **keywords): ...

class Mlp:
    def __init__(self, hidden_size, reduce_results=True, tp_size=None, parallel_group="tp"):
        self.down_proj = RowParallelLinear(reduce_results=reduce_results)

class Fixed:
    def __init__(self, hidden_size):
        self.down_proj = RowParallelLinear(reduce_results=False)
"""


@pytest.mark.parametrize(
    ("name", "keywords", "sharded", "reduces"),
    [
        ("Mlp", {}, True, True),
        ("Mlp", {"reduce_results": False}, True, False),
        ("Mlp", {"tp_size": 1}, False, True),
        ("Mlp", {"parallel_group": "replicated"}, False, True),
        ("Fixed", {}, True, False),
    ],
)
def test_a_shared_expert_is_sharded_and_reduces_as_its_class_does(
    name: str, keywords: dict[str, Any], sharded: bool, reduces: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    from moelint.runtime_probe.ranks.shards import Layout, Shards, shared_class

    (tmp_path / "toy_shared.py").write_text(SHARED)
    monkeypatch.syspath_prepend(tmp_path)
    import toy_shared

    made = shared_class(getattr(toy_shared, name), Shards(Threads(1), Layout(2, 1), 0))(64, **keywords)
    assert (made.sharded, made.reduces) == (sharded, reduces)


def test_a_cell_of_a_layer_is_looked_for_in_the_blocks_of_its_file(tmp_path: Path) -> None:
    made = "        self.experts = make()\n        self.gate = make()\n"
    code = f"class Moe:\n    def __init__(self):\n{made}    def forward(self, x): ...\n"
    models = tmp_path / "sglang" / "srt" / "models"
    models.mkdir(parents=True)
    (models / "toy.py").write_text(code)
    cell = "srt/models/toy.py:Layer|forward|platform=cuda"
    (job, *_) = plan.jobs(tmp_path / "sglang", plan.Choice(only=cell, world=2, launcher="threads"))
    assert [unit.block for unit in job.units] == ["Moe"]
    with pytest.raises(plan.PlanError, match="no block to probe"):
        plan.jobs(tmp_path / "sglang", plan.Choice(only=cell))
    one = Measurement(
        "srt/models/toy.py", "Layer", "forward", {}, "cpu", "matches", expected=Expected(), measured=Weights()
    )
    with pytest.raises(ValueError, match="a cell of a layer around a block"):
        emit.test_file(job, one, "test_x.py")
