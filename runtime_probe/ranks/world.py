"""What ranks are to the probe: how many there are, which of them run here, and three collectives.

Two worlds keep the same promises. `Threads` runs all ranks in this process, one at a time, and changes rank only where
they meet; `moelint.runtime_probe.ranks.processes` runs one rank in each process over torch.distributed.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

Members = tuple[int, ...]
"""The ranks of a group, ascending."""
AsRank = Callable[[int], contextlib.AbstractContextManager[Any]]
"""Puts the process into the state that a rank sees."""


class Desynchronised(RuntimeError):
    """The ranks do not meet: one skipped a collective, or they entered different ones."""


class Stuck(BaseException):
    """A rank is lost for good: the process that holds it must end. No Exception, so that no target handles it."""


class World(Protocol):
    """Ranks that meet in collectives."""

    @property
    def size(self) -> int:
        """How many ranks there are."""

    @property
    def here(self) -> tuple[int, ...]:
        """The ranks that run in this process."""

    def prepare(self, groups: Sequence[Members]) -> None:
        """Get ready for these groups; every rank asks for the same ones."""

    def run(self, tasks: Mapping[int, Callable[[], Any]], as_rank: AsRank) -> dict[int, Any]:
        """Run a task for each rank that is here, in its state, and return what they returned, by rank.

        Raises the first exception of a task, Desynchronised where the ranks do not meet, Stuck where one never returns.
        """

    def all_reduce(self, rank: int, members: Members, value: Any) -> Any:
        """The sum of the members' tensors, as a new tensor."""

    def all_gather(self, rank: int, members: Members, value: Any) -> list[Any]:
        """The members' tensors, in the order of the members. They have the same shape."""

    def all_to_all(self, rank: int, members: Members, values: Sequence[Any]) -> list[Any]:
        """What each member has for this rank, given what this rank has for each. All have the same shape."""

    def share(self, values: dict[int, Any]) -> dict[int, Any]:
        """The values of all ranks, given those of the ranks that are here. They must be JSON-like."""


@dataclass
class _Meeting:
    """One collective of one group: who has arrived with what."""

    what: str
    values: dict[int, Any] = field(default_factory=dict)
    complete: bool = False


