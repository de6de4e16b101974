"""Run the job on standard input in limited child processes and print its measurements: `python boot.py once`."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

from moelint.runtime_probe import runner
from moelint.runtime_probe.records import Job


def main(argv: Sequence[str]) -> int:
    """Print the measurements as a JSON list. `argv` is not used."""
    job = Job.from_dict(json.load(sys.stdin))
    result = runner.run(job)
    json.dump([one.as_dict() for one in result.measurements], sys.stdout)
    return 0
