"""Diagrams as the route analysis uses them: simplified within a condition, joined and projected in one go."""

from __future__ import annotations

from itertools import product

from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node


def functions(diagrams: Diagrams) -> list[Node]:
    deepep, mori = diagrams.literal("a2a", ("deepep",)), diagrams.literal("a2a", ("deepep", "mori"))
    hip, fold = diagrams.literal("hip"), diagrams.literal("fold")
    either = diagrams.disj(diagrams.conj(deepep, hip), diagrams.conj(diagrams.neg(mori), fold))
    return [TRUE, deepep, mori, hip, fold, diagrams.neg(mori), either, diagrams.neg(either), diagrams.conj(mori, fold)]


def test_a_value_named_twice_is_named_once() -> None:
    diagrams = Diagrams()
    twice = diagrams.literal("a2a", ("none", "deepep", "none"))
    assert twice == diagrams.literal("a2a", ("none", "deepep"))
    assert diagrams.conj(twice, diagrams.neg(diagrams.literal("a2a", ("none",)))) == diagrams.literal(
        "a2a", ("deepep",)
    )


def test_simplifying_keeps_what_is_cared_for() -> None:
    diagrams = Diagrams()
    for function, care in product(functions(diagrams), repeat=2):
        simple = diagrams.simplify(function, care)
        assert diagrams.conj(simple, care) == diagrams.conj(function, care)
    both = diagrams.conj(diagrams.literal("hip"), diagrams.literal("fold"))
    assert diagrams.simplify(both, diagrams.literal("hip")) == diagrams.literal("fold")


def test_joining_and_projecting_in_one_go_is_one_after_the_other() -> None:
    diagrams = Diagrams()
    gone = frozenset({diagrams.variable("a2a"), diagrams.variable("fold")})
    for left, right in product(functions(diagrams), repeat=2):
        assert diagrams.conj_project(left, right, gone) == diagrams.project(diagrams.conj(left, right), gone)
    assert diagrams.conj_project(diagrams.literal("a2a", ("mori",)), diagrams.literal("a2a", ("none",)), gone) == FALSE
