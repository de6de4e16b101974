"""The families of rules. Each owns a hundred of codes, so that a code says what it is about."""

from __future__ import annotations

FAMILIES: dict[str, tuple[int, str]] = {
    "reduction": (0, "Sums over ranks: too many, too few, or over values of different states."),
    "factor-flow": (100, "Where the routed scaling factor may go, and where it may not."),
    "shared-weight": (200, "The weight of a fused shared expert's slot."),
    "epilogue": (300, "What a model does to the experts' output."),
    "guards": (400, "Conditions that decide whether the factor is applied."),
    "literals": (500, "Answers written down as literals, and records rebuilt without them."),
    "routes": (600, "Whole routes through a block whose exponents do not come out."),
    "dead-factor": (700, "Factors and flags that are stored or accepted and never read."),
    "router": (800, "Renormalisation, correction bias and the choice of experts."),
    "suppression": (900, "Suppression comments that are unused, unknown or malformed."),
}
"""Family -> the first number of its hundred, and what its rules are about."""


def hundred(family: str) -> range:
    """The numbers that codes of `family` may have. Raises KeyError."""
    first = FAMILIES[family][0]
    return range(first + 1, first + 100)
