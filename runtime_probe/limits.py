"""What a child process takes away from itself before it runs foreign code: memory, file size, network, core dumps."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import sys
from typing import Any, NoReturn

FILE_BYTES = 1 << 30
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1


class NoNetwork(OSError):
    """The target asked for a network connection."""


def apply(memory_bytes: int, *, address_space: bool) -> list[str]:
    """Limit this process for good, and say what could not be limited.

    `memory_bytes` bounds the address space if `address_space` is true; CUDA reserves far more addresses than memory, so
    there the parent watches the resident size alone.
    """
    missing = []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    if address_space:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if not _die_with_parent():
        missing.append("death with the parent")
    if not _leave_network():
        missing.append("network namespace (connections are refused in Python only)")
    _refuse_connections()
    return missing


def _libc() -> Any:
    return ctypes.CDLL(None, use_errno=True)


def _die_with_parent() -> bool:
    if not sys.platform.startswith("linux"):
        return False
    return bool(_libc().prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) == 0)


def _leave_network() -> bool:
    """Move into an empty network namespace, which only root may do."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return False
    return bool(_libc().unshare(_CLONE_NEWNET) == 0)


def _refuse_connections() -> None:
    def refuse(*_: object, **__: object) -> NoReturn:
        raise NoNetwork("the probe runs its targets without network")

    socket.socket.connect = refuse  # type: ignore[method-assign]
    socket.socket.connect_ex = refuse  # type: ignore[method-assign]
    socket.getaddrinfo = refuse
