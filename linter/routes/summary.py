"""Summaries of routers: interpreted once per router object, reduced to configuration atoms, re-used at every call."""

from __future__ import annotations

import ast
from collections.abc import Sequence as Arguments
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import call, choice, resolve
from moelint.linter.routes.facts import RouteFacts
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.machine import Event, unknown_part
from moelint.linter.routes.units import ONE, Part, Parts
from moelint.linter.routes.values import ClassValue, Guarded, Instance, Symbol, Tensor

if TYPE_CHECKING:
    from moelint.linter.routes.machine import Machine

_ROUTER_COLUMNS = ("x", "s")


@dataclass(frozen=True, slots=True)
class Outcome:
    """One way a router can answer. `parts` is None where it hands its configuration on instead of weights."""

    guard: Node
    cls: ClassValue | None
    parts: Parts | None
    events: tuple[Event, ...]


class Summaries:
    """Memo of router calls: (router object, which optional arguments are given) -> outcomes."""

    def __init__(self, facts: RouteFacts) -> None:
        self.facts = facts
        self._memo: dict[tuple[int, tuple[str, ...]], list[Outcome]] = {}

    def call(
        self,
        machine: Machine,
        router: Instance,
        given: Arguments[Guarded],
        keywords: dict[str, Guarded],
        frame: Frame,
        node: ast.AST,
    ) -> Guarded:
        """The router's outputs under `frame.pc`; where it refuses every outcome, the configuration is gone."""
        optional = tuple(sorted(name for name, value in keywords.items() if not _always_none(value)))
        key = (router.key, optional)
        outcomes = self._memo.get(key)
        if outcomes is None:
            with machine.inside(None):
                outcomes = self._summarise(machine, router, len(given), keywords, frame, node)
            self._memo[key] = outcomes
        mark = machine.cells
        found: Guarded = []
        total = FALSE
        for outcome in outcomes:
            guard = machine.diagrams.conj(outcome.guard, frame.pc)
            if not machine.possible(guard):
                continue
            total = machine.diagrams.disj(total, outcome.guard)
            found.append((outcome.guard, self._instantiate(machine, router, outcome)))
            machine.events += [Event(guard, e.path, e.line, e.what, e.decisive, e.kind) for e in outcome.events]
        frame.pc = machine.lose(frame.pc, machine.diagrams.conj(frame.pc, total))
        return machine.collapse(found, mark)

    def _instantiate(self, machine: Machine, router: Instance, outcome: Outcome) -> Instance:
        result = machine.instance(outcome.cls if outcome.cls is not None else "@RouterOutput", "topk_output")
        slots = machine.heap[result.key]
        if outcome.cls is not None:
            for name, _, _ in resolve.record_fields(machine, outcome.cls):
                slots[name] = [(TRUE, Symbol(name))]
        if outcome.parts is not None:
            slots[self.facts.weights_field] = [(TRUE, machine.tensor(outcome.parts, self.facts.weights_field))]
        else:
            config = self.facts.config_field
            slots[config] = machine.heap[router.key].get(config, [(TRUE, Symbol(config))])
        return result

    def _summarise(
        self,
        machine: Machine,
        router: Instance,
        arity: int,
        keywords: dict[str, Guarded],
        frame: Frame,
        node: ast.AST,
    ) -> list[Outcome]:
        assert isinstance(router.cls, ClassValue)
        names = ["hidden_states", "router_logits", "input_ids", "extra"]
        arguments: list[Guarded] = [[(TRUE, router)]]
        arguments += [[(TRUE, Symbol(name))] for name in names[: max(arity - 1, 0)]]
        given: dict[str, Guarded] = {
            name: value if _always_none(value) else [(TRUE, Symbol(name))] for name, value in keywords.items()
        }
        mark = len(machine.events)
        heap = {key: dict(slots) for key, slots in machine.heap.items()}
        inner = Frame(frame.module, Scope(), TRUE, "router")
        qualified = f"{router.cls.qualname}.__call__"
        function = machine.contracts.models.get(qualified) or resolve.find_method(machine, router.cls, "forward")
        assert function is not None
        result = call.function(machine, function, arguments, given, inner, node)
        machine.heap.update(heap)
        events = machine.events[mark:]
        del machine.events[mark:]
        return self._compact(machine, result, events, machine.alive(inner.pc))

    def _compact(self, machine: Machine, result: Guarded, events: list[Event], pc: Node) -> list[Outcome]:
        """Outcomes as functions of configuration atoms. Where several remain possible for one configuration, a fresh
        choice variable keeps them all apart."""
        diagrams = machine.diagrams
        raw: dict[tuple[ClassValue | None, Parts | None], Node] = {}
        for guard, value in machine.within(result, pc):
            for inner, cls, parts in self._outcomes(machine, value, guard):
                key = (cls, parts)
                raw[key] = diagrams.disj(raw.get(key, FALSE), inner)
        outcomes = []
        for (cls, parts), guard in raw.items():
            coarse = diagrams.exists(guard, lambda variable: not machine.contracts.kept(variable))
            witness = self._witness(machine, diagrams.conj(guard, machine.base), events)
            outcomes.append(Outcome(coarse, cls, parts, witness))
        guards = choice.chosen(machine, [outcome.guard for outcome in outcomes], f"router {len(self._memo)}")
        return [
            Outcome(guard, outcome.cls, outcome.parts, outcome.events)
            for guard, outcome in zip(guards, outcomes, strict=True)
        ]

    def _outcomes(
        self, machine: Machine, value: object, guard: Node
    ) -> list[tuple[Node, ClassValue | None, Parts | None]]:
        if not isinstance(value, Instance):
            return [(guard, None, (unknown_part("router"), Part("x", ONE, "any")))]
        cls = value.cls if isinstance(value.cls, ClassValue) else None
        weights = machine.heap[value.key].get(self.facts.weights_field)
        if weights is None:
            return [(guard, cls, None)]
        found: list[tuple[Node, ClassValue | None, Parts | None]] = []
        for inner, tensor in machine.within(weights, guard):
            if isinstance(tensor, Tensor):
                for last, parts in machine.alternatives(tensor, inner):
                    kept = tuple(p for p in parts if p.name in _ROUTER_COLUMNS or p.name.startswith("?"))
                    found.append((last, cls, kept or (Part("x", ONE, "any"),)))
            else:
                found.append((inner, cls, (Part("x", ONE, "any"),)))
        return found

    @staticmethod
    def _witness(machine: Machine, guard: Node, events: list[Event]) -> tuple[Event, ...]:
        """The decisive events on one path to the outcome."""
        cube = machine.diagrams.pick(guard, lambda _, value: 0 if value is None else 1) or {}
        point = {name: values[0] for name, (positive, values) in cube.items() if positive}
        seen: dict[tuple[str, int, str], Event] = {}
        for event in events:
            if event.decisive and machine.diagrams.evaluate(event.guard, point):
                seen.setdefault((event.path, event.line, event.what), event)
        return tuple(seen.values())


def _always_none(value: Guarded) -> bool:
    from moelint.linter.routes.values import NONE

    return all(item == NONE for _, item in value)
