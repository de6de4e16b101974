"""Which configurations changed between two trees."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from moelint.linter.diagram import FALSE, Diagrams, Node
from moelint.linter.routes.cover import cover, in_words
from moelint.linter.routes.judge import Outcome
from moelint.linter.routes.table import RouteTable

_NONE = "no such configuration"
Place = tuple[str, str, str, str]
"""Path, block, route, question."""
Outcomes = dict[str, Node]
"""What comes out, in words -> where."""


def changed_cells(
    old: Iterable[RouteTable], new: Iterable[RouteTable], order: Sequence[str] = (), implied: Iterable[str] = ()
) -> list[dict[str, str]]:
    """The configurations whose outcomes differ between blocks and routes of equal name, and those that only one tree
    has, merged into readable conditions. How a region was cut into cells, line numbers and traces do not count: a
    refactoring that changes no outcome gives an empty list. `order` sorts the atoms of conditions; atoms `implied` by
    others are left out, as what they follow from may have changed itself."""
    diagrams = Diagrams()
    for name in order:
        diagrams.variable(name)
    left_out = frozenset(implied)
    before, after = _by_place(diagrams, old, left_out), _by_place(diagrams, new, left_out)
    changes = []
    for place in sorted(before.keys() | after.keys()):
        left, right = before.get(place, {}), after.get(place, {})
        world = diagrams.any_of([*left.values(), *right.values()])
        for was, now, region in _differences(diagrams, world, left, right):
            for cube in cover(diagrams, region, world, order):
                path, block, route, question = place
                changes.append(
                    {
                        "path": path,
                        "block": block,
                        "route": route,
                        "question": question,
                        "condition": in_words(cube, order),
                        "old": was,
                        "new": now,
                    }
                )
    return changes


def _differences(diagrams: Diagrams, world: Node, old: Outcomes, new: Outcomes) -> Iterator[tuple[str, str, Node]]:
    """(old outcomes, new outcomes, where). One configuration may have several outcomes, as some atoms do not show."""
    pieces: dict[tuple[tuple[str, ...], tuple[str, ...]], Node] = {((), ()): world}
    for side, outcomes in enumerate((old, new)):
        for text, node in sorted(outcomes.items()):
            split: dict[tuple[tuple[str, ...], tuple[str, ...]], Node] = {}
            for texts, region in pieces.items():
                more = ((*texts[0], text), texts[1]) if side == 0 else (texts[0], (*texts[1], text))
                for key, part in (
                    (more, diagrams.conj(region, node)),
                    (texts, diagrams.minus(region, node)),
                ):
                    if part != FALSE:
                        split[key] = part
            pieces = split
    for (was, now), region in pieces.items():
        if was != now:
            yield " | ".join(was) or _NONE, " | ".join(now) or _NONE, region


def _by_place(diagrams: Diagrams, tables: Iterable[RouteTable], left_out: frozenset[str]) -> dict[Place, Outcomes]:
    found: dict[Place, Outcomes] = {}
    for entry in tables:
        nodes = diagrams.load(entry.shapes.rows)
        for route, outcome, position in entry.shapes.places:
            outcomes = found.setdefault((entry.path, entry.block, route, outcome.question), {})
            text = outcome_in_words(outcome)
            region = diagrams.exists(nodes[position], left_out.__contains__)
            outcomes[text] = diagrams.disj(outcomes.get(text, FALSE), region)
    return found


def outcome_in_words(outcome: Outcome) -> str:
    """`right: routed rsf^1, slot rsf^0, shared 1`."""
    if outcome.question == "reduction":
        return f"{outcome.verdict}: {outcome.reduction or outcome.reason}"
    parts = []
    if outcome.routed is not None:
        parts.append(f"routed rsf^{outcome.routed}")
    if outcome.slot is not None:
        parts.append(f"slot rsf^{outcome.slot}")
    if outcome.shared:
        parts.append(f"shared {outcome.shared}")
    return f"{outcome.verdict}: {', '.join(parts) or _without_lines(outcome.reason)}"


def _without_lines(reason: str) -> str:
    return re.sub(r":\d+", "", reason)
