"""A line on a terminal that says how far a long run has come."""

from __future__ import annotations

from time import monotonic

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

_PATIENCE = 1.0
"""Seconds that pass before anything is shown."""
_PAUSE = 0.1
"""Seconds between two updates."""


class ProgressLine:
    """Shown only in runs that take long, redrawn in place, and wiped with the last file."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._due = monotonic() + _PATIENCE
        self._shown = False

    def show(self, done: int, total: int) -> None:
        """`done` of `total` files have been analysed."""
        now = monotonic()
        if done == total:
            if self._shown:
                self._stream.write("\r\x1b[K")
                self._stream.flush()
        elif now >= self._due:
            self._due, self._shown = now + _PAUSE, True
            self._stream.write(f"\r\x1b[Kanalysed {done} of {total} files")
            self._stream.flush()
