"""Debounce: the first edit after a pause is looked at at once, the next ones when the typing pauses."""

from __future__ import annotations

from collections.abc import Callable


class Pace:
    """Remembers when documents changed; `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._changed: dict[str, float] = {}
        self._quiet_before: dict[str, float] = {}

    def changed(self, uri: str) -> None:
        now = self._clock()
        self._quiet_before[uri] = now - self._changed.get(uri, float("-inf"))
        self._changed[uri] = now

    def delay(self, uri: str, debounce: float) -> float:
        """Seconds to wait from now on, where `debounce` seconds without an edit count as a pause."""
        if self._quiet_before.get(uri, float("inf")) >= debounce:
            return 0.0
        return max(0.0, self._changed[uri] + debounce - self._clock())

    def forget(self, uri: str) -> None:
        self._changed.pop(uri, None)
        self._quiet_before.pop(uri, None)
