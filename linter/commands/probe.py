"""`moelint probe`: the door to the runtime probe, which starts child processes and imports no torch in this one."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run the probe. 0: nothing measured wrong, 1: something is, 2: the request is wrong."""
    from moelint.runtime_probe import cli

    return cli.main(argv)
