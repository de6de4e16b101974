"""Blocks on several ranks: every part must be reduced exactly once, over the right group, of the same tokens."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moelint.runtime_probe.frameworks.base import Adapter
    from moelint.runtime_probe.ranks.world import World
    from moelint.runtime_probe.records import Job

LAUNCHERS = ("threads", "torchrun")
BACKENDS = ("gloo", "nccl")
MOST = 32
"""How many ranks there may be: each has a channel of its own for both parts."""
_ADAPTERS = {"file": "files", "sglang": "sglang"}
FRAMEWORKS = tuple(_ADAPTERS)


def adapter(job: Job, world: World) -> Adapter:
    """The adapter that measures the job's framework on several ranks. Raises ValueError where there is none."""
    name = _ADAPTERS.get(job.framework)
    if name is None:
        raise ValueError(f"blocks of {job.framework} are not measured on several ranks")
    made: Adapter = import_module(f"moelint.runtime_probe.ranks.{name}").make(job, world)
    return made
