"""What `moelint routes --json` says of the cells that are run: which of its cells are meant, and whether both agree.

A cell of the route analysis is meant if it is of the same block and route and none of its atoms contradicts what the
probe knows of its own configuration. An atom that the probe cannot answer excludes nothing, so several cells may be
meant; then only an outcome that none of them has is a disagreement.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from moelint.runtime_probe.reading import PIPELINE
from moelint.runtime_probe.records import FORCED, MATCHES, REACHED, REFUSED, VIOLATES, Measurement

RIGHT, WRONG, UNKNOWN = "right", "wrong", "unknown"
_OUTCOMES = {MATCHES: RIGHT, VIOLATES: WRONG, REFUSED: "refused"}
AGREES, OPEN, DISAGREES, SILENT = "agrees", "open", "disagrees", "silent"
_PLATFORMS = {"cuda": "cuda", "hip+aiter": "rocm", "hip": "hip", "cpu": "cpu"}
"""Value of the analysis -> platform of the probe."""
_CONFIG = "config."


class StaticError(ValueError):
    """A file is no output of `moelint routes --json`."""


@dataclass(frozen=True)
class RouteCell:
    """One cell of the route analysis, as far as it is about scales."""

    id: str
    path: str
    block: str
    route: str
    condition: str
    atoms: tuple[tuple[str, bool, frozenset[str]], ...]
    verdict: str

    def contradicts(self, known: Mapping[str, str]) -> bool:
        """Whether a known atom is not as the cell has it."""
        return any(name in known and (known[name] in values) != positive for name, positive, values in self.atoms)


@dataclass(frozen=True)
class Routes:
    """A whole output of `moelint routes --json`."""

    cells: tuple[RouteCell, ...]

    def of(self, path: str, block: str) -> list[RouteCell]:
        """The cells of a block, whichever folder its path starts from."""
        return [one for one in self.cells if one.block == block and _same_path(one.path, path)]

    def blocks(self, *, every: bool = False) -> set[str]:
        """`path:Class` of the blocks that have a wrong cell, or of all."""
        return {f"{one.path}:{one.block}" for one in self.cells if every or one.verdict == WRONG}

    def platforms(self) -> tuple[str, ...]:
        """The platforms that the probe has and wrong cells are about."""
        found = {"cuda", "rocm"}
        for one in self.cells:
            if one.verdict == WRONG:
                for name, positive, values in one.atoms:
                    if name == "platform" and positive:
                        found |= {_PLATFORMS[value] for value in values if value in _PLATFORMS}
        return tuple(name for name in ("cuda", "rocm", "hip", "cpu") if name in found)

    def asked(self) -> tuple[str, ...]:
        """The configuration fields that cells depend on."""
        names = {name for one in self.cells for name, _, _ in one.atoms}
        return tuple(sorted(name.removeprefix(_CONFIG) for name in names if name.startswith(_CONFIG)))


@dataclass(frozen=True)
class Judged:
    """A measurement with the cells that are meant, and how the two verdicts relate."""

    one: Measurement
    meant: tuple[RouteCell, ...]
    relation: str


def read(path: Path) -> Routes | None:
    """The routes in a JSON file, None if it is something else. Raises StaticError for cells of another form."""
    try:
        raw: Any = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(raw, dict) or "cells" not in raw:
        return None
    try:
        cells = [
            RouteCell(
                id=one["id"],
                path=one["path"],
                block=one["block"],
                route=one["route"],
                condition=one["condition"],
                atoms=tuple((atom["name"], atom["positive"], frozenset(atom["values"])) for atom in one["atoms"]),
                verdict=one["verdict"],
            )
            for one in raw["cells"]
            if one["question"] == "scale"
        ]
    except (KeyError, TypeError) as error:
        raise StaticError(f"{path}: no output of moelint routes --json ({error})") from None
    return Routes(tuple(cells))


def join(measurements: Iterable[Measurement], routes: Routes) -> list[Judged]:
    """Every measurement with its static verdict."""
    return [_judged(one, routes) for one in measurements]


def _judged(one: Measurement, routes: Routes) -> Judged:
    meant = tuple(_meant(one, routes))
    verdicts = sorted({cell.verdict for cell in meant} - {UNKNOWN})
    outcome = _OUTCOMES.get(one.verdict)
    if outcome is None or one.grade not in (REACHED, FORCED) or "edge" in one.configuration or not verdicts:
        relation = SILENT
    elif outcome not in verdicts:
        relation = DISAGREES
    else:
        relation = AGREES if len(verdicts) == 1 else OPEN
    said = "|".join(verdicts) or (UNKNOWN if meant else "none")
    ids = [cell.id for cell in meant]
    shown = f"{said} ({', '.join(ids[:3])}{', ...' if len(ids) > 3 else ''})" if ids else said
    return Judged(replace(one, static_verdict=shown), meant, relation)


def _meant(one: Measurement, routes: Routes) -> Iterator[RouteCell]:
    cells = routes.of(one.path, one.block)
    names = {cell.route for cell in cells}
    passed = [_route_name(part, names) for part in one.route.split(" -> ")]
    route = next((name for name in reversed(passed) if name in names), None)
    known = facts(one)
    if not _considers(str(one.configuration.get("a2a", "none")), route or "", cells):
        return iter(())
    return (cell for cell in cells if cell.route == route and not cell.contradicts(known))


def _considers(a2a: str, route: str, cells: Iterable[RouteCell]) -> bool:
    """Whether the analysis looks at all-to-all back ends of this block: it does where the block itself names one."""
    return a2a == "none" or "deepep" in route or any(name == "a2a" for cell in cells for name, _, _ in cell.atoms)


def _route_name(part: str, names: set[str]) -> str:
    """The analysis calls a pipeline of operations by its own name."""
    return next((name for name in names if name.startswith("op_")), part) if part == PIPELINE else part


def facts(one: Measurement) -> dict[str, str]:
    """Atoms of the analysis and their values in the configuration of a cell."""
    values = one.configuration
    platform = next((name for name, mine in _PLATFORMS.items() if mine == values.get("platform")), "")
    known = {"platform": platform, **{_CONFIG + name: text for name, text in one.fields.items()}}
    if "a2a" not in values:
        return known
    router, a2a, fold = values["router"], values["a2a"], bool(values["fold"])
    known |= {
        "a2a": a2a,
        "the experts' method folds the factor": str(fold),
        "shared fusion disabled": str(not values["fused"]),
        "is_deepseek_v4": str(router in ("sqrtsoftplus", "hash")),
        "layer_id < config.num_hash_layers": str(router == "hash"),
        "runtime_context.get_exec().moe.enable_waterfill": str(bool(values.get("waterfill"))),
        "runtime_context.get_parallel().moe_ep_size>1": str(a2a != "none"),
        "type(experts.quant_method)": "the probe's stand-in",
    }
    if platform == "hip+aiter":
        known["runner"] = "aiter"
    elif not fold and a2a == "none":
        known["runner"] = "triton"
    if one.grade == REACHED:
        known["alt_stream"] = "None"
    return known


def lines(judged: Sequence[Judged], routes: Routes) -> Iterator[str]:
    """How often the two agree, every disagreement, and what became of the cells that are wrong on paper."""
    counts = Counter(one.relation for one in judged)
    yield (
        f"static and measured verdicts: {counts[AGREES]} agree, {counts[OPEN]} are among several that the analysis "
        f"has, {counts[DISAGREES]} disagree, {counts[SILENT]} cannot be compared"
    )
    for one in judged:
        if one.relation == DISAGREES:
            yield f"  disagree: {one.one.cell}: measured {one.one.verdict}, static {one.one.static_verdict}"
    yield from _wrong_lines(judged, routes)


def _wrong_lines(judged: Sequence[Judged], routes: Routes) -> Iterator[str]:
    wrong = [one for one in routes.cells if one.verdict == WRONG]
    run = {cell for one in judged if one.one.measured is not None or one.relation != SILENT for cell in one.meant}
    platforms = {str(one.one.configuration.get("platform")) for one in judged}
    left = [one for one in wrong if one not in run]
    yield f"{len(wrong)} wrong cells of the analysis: {len(wrong) - len(left)} have a measured cell"
    why = Counter(_why(one, platforms, judged) for one in left)
    for reason, count in why.most_common():
        yield f"  {count} not measured: {reason}"


def _why(cell: RouteCell, platforms: set[str], judged: Sequence[Judged]) -> str:
    for name, positive, values in cell.atoms:
        if name == "platform" and positive and not {_PLATFORMS.get(value) for value in values} & platforms:
            return f"{', '.join(sorted(values))} is not emulated"
    mine = [one for one in judged if cell in one.meant]
    reasons = Counter(one.one.reason for one in mine if one.one.reason)
    if reasons:
        return reasons.most_common(1)[0][0]
    same = [one.one for one in judged if one.one.block == cell.block and _same_path(cell.path, one.one.path)]
    if not same:
        return "the class was not run"
    if not any(cell.route in one.route or cell.route.startswith("op_") for one in same):
        return f"{cell.route} was not come to"
    refuted = Counter(name for name, positive, values in cell.atoms if _never(name, positive, values, same))
    return f"no configuration of the probe has: {next(iter(refuted))}" if refuted else "no single configuration fits"


def _never(name: str, positive: bool, values: frozenset[str], cells: Iterable[Measurement]) -> bool:
    """Whether the atom is known in some of the cells and in none of them as it is wanted."""
    known = [found[name] for found in map(facts, cells) if name in found]
    return bool(known) and not any((text in values) == positive for text in known)


def _same_path(left: str, right: str) -> bool:
    return left == right or left.endswith("/" + right) or right.endswith("/" + left)
