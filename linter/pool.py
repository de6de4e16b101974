"""Work shared between processes: `os.fork` on Linux, where it costs a millisecond, and `spawn` elsewhere.

Items are handed out in order, one ticket at a time, through a pipe, so that no process waits while another has work
left. Results must be what `marshal` can write.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

    Function = Callable[[Any], Any]
    Meanwhile = Callable[[], object]
    Tick = Callable[[int, int], object]

_TICKET = 4
_MAX_TICKETS = 1024
"""As many as fit into the smallest pipe (one page) while nobody reads from it yet."""


def processors() -> int:
    """How many processors this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def share(
    function: Function,
    items: Sequence[Any],
    processes: int,
    meanwhile: Meanwhile | None = None,
    tick: Tick | None = None,
) -> list[Any]:
    """`[function(item) for item in items]`, worked out by this process and `processes - 1` others.

    `meanwhile` is called here as soon as the others have begun, `tick(n, of)` now and then when n items have been
    begun. What a process that died has left undone is done here.
    """
    work = Work(function, items, tick)
    if min(processes, len(items)) <= 1:
        results = work.serial()
    elif sys.platform == "linux":
        results = work.fork(processes, meanwhile)
    else:
        results = work.spawn(processes, meanwhile)
    return [results[index] if index in results else function(item) for index, item in enumerate(items)]


class Work:
    """One round of shared work; each method gives the results by the index of their item."""

    def __init__(self, function: Function, items: Sequence[Any], tick: Tick | None) -> None:
        self._function = function
        self._items = items
        self._tick = tick
        self._step = -(-len(items) // _MAX_TICKETS)
        self._tickets = -1

    def serial(self) -> dict[int, Any]:
        """In this process alone."""
        return dict(self._do(range(len(self._items))))

    def fork(self, processes: int, meanwhile: Meanwhile | None) -> dict[int, Any]:
        """In forked children, which know the items, and here."""
        self._tickets, writer = os.pipe()
        starts = range(0, len(self._items), self._step)
        os.write(writer, b"".join(start.to_bytes(_TICKET, "little") for start in starts))
        os.close(writer)
        children: list[tuple[int, int]] = []
        try:
            children += (self._start_child() for _ in range(processes - 1))
            if meanwhile is not None:
                meanwhile()
            results = self._take()
            for _, reader in children:
                results.update(_results_of(reader))
        except BaseException:
            import signal

            for pid, _ in children:
                os.kill(pid, signal.SIGKILL)
            raise
        finally:
            os.close(self._tickets)
            for pid, reader in children:
                os.close(reader)
                os.waitpid(pid, 0)
        return results

    def spawn(self, processes: int, meanwhile: Meanwhile | None) -> dict[int, Any]:
        """In new interpreters, which are sent function and items."""
        from concurrent.futures import ProcessPoolExecutor
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        results: dict[int, Any] = {}
        chunk = -(-len(self._items) // (processes * 8))
        with ProcessPoolExecutor(processes, get_context("spawn")) as executor:
            answers = executor.map(self._function, self._items, chunksize=chunk)
            if meanwhile is not None:
                meanwhile()
            try:
                for index, answer in enumerate(answers):
                    results[index] = answer
                    if self._tick is not None:
                        self._tick(index + 1, len(self._items))
            except BrokenProcessPool:
                pass
        return results

    def _do(self, indexes: range) -> Iterator[tuple[int, Any]]:
        for index in indexes:
            yield index, self._function(self._items[index])
            if self._tick is not None:
                self._tick(index + 1, len(self._items))

    def _take(self) -> dict[int, Any]:
        results: dict[int, Any] = {}
        while ticket := os.read(self._tickets, _TICKET):
            start = int.from_bytes(ticket, "little")
            results.update(self._do(range(start, min(start + self._step, len(self._items)))))
        return results

    def _start_child(self) -> tuple[int, int]:
        """The number of a child process that works, and the pipe in which its results will come."""
        reader, writer = os.pipe()
        pid = os.fork()
        if pid:
            os.close(writer)
            return pid, reader
        code = 1
        try:
            import marshal

            os.close(reader)
            self._tick = None
            data = memoryview(marshal.dumps(self._take()))
            while data:
                data = data[os.write(writer, data) :]
            code = 0
        finally:
            os._exit(code)


def _results_of(reader: int) -> dict[int, Any]:
    import marshal

    parts: list[bytes] = []
    while part := os.read(reader, 1 << 20):
        parts.append(part)
    try:
        results: dict[int, Any] = marshal.loads(b"".join(parts))
    except (EOFError, ValueError, TypeError):
        return {}
    return results
