"""Compare two reports cell by cell: what changed verdict, what is no longer run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from moelint.runtime_probe.records import MATCHES, NOT_RUN, VIOLATES, Measurement


@dataclass(frozen=True)
class Change:
    """One cell that is not as it was. `before` or `after` is None where the report has no such cell."""

    cell: str
    before: str | None
    after: str | None
    reason: str

    @property
    def worse(self) -> bool:
        """A new violation, or a verdict that is lost."""
        if self.after == VIOLATES:
            return True
        return self.before in (MATCHES, VIOLATES) and self.after in (None, NOT_RUN)

    def __str__(self) -> str:
        reason = f" ({self.reason})" if self.reason else ""
        return f"{self.cell}: {self.before or 'absent'} -> {self.after or 'absent'}{reason}"


def changes(old: Iterable[Measurement], new: Iterable[Measurement]) -> list[Change]:
    """The changes, worse ones first, then by cell."""
    before = {one.cell: one for one in old}
    after = {one.cell: one for one in new}
    found = []
    for cell in {**before, **after}:
        was, now = before.get(cell), after.get(cell)
        was_verdict = was.verdict if was is not None else None
        verdict, reason = (now.verdict, now.reason) if now is not None else (None, "")
        if was_verdict != verdict:
            found.append(Change(cell, was_verdict, verdict, reason))
    return sorted(found, key=lambda change: (not change.worse, change.cell))
