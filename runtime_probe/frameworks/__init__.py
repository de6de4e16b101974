"""Thin adapters: what the probe must know of a framework and cannot find by reading a class."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from moelint.runtime_probe.frameworks.base import Adapter
    from moelint.runtime_probe.records import Job

NAMES = ("file", "transformers", "sglang", "sglang_kernels")


def adapter(job: Job) -> Adapter:
    """The adapter of the job's framework, which it imports. Raises ValueError for a name that it does not know."""
    if job.framework not in NAMES:
        raise ValueError(f"no adapter for {job.framework!r}; there are: {', '.join(NAMES)}")
    made: Adapter = import_module(f"moelint.runtime_probe.frameworks.{job.framework}").make(job)
    return made
