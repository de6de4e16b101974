"""What a child process takes away from itself before it runs foreign code: memory, file size, network, core dumps."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
from typing import Any, NoReturn

FILE_BYTES = 1 << 30
_CLONE_NEWNET = 0x40000000
_PR_SET_PDEATHSIG = 1
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1


class NoNetwork(OSError):
    """The target asked for a network connection."""


def apply(memory_bytes: int, *, address_space: bool, leave_network: bool = True) -> list[str]:
    """Limit this process for good, and say what could not be limited.

    `memory_bytes` bounds the address space if `address_space` is true; CUDA reserves far more addresses than memory, so
    there the parent watches the resident size alone. `leave_network` is false where a process above did it.
    """
    missing = []
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
    if address_space:
        resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    if not _die_with_parent():
        missing.append("death with the parent")
    if leave_network and not _leave_network():
        missing.append("network namespace (connections are refused in Python only)")
    _refuse_connections()
    return missing


def isolate() -> list[str]:
    """For a process whose children talk to each other: no network but a loopback of its own, where root may do that."""
    missing = [] if _die_with_parent() else ["death with the parent"]
    if not _leave_network():
        return [*missing, "network namespace (connections are refused in Python only)"]
    _raise_loopback()
    return missing


def _raise_loopback() -> None:
    """Switch the loopback of a new network namespace on."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        request = struct.pack("16sH14x", b"lo", _IFF_UP)
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, request)


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
