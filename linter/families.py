"""The families of rules. Each owns a range of codes, a hundred for most, so that a code says what it is about."""

from __future__ import annotations

FAMILIES: dict[str, tuple[int, int, str]] = {
    "reduction": (1, 99, "Sums over ranks: too many, too few, or over values of different states."),
    "factor-flow": (101, 199, "Where the routed scaling factor may go, and where it may not."),
    "shared-weight": (201, 299, "The weight of a fused shared expert's slot."),
    "epilogue": (301, 399, "What a model does to the experts' output."),
    "guards": (401, 499, "Conditions that decide whether the factor is applied."),
    "literals": (501, 549, "Answers written down as literals, and records rebuilt without them."),
    "runner": (550, 599, "What the runner is told to apply."),
    "routes": (601, 699, "Whole routes through a block whose exponents do not come out."),
    "dead-factor": (701, 719, "Factors and flags that are stored or accepted and never read."),
    "init-order": (720, 799, "Attributes that `__init__` sets after something has read them."),
    "router": (801, 899, "Renormalisation, correction bias and the choice of experts."),
    "suppression": (901, 999, "Suppression comments that are unused, unknown or malformed."),
}
"""Family -> the first and the last number of its codes, and what its rules are about."""


def numbers(family: str) -> range:
    """The numbers that codes of `family` may have. Raises KeyError."""
    first, last, _ = FAMILIES[family]
    return range(first, last + 1)
