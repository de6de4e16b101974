"""A communication group as targets know it: sizes, ranks, and collectives that answer by a world."""

from __future__ import annotations

from typing import Any

import torch

from moelint.runtime_probe.ranks.world import Members, World


class Group:
    """The group that one rank sees. Methods that reduce or move rows are real; fused ones say that they cannot."""

    def __init__(self, world: World, rank: int, members: Members, name: str) -> None:
        self._world, self.rank, self._members = world, rank, members
        self.ranks = list(members)
        self.world_size = len(members)
        self.rank_in_group = members.index(rank)
        self.unique_name = name
        self.first_rank, self.last_rank = members[0], members[-1]
        self.is_first_rank, self.is_last_rank = rank == members[0], rank == members[-1]
        self.local_rank = rank
        self.ca_comm = self.pynccl_comm = self.cpu_group = None
        self.device_group: Any = None

    def all_reduce(self, input_: Any, *_: Any, **__: Any) -> Any:
        """The sum over the group."""
        return self._world.all_reduce(self.rank, self._members, input_)

    def quant_all_reduce(self, input_: Any, *_: Any, **__: Any) -> Any:
        """The sum over the group; nothing is quantised here."""
        return self.all_reduce(input_)

    def all_gather(self, input_: Any, dim: int = -1, *_: Any, **__: Any) -> Any:
        """The members' tensors, joined along a dimension."""
        return torch.cat(self._world.all_gather(self.rank, self._members, input_), dim)

    def all_gather_into_tensor(self, output: Any, input_: Any) -> None:
        """The members' rows into `output`."""
        output.copy_(self.all_gather(input_, 0).view_as(output))

    def reduce_scatter_tensor(self, output: Any, input_: Any) -> Any:
        """This rank's rows of the sum into `output`."""
        output.copy_(self.all_reduce(input_).chunk(self.world_size)[self.rank_in_group])
        return output

    def reduce_scatter_along_dim(self, input_: Any, dim: int = -1) -> Any:
        """This rank's part of the sum."""
        return self.all_reduce(input_).chunk(self.world_size, dim)[self.rank_in_group].contiguous()

    def fused_allreduce_rmsnorm(self, *_: Any, **__: Any) -> None:
        """None: there is no such kernel, the caller reduces by itself."""
