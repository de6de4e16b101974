"""Make the process look like another platform while a target is imported, so that its platform constants freeze so.

Only questions about the device are answered; no code of that platform runs, and what is measured is called emulated.
"""

from __future__ import annotations

import inspect
import os
from dataclasses import dataclass
from typing import Any

import torch

_QUESTIONS = (
    "get_device_properties",
    "get_device_capability",
    "get_device_name",
    "current_device",
    "is_available",
    "device_count",
)


@dataclass(frozen=True)
class Device:
    """What the emulated device says of itself."""

    name: str
    backend: str
    architecture: Any
    major: int
    minor: int
    warp: int
    gcnArchName: str = ""
    multi_processor_count: int = 132
    total_memory: int = 140 << 30
    L2_cache_size: int = 50 << 20
    shared_memory_per_block_optin: int = 232448

    @property
    def warp_size(self) -> int:
        """Threads of a warp."""
        return self.warp


CUDA = Device("emulated CUDA", "cuda", 80, 8, 0, 32)
"""Ampere: its kernels use no instruction that the Triton interpreter lacks."""
ROCM = Device("emulated ROCm", "hip", "gfx942", 9, 4, 64, gcnArchName="gfx942")


class Emulation:
    """Put the questions under control until `restore`."""

    def __init__(self, device: Device, *, interpret: bool) -> None:
        self._saved = {name: getattr(torch.cuda, name) for name in _QUESTIONS}
        self._versions = (torch.version.hip, torch.version.cuda)
        torch.version.hip = "7.0.0" if device.backend == "hip" else None
        torch.version.cuda = "13.0" if device.backend == "cuda" else None
        if interpret:
            _answer_custom_ops_on_cpu()
        answers: dict[str, Any] = {
            "get_device_properties": lambda *_, **__: device,
            "get_device_capability": lambda *_, **__: (device.major, device.minor),
            "get_device_name": lambda *_, **__: device.name,
            "current_device": lambda: 0,
            "is_available": lambda: True,
            "device_count": lambda: 1,
        }
        for name, answer in answers.items():
            setattr(torch.cuda, name, answer)
        self._has_triton = _emulate_triton(device)

    def restore(self, *, device: str) -> None:
        """After the imports. On a real device everything is real again; on the CPU late imports keep the answers."""
        if device == "cpu":
            torch.cuda.is_available = lambda: False
            return
        for name, value in self._saved.items():
            setattr(torch.cuda, name, value)
        torch.version.hip, torch.version.cuda = self._versions
        if self._has_triton:
            from triton.runtime import driver

            driver.reset_active()


def _emulate_triton(device: Device) -> bool:
    """Let Triton believe in the device; whether there is a Triton."""
    try:
        from triton.backends.compiler import GPUTarget
        from triton.runtime import driver
    except ImportError:
        return False

    class Driver:
        """The questions that Triton asks at import time."""

        def get_current_target(self) -> Any:
            return GPUTarget(device.backend, device.architecture, device.warp)

        def get_current_device(self) -> int:
            return 0

        def get_benchmarker(self) -> Any:
            return lambda *_, **__: 0.0

        def get_device_interface(self) -> Any:
            return torch.cuda

        def get_active_torch_device(self) -> Any:
            return torch.device("cpu")

    driver.set_active(Driver())
    if _interprets():
        _list_members_once()
    return True


def _interprets() -> bool:
    """Whether Triton was told to interpret its kernels."""
    return os.environ.get("TRITON_INTERPRET") == "1"


def _list_members_once() -> None:
    """Triton's interpreter lists the members of its language at every call of a function, which is half of its time."""
    from triton.runtime import interpreter

    known: dict[int, list[tuple[str, Any]]] = {}

    class Inspect:
        """The `inspect` of the interpreter, with a memory."""

        def getmembers(self, thing: Any, *predicate: Any) -> list[tuple[str, Any]]:
            if predicate:
                return inspect.getmembers(thing, *predicate)
            if id(thing) not in known:
                known[id(thing)] = inspect.getmembers(thing)
            return known[id(thing)]

        def __getattr__(self, name: str) -> Any:
            return getattr(inspect, name)

    interpreter.inspect = Inspect()


def _answer_custom_ops_on_cpu() -> None:
    """A custom operator that the target registers for CUDA, written in Python, answers on the CPU as well."""
    plain = torch.library.Library.impl

    def register(self: Any, name: Any, function: Any, key: str = "", **keywords: Any) -> Any:
        done = plain(self, name, function, key, **keywords)
        if key == "CUDA" and callable(function):
            try:
                plain(self, name, function, "CPU", **keywords)
            except RuntimeError:
                return done
        return done

    torch.library.Library.impl = register
