"""Conditions in words: a region covered by a few merged conjunctions over visible atoms."""

from __future__ import annotations

from collections.abc import Sequence

from moelint.linter.diagram import FALSE, Cube, Diagrams, Node, Value

_LIMIT = 24


def cover(diagrams: Diagrams, target: Node, world: Node, order: Sequence[str]) -> list[Cube]:
    """Conjunctions that together hold, within `world`, exactly where `target` does. Atoms named in `order` come first
    and are kept rather than others."""
    outside = diagrams.minus(world, target)
    places = {name: position for position, name in enumerate(order)}

    def cost(name: str, value: Value) -> int:
        return 0 if value is None else 1 if name in places else 3

    found: list[Cube] = []
    rest = target
    while rest != FALSE and len(found) < _LIMIT:
        cube = diagrams.pick(diagrams.conj(rest, world), cost)
        if cube is None:
            break
        cube = _weakened(diagrams, cube, outside, places)
        found.append(cube)
        rest = diagrams.minus(rest, diagrams.of_cube(cube))
    return _merged(found)


def _weakened(diagrams: Diagrams, cube: Cube, outside: Node, places: dict[str, int]) -> Cube:
    """Drop every literal, and every value of a negative one, that is not needed to stay inside."""

    def inside(candidate: Cube) -> bool:
        return diagrams.conj(diagrams.of_cube(candidate), outside) == FALSE

    for name in sorted(cube, key=lambda name: (name in places, -places.get(name, 0), name)):
        candidate = {other: literal for other, literal in cube.items() if other != name}
        if inside(candidate):
            cube = candidate
    for name, (positive, values) in list(cube.items()):
        if not positive:
            for value in values:
                fewer = tuple(other for other in cube[name][1] if other != value)
                candidate = {**cube, name: (False, fewer)}
                if fewer and inside(candidate):
                    cube = candidate
    return cube


def _merged(cubes: list[Cube]) -> list[Cube]:
    """Join conjunctions that differ in the values of one variable only."""
    merged = True
    while merged:
        merged = False
        for i, first in enumerate(cubes):
            for j in range(i + 1, len(cubes)):
                joined = _join(first, cubes[j])
                if joined is not None:
                    cubes = [cube for k, cube in enumerate(cubes) if k not in (i, j)] + [joined]
                    merged = True
                    break
            if merged:
                break
    return cubes


def _join(a: Cube, b: Cube) -> Cube | None:
    if set(a) != set(b):
        return None
    different = [name for name in a if a[name] != b[name]]
    if len(different) != 1:
        return None
    name = different[0]
    (positive_a, values_a), (positive_b, values_b) = a[name], b[name]
    if positive_a and positive_b:
        return {**a, name: (True, tuple(sorted({*map(str, values_a), *map(str, values_b)})))}
    return None


def in_words(cube: Cube, order: Sequence[str]) -> str:
    """`platform=hip+aiter, a2a in {deepep, mooncake}, not config.n_group`; `always` for no condition."""
    places = {name: position for position, name in enumerate(order)}
    names = sorted(cube, key=lambda name: (places.get(name, len(places)), name))
    return ", ".join(_literal(name, *cube[name]) for name in names) or "always"


def _literal(name: str, positive: bool, values: tuple[Value, ...]) -> str:
    if set(values) == {True} or set(values) == {"True"}:
        return name if positive else f"not {name}"
    texts = sorted(str(value) for value in values)
    if not positive and texts == ["0", "None"]:
        return name
    if not positive and texts == ["None"]:
        return f"{name} is given"
    if positive and texts == ["None"]:
        return f"{name} is None"
    if len(texts) == 1:
        return f"{name}{'=' if positive else '!='}{texts[0]}"
    return f"{name} {'in' if positive else 'not in'} {{{', '.join(texts)}}}"
