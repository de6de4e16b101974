"""The policy, applied to what comes out of a route."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import exact, facts
from moelint.linter.routes.driver import BlockAnalysis, Route, outputs
from moelint.linter.routes.units import RSF, Part, Parts, Units, exponent, show
from moelint.linter.routes.values import Const, Tensor

Verdict = Literal["right", "wrong", "refused", "unknown"]


Question = Literal["scale", "reduction"]


class Breach(NamedTuple):
    """What is wrong with one part (`routed`, `slot`, `shared`) or with the `reduction`. `surplus` is how often the
    factor, or a sum, is there too often; negative where it is missing."""

    part: str
    text: str
    surplus: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that ends the same way: the parts' exponents and weights, or their reduction states."""

    question: Question
    verdict: Verdict
    routed: int | None
    slot: int | None
    shared: str
    reduction: str
    reason: str
    breaches: tuple[Breach, ...] = ()
    amounts: tuple[tuple[str, Units], ...] = ()
    """The parts with all their units, where numbers count."""

    @property
    def exact(self) -> str:
        """The amounts in words."""
        return ", ".join(f"{name} {show(units)}" for name, units in self.amounts)


@dataclass(frozen=True, slots=True)
class Region:
    """The worlds with one outcome."""

    outcome: Outcome
    guard: Node
    """Its condition within `world`."""
    world: Node
    """The worlds in which the route ends, or is entered for a refusal."""


def expects_factor(analysis: BlockAnalysis) -> int:
    """1 if the block's own code, or that of its bases, names the factor; else 0."""
    return 1 if any(name in analysis.contracts.target_text for name in analysis.contracts.profile.factor) else 0


def regions(analysis: BlockAnalysis, route: Route) -> list[Region]:
    """The outcomes of a route with their conditions, within the worlds that are judged. Scales and reductions are
    separate questions: they depend on different configuration atoms."""
    machine = analysis.machine
    diagrams = machine.diagrams
    entered = diagrams.conj(route.entry, machine.base)
    reached = world = diagrams.conj(route.pc, entered)
    for text in analysis.contracts.facts.world:
        narrowed = diagrams.conj(world, facts.condition(machine, text, analysis.contracts.target_text))
        world = narrowed if narrowed != FALSE else world
    expected = expects_factor(analysis)
    sparse = _where_experts_run(analysis, route)
    found: dict[Outcome, Node] = {}

    def add(outcome: Outcome, guard: Node) -> None:
        if guard != FALSE:
            found[outcome] = diagrams.disj(found.get(outcome, FALSE), guard)

    for guard, value in outputs(analysis, route):
        if isinstance(value, Tensor):
            for inner, parts in machine.alternatives(value, guard):
                add(judge_scale(parts, expected, route), inner)
            for inner, parts in machine.reductions(value, guard):
                reduction = judge_reduction(parts) if route.wanted is None else None
                if reduction is not None:
                    add(reduction, inner)
        elif not (isinstance(value, Const) and value.value is None):
            add(_without_numbers("unknown", f"the result is {str(value)[:80]}"), diagrams.conj(guard, sparse))
    found = {outcome: guard for outcome, guard in found.items() if diagrams.intersects(guard, world)}
    hidden = analysis.contracts.is_hidden
    refused = diagrams.minus(diagrams.exists(entered, hidden), diagrams.exists(reached, hidden))
    refusal = _without_numbers("refused", _refusal(route))
    if refused != FALSE:
        found[refusal] = refused
    if route.wanted is not None:
        found = _closed(found, route)
    ends = world if world != FALSE else entered
    return [Region(outcome, node, refused if outcome == refusal else ends) for outcome, node in found.items()]


def _where_experts_run(analysis: BlockAnalysis, route: Route) -> Node:
    """A layer that is dense in some configurations has no routed output to judge there; all, if none is seen to run."""
    ran = analysis.machine.diagrams.any_of(event.guard for event in route.events if event.kind == "run")
    return ran if ran != FALSE else TRUE


def _closed(found: dict[Outcome, Node], route: Route) -> dict[Outcome, Node]:
    """A closed program has one configuration: it is wrong if it ends wrong whatever is not known, and if it never
    ends; where only some guesses end wrong, nothing is known."""
    ends = {outcome: node for outcome, node in found.items() if outcome.verdict != "refused"}
    if not ends:
        reason = next((f"nothing gets past {path}:{line}" for _, path, line in reversed(route.refusals)), "never ends")
        breach = Breach("end", reason, 0)
        return {Outcome("scale", "wrong", None, None, "", "", reason, (breach,)): TRUE}
    if all(outcome.verdict == "wrong" for outcome in ends) or len(ends) == 1:
        return ends
    return {
        (
            replace(outcome, verdict="unknown", breaches=(), reason=f"not decided: {outcome.reason or outcome.exact}")
            if outcome.verdict != "unknown"
            else outcome
        ): node
        for outcome, node in ends.items()
    }


