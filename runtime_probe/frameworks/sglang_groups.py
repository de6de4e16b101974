"""SGLang's communication groups: where a release keeps them, and groups of which a single rank is here."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

from moelint.runtime_probe.emitter import Inconclusive
from moelint.runtime_probe.ranks.group import Group
from moelint.runtime_probe.ranks.world import AsRank, Members

_STATE = "sglang.srt.distributed.parallel_state"
AXES = {
    "world_group": "tp",
    "tp_group": "tp",
    "attn_tp_group": "tp",
    "shared_experts_tp_group": "tp",
    "moe_ep_group": "ep",
    "moe_tp_group": "moe_tp",
    "moe_dp_group": "one",
    "pp_group": "one",
    "attn_cp_group": "one",
    "dcp_group": "one",
}
"""Field of the parallel context -> the axis of its group. A release with groups in globals has `tp_group` as `_TP`."""


@contextlib.contextmanager
def in_globals(groups: Mapping[str, Any]) -> Iterator[None]:
    """The groups, by field, in those globals of the release's parallel state that it has."""
    state = importlib.import_module(_STATE)
    with contextlib.ExitStack() as stack:
        for field, group in groups.items():
            name = "_" + field.removesuffix("_group").upper()
            if hasattr(state, name):
                stack.enter_context(mock.patch.object(state, name, group))
        yield


class Alone:
    """A world of which one rank is here: a collective of that rank by itself is the identity."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.here = (0,)

    def prepare(self, groups: Sequence[Members]) -> None:
        """Do nothing: there is nobody to meet."""

    def run(self, tasks: Mapping[int, Callable[[], Any]], as_rank: AsRank) -> dict[int, Any]:
        """The result of the task of the rank that is here."""
        with as_rank(0):
            return {0: tasks[0]()}

    def all_reduce(self, rank: int, members: Members, value: Any) -> Any:
        """The value. Raises Inconclusive where other ranks would add theirs."""
        return self._own(members, value).clone()

    def all_gather(self, rank: int, members: Members, value: Any) -> list[Any]:
        """The value. Raises Inconclusive where other ranks have values too."""
        return [self._own(members, value).clone()]

    def all_to_all(self, rank: int, members: Members, values: Sequence[Any]) -> list[Any]:
        """The values. Raises Inconclusive where other ranks have values too."""
        return [self._own(members, value).clone() for value in values]

    def share(self, values: dict[int, Any]) -> dict[int, Any]:
        """The values of the rank that is here."""
        return values

    def _own(self, members: Members, value: Any) -> Any:
        if len(members) > 1:
            raise Inconclusive(f"a collective of {len(members)} ranks of which one is here")
        return value


class ProcessGroup:
    """What blocks ask the process group below a group: size and rank."""

    def __init__(self, size: int) -> None:
        self._size = size

    def size(self) -> int:
        """How many ranks there are."""
        return self._size

    def rank(self) -> int:
        """The one that is here."""
        return 0


def alone(ranks: int) -> dict[str, Group]:
    """The groups of rank 0 of so many expert-parallel ranks, by field."""
    world = Alone(ranks)
    sizes = {"tp": ranks, "ep": ranks, "moe_tp": 1, "one": 1}
    groups = {field: Group(world, 0, tuple(range(sizes[axis])), axis) for field, axis in AXES.items()}
    for group in groups.values():
        group.device_group = ProcessGroup(group.world_size)
    return groups
