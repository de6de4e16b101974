"""A line of progress on standard error for runs that take long. Without rich: it is on every run's path."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Protocol, TextIO

    class Advance(Protocol):
        """What the pipeline calls now and then from its main thread; calling it often costs next to nothing."""

        def __call__(self, done: int, total: int) -> None:
            """`done` of `total` files are checked."""


PATIENCE = 0.7
"""Seconds that a run may take before anything is shown."""
_PERIOD = 0.1
"""Seconds between two updates."""
_BAR = 24


def no_progress(done: int, total: int) -> None:
    """An `Advance` that shows nothing."""


class Progress:
    """An `Advance` as a context manager: `with Progress() as advance: check(..., advance)`. Erased on leaving."""

    def __init__(
        self,
        stream: TextIO | None = None,
        *,
        enabled: bool = True,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._stream = stream or sys.stderr
        self._enabled = enabled and _watched(self._stream)
        self._clock = clock
        self._next = clock() + PATIENCE
        self._shown = 0

    def __enter__(self) -> Advance:
        return self if self._enabled else no_progress

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if now < self._next:
            return
        self._next = now + _PERIOD
        filled = _BAR * done // total if total else 0
        bar = "#" * filled + "." * (_BAR - filled)
        self._write(f"checking [{bar}] {done}/{total} files")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown:
            self._write("")
            self._stream.write("\r")
            self._stream.flush()
            self._shown = 0

    def _write(self, line: str) -> None:
        """Replace the line by overwriting it, which works without control sequences."""
        self._stream.write("\r" + line.ljust(self._shown))
        self._stream.flush()
        self._shown = max(self._shown, len(line))


def _watched(stream: TextIO) -> bool:
    """Whether somebody looks at `stream` while the run lasts."""
    return stream.isatty() and not os.environ.get("CI") and os.environ.get("TERM") != "dumb"
