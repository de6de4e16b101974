"""Linear stand-ins that are sharded: every rank puts its part on a channel of its own.

A token carries its amplitude on one input channel, and every part is that amplitude times a weight, so that a sum of
other tokens shows. What the routed experts on rank r put in is on output channel r, what the shared expert's shard on
rank r puts in on channel `HIDDEN / 2 + r`.
"""

from __future__ import annotations

import ast
import inspect
from dataclasses import dataclass
from typing import Any

import torch

from moelint.runtime_probe import reading
from moelint.runtime_probe.ranks.group import Group
from moelint.runtime_probe.ranks.world import Members, World
from moelint.runtime_probe.standins import Leaves, SharedExpert
from moelint.runtime_probe.tiny import EXPERTS, HIDDEN

AMPLITUDE = 1
"""The input channel that carries a token's amplitude."""
MOST = HIDDEN // 2
"""How many ranks there are channels for."""


@dataclass(frozen=True)
class Layout:
    """How many ranks share what. `experts`: expert-parallel ranks; the rest of the world shards each expert."""

    world: int
    experts: int
    all_to_all: bool = False
    """Whether rows travel to the experts' ranks and come back complete; every rank then has tokens of its own."""

    def members(self, rank: int, axis: str) -> Members:
        """The rank's group along an axis: `tp` is everybody, `ep` same shard, `moe_tp` same experts, `one` itself."""
        shards = self.world // self.experts
        if axis == "tp":
            return tuple(range(self.world))
        if axis == "ep":
            return tuple(range(rank % shards, self.world, shards))
        if axis == "moe_tp":
            first = rank - rank % shards
            return tuple(range(first, first + shards))
        return (rank,)


class Shards(Leaves):
    """The leaves of one rank: where it is, and what it puts out."""

    def __init__(self, world: World, layout: Layout, rank: int) -> None:
        super().__init__()
        self.world, self.layout, self.rank = world, layout, rank

    def group(self, axis: str) -> Group:
        """This rank's group along an axis."""
        return Group(self.world, self.rank, self.layout.members(self.rank, axis), axis)

    def routed(self, hidden: Any, ids: Any, routing_weights: Any) -> Any:
        """The experts' output of shape (tokens, channels): a part of it, or all of it where rows travel."""
        self.experts_called += 1
        amplitude = hidden[..., AMPLITUDE].reshape(-1, 1).float()
        count = amplitude.shape[0]
        weight = routing_weights.reshape(count, -1).float()
        numbers = ids.reshape(count, -1).float()
        rows = torch.cat([amplitude, numbers, weight], 1)
        if not self.layout.all_to_all:
            return self._computed(rows).to(hidden.dtype)
        members = self.layout.members(self.rank, "tp")
        received = self.world.all_to_all(self.rank, members, [rows] * len(members))
        returned = self.world.all_to_all(self.rank, members, [self._computed(one) for one in received])
        return torch.stack(returned).sum(0).to(hidden.dtype)

    def _computed(self, rows: Any) -> Any:
        """What this rank's experts make of rows of (amplitude, numbers, weights)."""
        width = (rows.shape[1] - 1) // 2
        amplitude, numbers, weight = rows[:, :1], rows[:, 1 : 1 + width], rows[:, 1 + width :]
        place = self.layout.members(self.rank, "ep").index(self.rank)
        held = EXPERTS // self.layout.experts
        mine = (numbers >= place * held) & (numbers < (place + 1) * held)
        out = torch.zeros(rows.shape[0], HIDDEN, device=rows.device)
        shards = len(self.layout.members(self.rank, "moe_tp"))
        out[:, self.rank] = self.amplitude * amplitude[:, 0] * (weight * mine).sum(-1) / shards
        return out

    def shared(self, hidden: Any, sharded: bool) -> Any:
        """The shared expert's output of shape of `hidden`: this rank's part of it, or all of it."""
        self.shared_called += 1
        out = torch.zeros_like(hidden)
        share = self.layout.world if sharded else 1
        out[..., MOST + self.rank] = self.amplitude * hidden[..., AMPLITUDE] / share
        return out


def shared_class(original: type, leaves: Shards) -> type:
    """A stand-in for a class of shared experts, that is sharded and reduces as the class does with its arguments."""
    signature = inspect.signature(original.__init__)  # type: ignore[misc]
    own = _row_parallel_keywords(original)

    class ShardedShared(SharedExpert):
        """A shared expert of weight 1, of which every rank of its group has a part."""

        def __init__(self, *arguments: Any, **keywords: Any) -> None:
            super().__init__(*arguments, **keywords)
            bound = signature.bind_partial(None, *arguments, **keywords)
            bound.apply_defaults()
            values = {**bound.arguments, **bound.arguments.get("kwargs", {})}

            def asked(name: str) -> Any:
                said = values.get(name, own.get(name))
                return values.get(said.id) if isinstance(said, ast.Name) else said

            size, group = asked("tp_size"), asked("parallel_group")
            self.sharded = size != 1 and group != "replicated"
            self.reduces = asked("reduce_results") is not False

        def forward(self, hidden: Any, *_: Any, **keywords: Any) -> Any:
            """Its part, or, where it reduces by itself and is not told to leave that to others, the sum."""
            out = leaves.shared(hidden, self.sharded)
            told = any(value is True for name, value in keywords.items() if _leaves_sum(name))
            return leaves.group("tp").all_reduce(out) if self.sharded and self.reduces and not told else out

    return ShardedShared


def _leaves_sum(name: str) -> bool:
    return "fus" in name or "skip" in name or "reduce_scatter" in name


def _row_parallel_keywords(original: type) -> dict[str, Any]:
    """What the class hands to the layer that ends it: constants, or the names of its own parameters."""
    found: dict[str, Any] = {}
    for one in reversed(reading.lineage(original)):
        tree = reading.class_tree(one)
        for node in ast.walk(tree) if tree else ():
            if isinstance(node, ast.Call) and "RowParallel" in ast.unparse(node.func):
                for keyword in node.keywords:
                    if keyword.arg is not None:
                        value = keyword.value
                        found[keyword.arg] = value.value if isinstance(value, ast.Constant) else value
    return found
