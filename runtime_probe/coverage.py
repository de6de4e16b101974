"""How much of a tree was measured: (class, route) pairs of classes that ask for the factor, and why others were not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from moelint.runtime_probe.records import GRADES, Measurement, Unit

NOT_CALLED = "no configuration leads there and it is not called by itself: another platform's or mode's route"


@dataclass(frozen=True)
class Pair:
    """One way through one class."""

    unit: str
    route: str
    grade: str
    """The best grade of a cell with numbers; empty: there is none."""
    reason: str
    """Why there are no numbers, the most frequent reason."""


def pairs(units: Iterable[Unit], measurements: Iterable[Measurement]) -> list[Pair]:
    """Every route of every class that asks for the factor, measured on whichever platform."""
    cells: dict[str, list[Measurement]] = {}
    for one in measurements:
        cells.setdefault(f"{one.path}:{one.block}", []).append(one)
    reading = {unit.key: unit for unit in units if unit.reads_factor}
    return [_pair(key, route, cells.get(key, [])) for key, unit in reading.items() for route in unit.routes]


def _pair(unit: str, route: str, cells: Sequence[Measurement]) -> Pair:
    mine = [one for one in cells if route in one.route.split(" -> ")]
    grades = [one.grade for one in mine if one.measured is not None]
    if grades:
        return Pair(unit, route, min(grades, key=GRADES.index), "")
    lost = mine or [one for one in cells if one.route == "*"]
    reasons = Counter(f"{one.verdict}: {one.reason}" for one in lost)
    return Pair(unit, route, "", reasons.most_common(1)[0][0] if reasons else NOT_CALLED)


def lines(found: Sequence[Pair]) -> Iterator[str]:
    """The figure, then the pairs without numbers with their reasons."""
    measured = [one for one in found if one.grade]
    classes = {one.unit for one in found}
    share = 100 * len(measured) / len(found) if found else 0.0
    grades = Counter(one.grade for one in measured)
    how = ", ".join(f"{grades[grade]} {grade}" for grade in GRADES if grades[grade])
    yield (
        f"{len(measured)} of {len(found)} (class, route) pairs of classes that read the factor measured "
        f"({share:.0f} %; {how or 'none'}); {len({one.unit for one in measured})} of {len(classes)} classes"
    )
    for one in found:
        if not one.grade:
            yield f"  {one.unit} {one.route}: {one.reason}"
