"""One rank in each process, over torch.distributed: gloo on the CPU, NCCL on GPUs. torchrun starts the processes."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist

from moelint.runtime_probe.describe import describe
from moelint.runtime_probe.ranks import launch
from moelint.runtime_probe.ranks.world import AsRank, Desynchronised, Members, Stuck

PATIENCE = 15.0
"""Seconds that a rank with an error waits for the others to have one too, before the run is given up."""


class Processes:
    """This process is one rank of the world that torchrun made."""

    def __init__(self, backend: str, folder: Path, seconds: float) -> None:
        """`folder`: shared by the ranks. `seconds`: how long a collective may take. Raises what torch raises."""
        self._rank, self._size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self._seconds, self._folder = seconds, folder
        self._on_cpu = backend == "gloo"
        self._progress = os.open(launch.progress_file(folder, self._rank), os.O_CREAT | os.O_WRONLY, 0o600)
        self._store = dist.FileStore(str(folder / "store"), self._size)
        if not self._on_cpu:
            torch.cuda.set_device(self._rank % torch.cuda.device_count())
        dist.init_process_group(
            backend, store=self._store, rank=self._rank, world_size=self._size, timeout=timedelta(seconds=seconds)
        )
        self._groups: dict[Members, Any] = {tuple(range(self._size)): dist.group.WORLD}
        self._shared = self._collectives = 0

    @property
    def size(self) -> int:
        """How many ranks there are."""
        return self._size

    @property
    def here(self) -> tuple[int, ...]:
        """The one of this process."""
        return (self._rank,)

    def prepare(self, groups: Sequence[Members]) -> None:
        """Make the groups that are not made yet; every rank must ask for the same ones."""
        for members in groups:
            if len(members) > 1 and members not in self._groups:
                self._groups[members] = dist.new_group(list(members), timeout=timedelta(seconds=self._seconds))

    def run(self, tasks: Mapping[int, Callable[[], Any]], as_rank: AsRank) -> dict[int, Any]:
        """See World. The ranks agree on the outcome, so that none goes on alone."""
        mine: Exception | None = None
        result = None
        try:
            with as_rank(self._rank):
                result = tasks[self._rank]()
        except Exception as error:
            mine = error
        except BaseException as error:
            raise Stuck(self._who() or f"rank {self._rank} hangs after {self._collectives} collectives") from error
        failed = {rank: one for rank, one in self._outcomes(mine).items() if one}
        if mine is not None:
            raise mine
        if failed:
            raise Desynchronised("; ".join(f"rank {rank}: {one}" for rank, one in sorted(failed.items())))
        return {self._rank: result}

    def _outcomes(self, mine: Exception | None) -> dict[int, Any]:
        reason = describe(mine) if mine is not None else ""
        try:
            return self._exchange(reason, PATIENCE if mine is not None else self._seconds)
        except TimeoutError as error:
            cause = f"rank {self._rank}: {reason}, and the others wait for it" if reason else self._who() or str(error)
            raise Stuck(cause) from mine

    def _who(self) -> str:
        return launch.lagging(self._folder, self._size)

    def share(self, values: dict[int, Any]) -> dict[int, Any]:
        """See World."""
        return self._exchange(values[self._rank], self._seconds)

    def _exchange(self, value: Any, seconds: float) -> dict[int, Any]:
        """Everybody's value, over the store and not the backend, which may be what fails. Raises TimeoutError."""
        self._shared += 1
        keys = {rank: f"{self._shared}/{rank}" for rank in range(self._size)}
        self._store.set(keys[self._rank], json.dumps(value))
        found = {}
        for rank, key in keys.items():
            try:
                self._store.wait([key], timedelta(seconds=seconds))
            except (RuntimeError, dist.DistStoreError):
                raise TimeoutError(f"rank {rank} did not answer within {seconds:g} s") from None
            found[rank] = json.loads(self._store.get(key))
        return found

    def _note(self, what: str) -> None:
        self._collectives += 1
        os.pwrite(self._progress, f"{self._collectives} {what}\n".ljust(64).encode(), 0)

    def _sent(self, value: Any) -> Any:
        """The tensor where the backend can take it, and nobody else's."""
        return value.detach().to("cpu", copy=True) if self._on_cpu else value.detach().clone().contiguous()

    def all_reduce(self, rank: int, members: Members, value: Any) -> Any:
        """See World."""
        self._note("all_reduce")
        total = self._sent(value)
        if len(members) > 1:
            dist.all_reduce(total, group=self._groups[members])
        return total.to(value.device)

    def all_gather(self, rank: int, members: Members, value: Any) -> list[Any]:
        """See World."""
        self._note("all_gather")
        sent = self._sent(value).contiguous()
        if len(members) == 1:
            return [sent.to(value.device)]
        parts = [torch.empty_like(sent) for _ in members]
        dist.all_gather(parts, sent, group=self._groups[members])
        return [part.to(value.device) for part in parts]

    def all_to_all(self, rank: int, members: Members, values: Sequence[Any]) -> list[Any]:
        """See World."""
        self._note("all_to_all")
        sent = self._sent(torch.stack(list(values))).contiguous()
        if len(members) == 1:
            return [sent[0].to(values[0].device)]
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=self._groups[members])
        return list(received.to(values[0].device))

    def close(self) -> None:
        """Leave the group; what goes wrong now no longer matters."""
        with contextlib.suppress(Exception):
            dist.destroy_process_group()
