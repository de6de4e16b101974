"""The ends of the ranges: a factor that is absent, 0 or 1, a batch of no token and of one."""

from __future__ import annotations

from dataclasses import dataclass

from moelint.runtime_probe import measure
from moelint.runtime_probe.records import MATCHES, VIOLATES, Expected, Weights


@dataclass(frozen=True)
class Edge:
    """One end of a range. `factor` None: the configuration's field is None."""

    name: str
    factor: float | None
    tokens: int


def edges(tokens: int, factor: float) -> tuple[Edge, ...]:
    """All of them; `tokens` and `factor` are what is used where they are not the edge."""
    return (
        Edge("factor none", None, tokens),
        Edge("factor 0", 0.0, tokens),
        Edge("factor 1", 1.0, tokens),
        Edge("no tokens", factor, 0),
        Edge("one token", factor, 1),
    )


def acting(factor: float | None, exponent: float) -> float:
    """What the policy multiplies the routed part by: an absent factor is 1."""
    return 1.0 if factor is None or not exponent else factor


def judge(edge: Edge, rows: tuple[list[float], list[float]], expected: Expected, allowed: float) -> tuple[str, str]:
    """The verdict on the routed and shared rows of an edge, and what is wrong. `expected.baseline` is the routed
    weight that is wanted here."""
    wrong = []
    for what, values, want in (("routed", rows[0], expected.baseline), ("shared", rows[1], expected.shared)):
        if len(values) != edge.tokens:
            wrong.append(f"{len(values)} tokens came back of {edge.tokens}")
        elif values and want is not None:
            mean = sum(values) / len(values)
            if not abs(mean - want) <= allowed * max(1.0, abs(want)):
                wrong.append(f"{what} weight {mean:g}, expected {want:g}")
    return (VIOLATES, "; ".join(dict.fromkeys(wrong))) if wrong else (MATCHES, "")


def weights(edge: Edge, rows: tuple[list[float], list[float]]) -> Weights:
    """The means of the rows by the factor's name, none for a batch of no token."""
    key = "none" if edge.factor is None else measure.name(edge.factor)
    routed, shared = (measure.shown_mean(values) if values else None for values in rows)
    return Weights(routed={key: routed}, shared={key: shared}, baseline=routed)
