"""Exponents and parts: what a tensor is made of, and how often each factor is in it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

Units = tuple[tuple[str, int], ...]
"""Sorted (dimension, exponent) pairs without zeros: `(("rsf", 1),)` is the factor itself."""

ONE: Units = ()
RSF = "rsf"

Reduction = Literal["partial", "complete", "rows", "any", "twice", "mixed"]
"""`partial`: this rank's share of a sum over the group. `complete`: the whole sum, on every rank. `rows`: complete, and
of this rank's own tokens. `any`: does not matter (an input of unknown state). `twice`: summed once too often. `mixed`:
unlike states were added."""

StepKind = Literal["", "run", "scale", "slot", "add", "sum", "end"]
"""`run`: experts or the shared expert run. `scale`: a part is multiplied. `slot`: a slot's weight is set. `add`:
outputs are added. `sum`: a sum over the group. `end`: the route returns."""

PartName = str
"""`routed`, `shared`, `slot`, `identity`; `x` and `s` are the routed and shared columns of router weights; `?why` is a
part of unknown origin."""


class Part(NamedTuple):
    """One addend of a tensor."""

    name: PartName
    units: Units
    reduction: Reduction
    erased: bool = False
    """A norm has divided the scale out: the exponent says nothing any more."""


Parts = tuple[Part, ...]
_OUTPUTS = ("routed", "shared", "slot", "identity")
WEIGHTS: Parts = (Part("x", ONE, "any"),)


def multiply(a: Units, b: Units, sign: int = 1) -> Units:
    """The product of two monomials (`sign` -1: the quotient)."""
    if not b:
        return a
    exponents = dict(a)
    for dimension, exponent in b:
        exponents[dimension] = exponents.get(dimension, 0) + sign * exponent
    return tuple(sorted((dimension, exponent) for dimension, exponent in exponents.items() if exponent))


def exponent(units: Units, dimension: str) -> int:
    return dict(units).get(dimension, 0)


def show(units: Units) -> str:
    """`rsf^2`, `1/ep`, `1`."""
    if not units:
        return "1"
    words = []
    for dimension, power in units:
        words.append(dimension if power == 1 else f"1/{dimension}" if power == -1 else f"{dimension}^{power}")
    return "*".join(words)


def scaled(parts: Parts, units: Units, sign: int = 1, only: str | None = None) -> Parts:
    """Every part (or the one named `only`) multiplied."""
    if not units:
        return parts
    return tuple(
        part._replace(units=multiply(part.units, units, sign)) if only is None or part.name == only else part
        for part in parts
    )


def added(a: Parts, b: Parts) -> Parts:
    """The sum of two tensors. Plain router columns vanish beside real parts; `any` adopts the other's reduction."""
    left = tuple(part for part in a if not _is_column(part.name))
    right = tuple(part for part in b if not _is_column(part.name))
    if not left and not right:
        return a or b
    states = {part.reduction for part in (*left, *right)} - {"any"}
    if len(states) == 1:
        state = next(iter(states))
        left = tuple(part._replace(reduction=state) for part in left)
        right = tuple(part._replace(reduction=state) for part in right)
    return tuple(sorted((*left, *right)))


def _is_column(name: PartName) -> bool:
    return name in ("x", "s") or name.startswith("x[")


_REDUCED: dict[Reduction, Reduction] = {
    "partial": "complete",
    "complete": "twice",
    "rows": "mixed",
    "any": "any",
    "twice": "twice",
    "mixed": "mixed",
}


def reduced(parts: Parts) -> Parts:
    """After a sum over the group."""
    return tuple(part._replace(reduction=_REDUCED[part.reduction]) for part in parts)


def erased(parts: Parts) -> Parts:
    """After a norm over the hidden dimension."""
    return tuple(part._replace(erased=True) for part in parts)


def scales(parts: Parts) -> Parts:
    """The parts without their reduction states."""
    return tuple(sorted(part._replace(reduction="any") for part in parts))


def states(parts: Parts) -> Parts:
    """The parts without their scales. Router columns have no state; a fused slot has that of the routed part."""
    names = {part.name for part in parts}
    without = {"x", "s", "slot"} if "routed" in names else {"x", "s"}
    return tuple(sorted(Part(p.name, ONE, p.reduction) for p in parts if p.name not in without)) or WEIGHTS


def interesting(parts: Parts) -> bool:
    """Whether the tensor holds an expert's output."""
    return any(part.name in _OUTPUTS or part.name.startswith(("?", "routed[")) for part in parts)


@dataclass(frozen=True, slots=True)
class Step:
    """One line of a trace: where, and what happened to which part."""

    path: str
    line: int
    what: str
    kind: StepKind = ""