def _without_numbers(verdict: Verdict, reason: str) -> Outcome:
    return Outcome("scale", verdict, None, None, "", "", reason)


def _refusal(route: Route) -> str:
    if not route.refusals:
        return "the code cannot get here"
    _, path, line = route.refusals[0]
    return f"refused at {path}:{line}"


def judge_scale(parts: Parts, expected: int, route: Route) -> Outcome:
    """How often the factor is in each part, against the policy."""
    real = [part for part in parts if part.name not in ("x", "s")]
    unknown = sorted(part.name[1:] for part in real if part.name.startswith("?"))
    routed = [part for part in real if part.name == "routed"]
    slots = [part for part in real if part.name == "slot"]
    shared = [part for part in real if part.name == "shared"]
    numbers = (
        exponent(routed[0].units, RSF) if routed else None,
        exponent(slots[0].units, RSF) if slots else None,
        show(shared[0].units) if shared else "",
        "",
    )
    if unknown:
        places = [route.unknown_calls[name] for name in unknown if name in route.unknown_calls]
        where = ", ".join(f"{call.path}:{call.line}" for call in places)
        reason = f"unknown because of {', '.join(unknown)}" + (f" at {where}" if where else "")
        return Outcome("scale", "unknown", *numbers, reason)
    opaque = exact.unknown_factors(parts)
    if opaque:
        return Outcome("scale", "unknown", *numbers, f"multiplied by {', '.join(opaque)}, of which nothing is known")
    if route.wanted is not None:
        found = tuple(Breach(*breach) for breach in exact.breaches(parts, route.wanted))
        reason = "; ".join(breach.text for breach in found)
        return Outcome(
            "scale",
            "wrong" if found else "right",
            *numbers,
            reason,
            found,
            exact.amounts(tuple(real), route.wanted),
        )
    if not routed:
        return Outcome("scale", "unknown", *numbers, "no routed output was followed to the result")
    if any(part.erased for part in (*routed, *slots)):
        return Outcome("scale", "unknown", *numbers, "a norm behind the experts erases the scale")
    breaches = tuple(_breaches(routed, slots, shared, expected))
    reason = "; ".join(breach.text for breach in breaches)
    return Outcome("scale", "wrong" if breaches else "right", *numbers, reason, breaches)


def judge_reduction(parts: Parts) -> Outcome | None:
    """Whether like was added to like and summed once; None where the output is not known."""
    real = [part for part in parts if part.name not in ("x", "s")]
    if not real or any(part.name.startswith("?") for part in real):
        return None
    states = {part.reduction for part in real} - {"any"}
    words = _reductions(real)
    breaches: tuple[Breach, ...] = ()
    if len(states) > 1:
        breaches = (Breach("reduction", f"unlike states added ({words})", 0),)
    elif "twice" in states:
        breaches = (Breach("reduction", "summed over the group twice", 1),)
    elif "mixed" in states:
        breaches = (Breach("reduction", "rows of different tokens summed", 1),)
    reason = "; ".join(breach.text for breach in breaches)
    return Outcome("reduction", "wrong" if breaches else "right", None, None, "", words, reason, breaches)


def _reductions(parts: list[Part]) -> str:
    """`routed complete, shared partial`, or one word for all."""
    states = {part.name: part.reduction for part in parts if part.reduction != "any"}
    if len(set(states.values())) <= 1:
        return next(iter(states.values()), "any")
    return ", ".join(f"{name} {state}" for name, state in sorted(states.items()))


def _breaches(routed: list[Part], slots: list[Part], shared: list[Part], expected: int) -> Iterator[Breach]:
    power = exponent(routed[0].units, RSF)
    if power != expected:
        yield Breach("routed", f"routed rsf^{power}, expected rsf^{expected}", power - expected)
    for name, kind, parts in (("slot", "fused shared slot", slots), ("shared", "shared expert", shared)):
        for part in parts:
            power = exponent(part.units, RSF)
            if power != 0:
                yield Breach(name, f"{kind} rsf^{power}, expected rsf^0", power)
    if len(routed) > 1:
        yield Breach("routed", f"routed part counted {len(routed)} times", 0)
    if len(slots) + len(shared) > 1:
        yield Breach("shared", f"shared expert counted {len(slots) + len(shared)} times", 0)
