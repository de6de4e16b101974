"""Files as bytes, and why one could not be read. On the start-up path: imports `os` alone."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moelint.linter.records import Problem

    Stamp = tuple[int, int, int]
    """Time of the last change of content and of anything, in nanoseconds, and size: equal only for the same bytes."""

MAX_BYTES = 10_000_000
"""Larger files are not read: nobody wrote them by hand."""
VANISHED = "MOE-E008"
_RECENT = 2_000_000_000
"""Nanoseconds within which some file systems give two changes the same time."""


class TooLargeError(OSError):
    """The file has more than MAX_BYTES."""


def read(path: str) -> tuple[bytes, Stamp]:
    """The bytes of a file and its stamp. Raises OSError, TooLargeError among them."""
    fd = os.open(path, _FLAGS)
    try:
        stat = os.fstat(fd)
        size = stat.st_size
        if size > MAX_BYTES:
            raise TooLargeError
        data = os.read(fd, size + 1)
        if len(data) != size:
            data = _read_on(fd, data)
    finally:
        os.close(fd)
    return data, (stat.st_mtime_ns, stat.st_ctime_ns, size)


def stamp_of(stat: os.stat_result) -> Stamp:
    return (stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size)


def is_settled(stamp: Stamp, now: int) -> bool:
    """Whether a file with `stamp`, read at `now` (nanoseconds), will show any later change in its stamp."""
    return max(stamp[0], stamp[1]) < now - _RECENT


def problem_of(path: str, error: OSError) -> Problem:
    """The diagnostic for a file that could not be read."""
    if isinstance(error, TooLargeError):
        megabytes = MAX_BYTES // 1_000_000
        return ("MOE-E005", 1, f"the file has more than {megabytes} MB and was not checked: exclude it", False)
    if isinstance(error, FileNotFoundError):
        if os.path.islink(path):
            return ("MOE-E007", 1, "the link leads nowhere: repair it or remove it", False)
        return (VANISHED, 1, "the file vanished while moelint was running: run again", False)
    reason = error.strerror or str(error)
    return ("MOE-E006", 1, f"the file cannot be read ({reason}): change its permissions or exclude it", False)


def _read_on(fd: int, data: bytes) -> bytes:
    """The rest of a file that changes while it is read, or that does not tell its size."""
    parts, size = [data], len(data)
    while part := os.read(fd, 1 << 16):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            raise TooLargeError
    return b"".join(parts)


_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
