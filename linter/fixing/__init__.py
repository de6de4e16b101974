"""Fixes: worked out when asked for, written as edits of bytes, applied together where they do not overlap.

Nothing here is imported by a run that only checks.
"""

from __future__ import annotations

from moelint.linter.fixing.collect import fixes_for
from moelint.linter.fixing.combine import Combined, combine
from moelint.linter.fixing.session import Session, repaired, with_fixes

__all__ = ["Combined", "Session", "combine", "fixes_for", "repaired", "with_fixes"]
