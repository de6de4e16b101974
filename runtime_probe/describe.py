"""An error in one line."""

from __future__ import annotations

import os
import traceback


def describe(error: BaseException) -> str:
    """One line on an error: its kind, its message and the place that raised it."""
    message = " ".join(str(error).split())
    frames = traceback.extract_tb(error.__traceback__)
    place = f" @{os.path.basename(frames[-1].filename)}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}: {message[:200]}{place}"
