"""Transformers: plain torch modules, built from their own configuration classes and really run."""

from __future__ import annotations

import contextlib
import inspect
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn

from moelint.runtime_probe import reading
from moelint.runtime_probe.build import record_reads
from moelint.runtime_probe.emitter import Inconclusive
from moelint.runtime_probe.engine import BlockProbe
from moelint.runtime_probe.frameworks.base import Framework
from moelint.runtime_probe.records import Job
from moelint.runtime_probe.standins import Leaves, SharedExpert, one_hot
from moelint.runtime_probe.tiny import TABLE

_NOT_FIELDS = frozenset(
    [
        "quantization_config",
        "dtype",
        "torch_dtype",
        "model_type",
        "architectures",
        "layer_types",
        "scoring_func",
        "topk_method",
        "prefix",
        "alt_stream",
        "swiglu_limits",
        "router_dtype",
        "experts_implementation",
        "_experts_implementation",
    ]
)


class Transformers(Framework):
    """The library as it is in the release's tree; nothing is emulated."""

    def about(self) -> dict[str, Any]:
        """The library's version and where it came from."""
        import transformers

        return {"transformers": transformers.__version__, "from": str(Path(transformers.__file__).parent)}

    def stand_ins(self, configuration: Mapping[str, Any], leaves: Leaves) -> tuple[type, type]:
        """Experts called with hidden states, expert numbers and weights in whatever order and under whatever names."""

        class Experts(nn.Module):
            """Tells numbers from weights by their dtype; weights without numbers are one column per expert."""

            def __init__(self, *_: Any, **__: Any) -> None:
                super().__init__()

            def forward(self, hidden: Any, *arguments: Any, **keywords: Any) -> Any:
                tensors = [one for one in (*arguments, *keywords.values()) if hasattr(one, "is_floating_point")]
                weights = next((one for one in tensors if one.is_floating_point()), None)
                if weights is None:
                    raise Inconclusive("the experts are called without weights: they weigh their input")
                ids = next((one for one in tensors if not one.is_floating_point()), None)
                return one_hot(hidden, ids, weights, leaves)

        shared = type("Shared", (SharedExpert,), {"leaves": leaves})
        return Experts, shared

    def config_maker(
        self, cls: type, overlay: Mapping[str, Any]
    ) -> Callable[[float | None, dict[str, Any]], Any] | None:
        """Use the class that `__init__` is annotated with, as far as its fields are known by name."""
        kind = _config_class(cls)
        if kind is None:
            return None
        known = _fields(kind)
        table = {**TABLE, **overlay}
        values = {name: value for name, value in table.items() if name in known and name not in _NOT_FIELDS}
        factors = [name for name in known if reading.is_factor(name)]

        def make(factor: float | None, guessed: dict[str, Any]) -> Any:
            try:
                return record_reads(kind(**values, **dict.fromkeys(factors, factor)))
            except Exception:
                return None

        return make

    def batched(self, cls: type) -> bool:
        """The library's blocks take batches of sequences."""
        return True


def _config_class(cls: type) -> type | None:
    for one in reading.lineage(cls):
        parameter = inspect.signature(one.__init__).parameters.get("config")  # type: ignore[misc]
        if parameter is None or parameter.annotation is parameter.empty:
            continue
        kind = parameter.annotation
        if isinstance(kind, str):
            kind = getattr(sys.modules[one.__module__], kind, None)
        return kind if isinstance(kind, type) else None
    return None


def _fields(kind: type) -> set[str]:
    names: set[str] = set()
    for one in kind.__mro__:
        names |= set(getattr(one, "__annotations__", {}))
        with contextlib.suppress(TypeError, ValueError):
            names |= set(inspect.signature(one.__init__).parameters)  # type: ignore[misc]
    return names


def make(job: Job) -> BlockProbe:
    """Import the release. Raises ImportError when its own dependencies are missing."""
    sys.path.insert(0, str(Path(job.root).parent))
    import transformers

    if Path(transformers.__file__).resolve().parent != Path(job.root).resolve():
        raise ImportError(f"transformers was imported from {transformers.__file__}, not from {job.root}")
    return BlockProbe(job, Transformers())