class Threads:
    """All ranks in this process, as threads in lockstep: a collective is a barrier and a sum.

    A single thread runs at any time, so that state which the target keeps for the whole process can be that of the rank
    that runs. With a single rank it is plain code without a second thread.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._turn = threading.Condition()
        self._running: int | None = None
        self._ready: list[int] = []
        self._waiting: dict[int, tuple[Members, int]] = {}
        self._met: dict[tuple[int, Members], int] = {}
        self._meetings: dict[tuple[Members, int], _Meeting] = {}
        self._errors: dict[int, BaseException] = {}
        self._broken = ""
        self._state: dict[int, contextlib.ExitStack] = {}
        self._as_rank: AsRank = lambda _: contextlib.nullcontext()

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._size

    @property
    def here(self) -> tuple[int, ...]:
        """All of them."""
        return tuple(range(self._size))

    def prepare(self, groups: Sequence[Members]) -> None:
        """See World: there is nothing to do."""

    def run(self, tasks: Mapping[int, Callable[[], Any]], as_rank: AsRank) -> dict[int, Any]:
        """See World. A rank that never meets the others holds its thread for ever: the caller's alarm ends the wait."""
        self.__init__(self._size)  # type: ignore[misc]  # nothing of an earlier run is left
        self._as_rank = as_rank
        results: dict[int, Any] = {}
        threads = [
            threading.Thread(target=self._live, args=(rank, tasks[rank], results), daemon=True, name=f"rank {rank}")
            for rank in self.here
        ]
        self._ready = list(self.here)
        self._running = self._ready.pop(0)
        for thread in threads:
            thread.start()
        try:
            for thread in threads:
                thread.join()
        except BaseException as error:
            raise Stuck(f"rank {self._running} hangs {self._place(self._running)}") from error
        self._raise_first()
        return results

    def _raise_first(self) -> None:
        own = {rank: error for rank, error in self._errors.items() if not isinstance(error, Desynchronised)}
        for rank, error in sorted((own or self._errors).items()):
            if not isinstance(error, Exception):
                raise Stuck(f"rank {rank} ended with {type(error).__name__}: {error}") from error
            raise error

    def _live(self, rank: int, task: Callable[[], Any], results: dict[int, Any]) -> None:
        self._await(rank)
        try:
            with self._entered(rank):
                results[rank] = task()
        except BaseException as error:
            self._errors[rank] = error
        with self._turn:
            if rank in self._errors and not self._broken:
                self._broken = f"rank {rank} ended with an error"
                self._release_all()
            self._pass_on()

    @contextlib.contextmanager
    def _entered(self, rank: int) -> Iterator[None]:
        self._enter(rank)
        try:
            yield
        finally:
            self._leave(rank)

    def _enter(self, rank: int) -> None:
        self._state[rank] = contextlib.ExitStack()
        self._state[rank].enter_context(self._as_rank(rank))

    def _leave(self, rank: int) -> None:
        self._state.pop(rank).close()

    def _await(self, rank: int) -> None:
        with self._turn:
            self._turn.wait_for(lambda: self._running == rank)

    def _pass_on(self) -> None:
        """Give the turn to the next rank that can go on. With the condition held."""
        self._running = self._ready.pop(0) if self._ready else None
        if self._running is None and self._waiting:
            waiting = ", ".join(f"rank {rank} {self._place(rank)}" for rank in sorted(self._waiting))
            self._broken = self._broken or f"{waiting}, and nobody else comes"
            self._release_all()
            self._running = self._ready.pop(0)
        self._turn.notify_all()

    def _release_all(self) -> None:
        self._ready += sorted(self._waiting)
        self._waiting.clear()

    def _place(self, rank: int | None) -> str:
        if rank in self._waiting:
            return f"waits in {self._meetings[self._waiting[rank]].what}"
        count = sum(number for (one, _), number in self._met.items() if one == rank)
        return f"after {count} collectives"

    def _meet(self, rank: int, members: Members, what: str, value: Any) -> list[Any]:
        """Wait for all members, and return their values in the order of the members."""
        if len(members) == 1:
            return [value]
        number = self._met.get((rank, members), 0)
        self._met[rank, members] = number + 1
        key = (members, number)
        self._leave(rank)
        try:
            with self._turn:
                meeting = self._meetings.setdefault(key, _Meeting(what))
                if meeting.what != what and not self._broken:
                    self._broken = f"rank {rank} enters {what}, others of {members} {meeting.what}"
                    self._release_all()
                meeting.values[rank] = value
                if not self._broken and len(meeting.values) == len(members):
                    meeting.complete = True
                    arrived = [one for one in members if one in self._waiting]
                    for one in arrived:
                        del self._waiting[one]
                    self._ready += arrived
                    self._ready.append(rank)
                elif self._broken:
                    self._ready.append(rank)
                else:
                    self._waiting[rank] = key
                self._pass_on()
                self._turn.wait_for(lambda: self._running == rank)
        finally:
            self._enter(rank)
        if not meeting.complete:
            raise Desynchronised(self._broken)
        return [meeting.values[one] for one in members]

    def all_reduce(self, rank: int, members: Members, value: Any) -> Any:
        """See World."""
        met = self._meet(rank, members, f"all_reduce{tuple(value.shape)}", value.clone())
        total = met[0].clone()
        for one in met[1:]:
            total += one
        return total

    def all_gather(self, rank: int, members: Members, value: Any) -> list[Any]:
        """See World."""
        met = self._meet(rank, members, f"all_gather{tuple(value.shape)}", value.clone())
        return [one.clone() for one in met]

    def all_to_all(self, rank: int, members: Members, values: Sequence[Any]) -> list[Any]:
        """See World."""
        met = self._meet(rank, members, f"all_to_all{tuple(values[0].shape)}", [value.clone() for value in values])
        place = members.index(rank)
        return [one[place].clone() for one in met]

    def share(self, values: dict[int, Any]) -> dict[int, Any]:
        """See World: all ranks are here."""
        return values
