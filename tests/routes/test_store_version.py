"""The fingerprint of what is known is the same in every process, or no stored table would ever be found again."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.store import version
print(version(knowledge("sglang")))
"""


def test_the_fingerprint_does_not_hang_on_the_seed_of_hashes() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in range(4)
    }
    assert len(found) == 1 and next(iter(found)).strip()
