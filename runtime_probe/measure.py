"""From weights read off a block's output to exponents of the factor, and from those to a verdict. No torch here."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from moelint.runtime_probe.records import MATCHES, VIOLATES, Expected, Weights

Rows = Mapping[float, Sequence[float]]
"""By factor value: one summed weight for each token."""

_ZERO = 1e-7
_TOLERANCES = {"float32": 1e-3, "float64": 1e-6, "float16": 5e-3, "bfloat16": 2e-2}


def tolerance(dtype: str) -> float:
    """How far a weight or exponent may be off, relative to 1, in this dtype with a handful of summands."""
    return _TOLERANCES[dtype]


def name(factor: float) -> str:
    """A factor value as a key of the report."""
    return f"{factor:g}"


def weights(routed: Rows, shared: Rows, factors: Sequence[float]) -> Weights:
    """What reached the output. Exponents come from `factors`, the baseline from factor 1 where it was measured."""
    routed_means = {factor: _mean(rows) for factor, rows in routed.items()}
    shared_means = {factor: _mean(rows) for factor, rows in shared.items()}
    exponent_of_mean = exponent({factor: routed_means[factor] for factor in factors})
    return Weights(
        routed={name(factor): _shown(mean) for factor, mean in sorted(routed_means.items())},
        shared={name(factor): _shown(mean) for factor, mean in sorted(shared_means.items())},
        routed_exponent=_shown(exponent_of_mean),
        shared_exponent=_shown(exponent({factor: shared_means[factor] for factor in factors})),
        baseline=_shown(routed_means.get(1.0)),
        spread=_shown(_spread(routed, factors, exponent_of_mean)),
    )


def exponent(values: Mapping[float, float | None]) -> float | None:
    """How often the factor is in the values: the slope of their logarithms between the lowest and the highest factor.

    None where there is none: a zero, a value that is not finite, a change of sign.
    """
    low, high = min(values), max(values)
    first, last = values[low], values[high]
    if first is None or last is None or not (math.isfinite(first) and math.isfinite(last)):
        return None
    if abs(first) < _ZERO or abs(last) < _ZERO or (first > 0) != (last > 0):
        return None
    return math.log(last / first) / math.log(high / low)


def judge(expected: Expected, measured: Weights, allowed: float) -> tuple[str, str]:
    """The verdict and, for a violation, what is wrong with the numbers."""
    wrong = []
    if any(value is None for value in (*measured.routed.values(), *measured.shared.values())):
        wrong.append("an output that is not finite")
    if expected.routed_exponent is not None:
        wrong += _off("routed exponent", measured.routed_exponent, expected.routed_exponent, allowed)
    if expected.baseline is not None and measured.baseline is not None:
        wrong += _off("routed weight at factor 1", measured.baseline, expected.baseline, allowed)
    if expected.shared is not None:
        for factor, value in measured.shared.items():
            wrong += _off(f"shared weight at factor {factor}", value, expected.shared, allowed)
    if measured.spread is not None and measured.spread > 10 * allowed:
        wrong.append(f"tokens differ in their exponent by {measured.spread:g}")
    return (VIOLATES, "; ".join(wrong)) if wrong else (MATCHES, "")


def _off(what: str, value: float | None, wanted: float, allowed: float) -> list[str]:
    if value is None:
        return [f"{what} is none, expected {wanted:g}"]
    if abs(value - wanted) <= allowed * max(1.0, abs(wanted)):
        return []
    return [f"{what} {value:g}, expected {wanted:g}"]


def shown_mean(rows: Sequence[float]) -> float | None:
    """The mean as the report has it, None if it is not finite."""
    return _shown(_mean(rows))


def _mean(rows: Sequence[float]) -> float | None:
    total = math.fsum(rows) / len(rows) if rows else 0.0
    return total if math.isfinite(total) else None


def _spread(rows: Rows, factors: Sequence[float], mean: float | None) -> float | None:
    """Largest distance of one token's exponent from that of the mean."""
    if mean is None:
        return None
    low, high = min(factors), max(factors)
    each = [exponent({low: first, high: last}) for first, last in zip(rows[low], rows[high], strict=True)]
    known = [value for value in each if value is not None]
    return max((abs(value - mean) for value in known), default=None)


def _shown(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 6)
