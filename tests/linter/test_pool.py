"""Shared work: the same results in order, whatever dies or is interrupted on the way."""

from __future__ import annotations

import os
import signal
import sys
import time

import pytest

from moelint.linter import pool

posix = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux only")


def square(number: int) -> tuple[int, str]:
    return number * number, "x" * number


def place(number: int) -> int:
    time.sleep(0.01)
    return os.getpid()


@pytest.mark.parametrize("processes", [0, 1, 2, 5])
@pytest.mark.parametrize("count", [0, 1, 7, 3000])
def test_results_are_in_the_order_of_the_items(processes: int, count: int) -> None:
    assert pool.share(square, range(count), processes) == [square(n) for n in range(count)]


@posix
def test_the_work_is_shared() -> None:
    places = pool.share(place, range(40), 3)
    assert len(set(places)) == 3
    assert os.getpid() in places


def test_new_interpreters_where_there_is_no_fork() -> None:
    begun: list[int] = []
    results = pool.Work(abs, range(-50, 0), None).spawn(2, lambda: begun.append(1))
    assert results == dict(enumerate(range(50, 0, -1)))
    assert begun == [1]


@posix
def test_what_a_dead_process_left_undone_is_done_here() -> None:
    parent = os.getpid()

    def fragile(number: int) -> int:
        if os.getpid() != parent and number > 3:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(0.002)
        return -number

    assert pool.share(fragile, range(20), 3) == [-n for n in range(20)]


@posix
def test_an_error_in_a_child_is_seen_here() -> None:
    def bad(number: int) -> int:
        time.sleep(0.002)
        if number == 5:
            raise LookupError("five")
        return number

    with pytest.raises(LookupError, match="five"):
        pool.share(bad, range(10), 2)


@posix
def test_an_interrupt_ends_the_children(monkeypatch: pytest.MonkeyPatch) -> None:
    parent = os.getpid()
    started = time.monotonic()
    children: list[int] = []
    fork = os.fork

    def noting_fork() -> int:
        children.append(pid := fork())
        return pid

    monkeypatch.setattr(os, "fork", noting_fork)

    def stop() -> None:
        raise KeyboardInterrupt

    def slow(number: int) -> int:
        assert os.getpid() != parent
        time.sleep(30)
        return number

    with pytest.raises(KeyboardInterrupt):
        pool.share(slow, range(4), 3, stop)
    assert time.monotonic() - started < 10
    assert len(children) == 2
    assert not any(os.path.exists(f"/proc/{pid}") for pid in children)


@pytest.mark.parametrize("processes", [1, 3])
def test_progress_ends_at_the_end(processes: int) -> None:
    ticks: list[tuple[int, int]] = []
    pool.share(place, range(60), processes, tick=lambda done, of: ticks.append((done, of)))
    assert ticks == sorted(ticks)
    assert {of for _, of in ticks} == {60}
    assert processes > 1 or ticks[-1] == (60, 60)


def test_no_file_is_left_open() -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    pool.share(square, range(10), 3)
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_there_is_a_processor() -> None:
    assert 1 <= pool.processors() <= (os.cpu_count() or 1)
