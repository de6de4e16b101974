"""Outcomes that are possible for the same configuration become a choice among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Node

if TYPE_CHECKING:
    from moelint.linter.routes.machine import Machine

_CHOICE = "choice@"


def chosen(machine: Machine, guards: Sequence[Node], origin: str) -> list[Node]:
    """Disjoint guards with the same union. Where several were possible, a variable chooses; equal questions of one
    origin share their variable, so that the same call asked twice answers alike."""
    diagrams = machine.diagrams
    later = [FALSE]
    for guard in reversed(guards):
        later.append(diagrams.disj(later[-1], guard))
    later = later[-2::-1]
    if not any(diagrams.intersects(guard, rest) for guard, rest in zip(guards, later, strict=True)):
        return list(guards)
    key: tuple[str | Node, ...] = (origin, *guards)
    name = machine.choices.setdefault(key, f"{_CHOICE}{len(machine.choices)}")
    found: list[Node] = []
    left = TRUE
    for index, (guard, rest) in enumerate(zip(guards, later, strict=True)):
        picked = diagrams.disj(machine.is_value(name, str(index)), diagrams.neg(rest))
        mine = diagrams.all_of((guard, left, picked))
        left = diagrams.minus(left, mine)
        found.append(mine)
    return found
