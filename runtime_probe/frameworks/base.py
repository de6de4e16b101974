"""What every adapter offers to the child process."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from moelint.runtime_probe.records import Measurement, Unit


class Adapter(Protocol):
    """One release on one platform, imported and set up."""

    def about(self) -> dict[str, Any]:
        """Versions and what was fabricated, for the report's head."""

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """Run the unit's cells one after the other. Whatever it raises makes the rest of the unit not-run."""
