"""Decision diagrams against truth tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node, Value

DOMAINS: dict[str, tuple[Value, ...]] = {
    "platform": ("cuda", "hip", "npu", "one nobody named"),
    "a2a": ("none", "deepep", "one nobody named"),
    "answer": (True, False),
    "wish": (True, False),
}
"""The named values of each variable, and one that stands for all others."""
ASSIGNMENTS = [dict(zip(DOMAINS, values, strict=True)) for values in product(*DOMAINS.values())]

SOME = settings(max_examples=40, deadline=None)

Assignment = dict[str, Value]
Table = Callable[[Assignment], bool]


@dataclass(frozen=True)
class Formula:
    """A function twice: as a way to build its diagram, and as a way to compute its value."""

    build: Callable[[Diagrams], Node]
    value: Table


def literal(name: str, values: tuple[Value, ...]) -> Formula:
    return Formula(lambda d: d.literal(name, values), lambda a: a[name] in values)


def negation(a: Formula) -> Formula:
    return Formula(lambda d: d.neg(a.build(d)), lambda x: not a.value(x))


def conjunction(a: Formula, b: Formula) -> Formula:
    return Formula(lambda d: d.conj(a.build(d), b.build(d)), lambda x: a.value(x) and b.value(x))


def disjunction(a: Formula, b: Formula) -> Formula:
    return Formula(lambda d: d.disj(a.build(d), b.build(d)), lambda x: a.value(x) or b.value(x))


def choice(a: Formula, b: Formula, c: Formula) -> Formula:
    return Formula(
        lambda d: d.ite(a.build(d), b.build(d), c.build(d)), lambda x: b.value(x) if a.value(x) else c.value(x)
    )


LITERALS = st.sampled_from(sorted(DOMAINS)).flatmap(
    lambda name: st.lists(st.sampled_from(DOMAINS[name][:-1] or (True,)), min_size=1, unique=True).map(
        lambda values: literal(name, tuple(values))
    )
)
CONSTANTS = st.sampled_from([Formula(lambda d: TRUE, lambda a: True), Formula(lambda d: FALSE, lambda a: False)])
FORMULAS: st.SearchStrategy[Formula] = st.recursive(
    LITERALS | CONSTANTS,
    lambda inner: (
        st.builds(negation, inner)
        | st.builds(conjunction, inner, inner)
        | st.builds(disjunction, inner, inner)
        | st.builds(choice, inner, inner, inner)
    ),
    max_leaves=8,
)


def table(diagrams: Diagrams, node: Node) -> list[bool]:
    """The values of a diagram over all assignments; each must decide it."""
    values = [diagrams.restrict(node, assignment) for assignment in ASSIGNMENTS]
    assert set(values) <= {TRUE, FALSE}
    return [value == TRUE for value in values]


def expected(formula: Formula) -> list[bool]:
    return [formula.value(assignment) for assignment in ASSIGNMENTS]


@SOME
@given(FORMULAS)
def test_a_diagram_has_the_values_of_its_formula(formula: Formula) -> None:
    diagrams = Diagrams()
    assert table(diagrams, formula.build(diagrams)) == expected(formula)


@SOME
@given(FORMULAS, FORMULAS)
def test_functions_are_equal_exactly_if_their_nodes_are(a: Formula, b: Formula) -> None:
    diagrams = Diagrams()
    assert (a.build(diagrams) == b.build(diagrams)) == (expected(a) == expected(b))


@SOME
@given(FORMULAS, FORMULAS)
def test_implication(a: Formula, b: Formula) -> None:
    diagrams = Diagrams()
    holds = all(y or not x for x, y in zip(expected(a), expected(b), strict=True))
    assert diagrams.implies(a.build(diagrams), b.build(diagrams)) == holds


@SOME
@given(FORMULAS, st.sets(st.sampled_from(sorted(DOMAINS))))
def test_projection_asks_for_some_value_of_the_hidden_variables(formula: Formula, hidden: set[str]) -> None:
    diagrams = Diagrams()
    node = diagrams.exists(formula.build(diagrams), hidden.__contains__)
    assert not diagrams.support(node) & hidden
    for assignment in ASSIGNMENTS:
        agreeing = [
            a for a in ASSIGNMENTS if all(a[name] == assignment[name] for name in DOMAINS if name not in hidden)
        ]
        found = diagrams.restrict(node, assignment)
        assert found == (TRUE if any(map(formula.value, agreeing)) else FALSE)


@SOME
@given(FORMULAS, st.sampled_from(ASSIGNMENTS), st.sets(st.sampled_from(sorted(DOMAINS))))
def test_restriction_fixes_some_variables_and_leaves_the_others(
    formula: Formula, fixed: Assignment, names: set[str]
) -> None:
    diagrams = Diagrams()
    part = {name: fixed[name] for name in names}
    node = diagrams.restrict(formula.build(diagrams), part)
    assert not diagrams.support(node) & names
    assert table(diagrams, node) == [formula.value({**assignment, **part}) for assignment in ASSIGNMENTS]


@SOME
@given(FORMULAS)
def test_support_names_the_variables_that_make_a_difference(formula: Formula) -> None:
    diagrams = Diagrams()
    decisive = {
        name
        for name, values in DOMAINS.items()
        for assignment in ASSIGNMENTS
        if len({formula.value({**assignment, name: value}) for value in values}) > 1
    }
    assert diagrams.support(formula.build(diagrams)) == decisive


@SOME
@given(FORMULAS)
def test_cubes_are_disjoint_and_cover_the_function(formula: Formula) -> None:
    diagrams = Diagrams()
    cubes = list(diagrams.cubes(formula.build(diagrams)))
    for assignment in ASSIGNMENTS:
        inside = [
            cube
            for cube in cubes
            if all((assignment[name] in values) == positive for name, (positive, values) in cube.items())
        ]
        assert len(inside) == int(formula.value(assignment))


def test_the_order_of_first_use_does_not_change_equality() -> None:
    diagrams = Diagrams()
    first = diagrams.conj(diagrams.literal("a"), diagrams.literal("b"))
    second = diagrams.conj(diagrams.literal("b"), diagrams.literal("a"))
    assert first == second


def test_exclusive_values_need_no_axiom() -> None:
    diagrams = Diagrams()
    cuda, hip = diagrams.literal("platform", ("cuda",)), diagrams.literal("platform", ("hip",))
    assert diagrams.conj(cuda, hip) == FALSE
    assert diagrams.implies(cuda, diagrams.neg(hip))
    assert diagrams.disj(cuda, hip) == diagrams.literal("platform", ("hip", "cuda"))


def test_a_domain_may_grow() -> None:
    diagrams = Diagrams()
    not_cuda = diagrams.neg(diagrams.literal("platform", ("cuda",)))
    assert diagrams.implies(diagrams.literal("platform", ("a value seen later",)), not_cuda)


def test_equal_functions_share_their_nodes() -> None:
    diagrams = Diagrams()
    a, b, c = (diagrams.literal(name) for name in "abc")
    before = diagrams.disj(diagrams.conj(a, b), diagrams.conj(a, c))
    size = len(diagrams)
    assert diagrams.conj(a, diagrams.disj(b, c)) == before
    assert len(diagrams) <= size + 2


def test_a_dump_is_the_same_function_whatever_the_order_of_variables() -> None:
    one = Diagrams()
    first = one.disj(one.conj(one.literal("a", ("x", "y")), one.literal("b")), one.neg(one.literal("c", (None,))))
    rows, (place, true) = one.dump([first, TRUE])
    other = Diagrams()
    for name in ("c", "b", "a"):
        other.variable(name)
    nodes = other.load(json.loads(json.dumps(rows)))
    again = other.disj(
        other.conj(other.literal("a", ("x", "y")), other.literal("b")), other.neg(other.literal("c", (None,)))
    )
    assert (nodes[place], nodes[true]) == (again, TRUE)
