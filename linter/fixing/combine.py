"""Fixes of one file put together: those that fit are applied, those that overlap are refused."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass

from moelint.linter.fixing.text import encoding_of
from moelint.linter.model import Edit, Fix


@dataclass(frozen=True, slots=True)
class Combined:
    """The new bytes of a file, the fixes that are in them, and those that are not because they overlap one that is."""

    data: bytes
    applied: tuple[Fix, ...]
    refused: tuple[Fix, ...]


def combine(data: bytes, fixes: Sequence[Fix]) -> Combined:
    """Apply `fixes` to the bytes they were made for, first come, first served. Two fixes may share an edit that is the
    same in both. Raises UnicodeError for a text that the file's encoding lacks."""
    taken: list[Edit] = []
    applied: list[Fix] = []
    refused: list[Fix] = []
    for fix in fixes:
        new = [edit for edit in fix.edits if edit not in taken]
        if any(_clashes(edit, taken) for edit in new):
            refused.append(fix)
            continue
        applied.append(fix)
        for edit in new:
            insort(taken, edit)
    encoding = encoding_of(data)
    pieces: list[bytes] = []
    position = 0
    for edit in taken:
        pieces += [data[position : edit.start], edit.text.encode(encoding)]
        position = edit.end
    return Combined(b"".join((*pieces, data[position:])), tuple(applied), tuple(refused))


def _clashes(edit: Edit, taken: Sequence[Edit]) -> bool:
    """Whether an edit overlaps one of `taken`, which are sorted; an insertion may not even touch another edit."""
    position = bisect_left(taken, edit)
    return any(_overlap(edit, other) for other in taken[max(position - 1, 0) : position + 1])


def _overlap(one: Edit, other: Edit) -> bool:
    if one.start == one.end or other.start == other.end:
        return one.start <= other.end and other.start <= one.end
    return one.start < other.end and other.start < one.end
