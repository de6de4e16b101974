"""The state of one interpretation: conditions, heap, events, budget; and the operations on guarded values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node
from moelint.linter.routes.project import Project
from moelint.linter.routes.units import ONE, Part, Parts, StepKind, Units, interesting, multiply
from moelint.linter.routes.values import (
    ABSENT,
    FALSE_VALUE,
    TRUE_VALUE,
    ClassValue,
    Const,
    Guarded,
    Instance,
    Scalar,
    Sequence,
    Symbol,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    import ast

    from moelint.linter.routes.contracts import Contracts
    from moelint.linter.routes.frames import Frame

_BOOLISH = re.compile(
    r"(^|\.)(enable|disable|is|has|use|uses|should|allow|can|supports|defer|skip|norm)_\w*$|\.get\(\)$|\)$"
    r"|^(skip|return|leave|reduce)_\w*$"
)
_LONG_NAME = 160
ANY_ROUTE = "*"
ROUTE_ENDS = "the route ends here"
TOPK_WEIGHTS = "top-k weights"
"""What a trace calls a tensor that holds no output of experts."""
_JOIN_SYMBOLS = 1


class OutOfBudget(Exception):
    """The interpretation took more steps than it was given."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something happened to a factor, a slot or a sum, under `guard`."""

    guard: Node
    path: str
    line: int
    what: str
    decisive: bool
    kind: StepKind = ""


@dataclass(frozen=True, slots=True)
class UnknownCall:
    """A call that was not followed although it was handed an expert's output."""

    name: str
    path: str
    line: int


class Machine:
    """One universe: diagrams, heap and log. Framework knowledge comes from `contracts` alone."""

    max_depth = 16

    def __init__(self, project: Project, contracts: Contracts, budget: int) -> None:
        self.project = project
        self.contracts = contracts
        self.diagrams = Diagrams()
        self.base: Node = TRUE
        """Deployment facts. Conditions do not carry them; what cannot be under them is dropped where it turns up."""
        self.parts: dict[int, list[tuple[Node, Parts]]] = {}
        self.labels: dict[int, str] = {}
        self.traits: dict[int, dict[str, Guarded]] = {}
        """What is known of a tensor besides its parts, where the analysed code is a closed program."""
        self.heap: dict[int, dict[str, Guarded]] = {}
        self.events: list[Event] = []
        self.unknown_calls: dict[str, UnknownCall] = {}
        self.notes: list[str] = []
        self.stack: list[str] = []
        self.refusals: list[tuple[Node, str, int]] = []
        """Where the code raises or an assertion fails, and under which condition."""
        self.globals: dict[tuple[str, str], Guarded | None] = {}
        self.route = ""
        """The qualified name of the function whose returns end the route that is interpreted, or ANY_ROUTE."""
        self.steps = 0
        self.budget = budget
        self._cells = 0
        self._atoms: dict[str, Node] = {}
        self._only: dict[tuple[str, str], Instance] = {}
        contracts.declare(self)

    def step(self) -> None:
        self.steps += 1
        if self.steps > self.budget:
            raise OutOfBudget(f"more than {self.budget} steps")

    # conditions

    def atom(self, name: str) -> Node:
        """A boolean configuration atom."""
        node = self._atoms.get(name)
        if node is None:
            node = self.contracts.structured_atom(self, name)
            if node is None:
                node = self.diagrams.literal(name)
            self._atoms[name] = node
        return node

    def is_value(self, variable: str, *values: str) -> Node:
        """The literal `variable in values` of a multi-valued atom."""
        return self.diagrams.literal(variable, values)

    def assume(self, fact: Node) -> None:
        """Add a deployment fact."""
        self.base = self.diagrams.conj(self.base, fact)

    def possible(self, condition: Node) -> bool:
        """Whether a condition can hold under the deployment facts."""
        return self.diagrams.intersects(condition, self.base)

    def symbol(self, name: str, kind: ClassValue | str | None = None) -> Symbol:
        if len(name) > _LONG_NAME:
            name = f"{name[:_LONG_NAME]}~"
        return Symbol(name, kind)

    def truth_of_symbol(self, symbol: Symbol) -> Node:
        if symbol.kind == "bool" or _BOOLISH.search(symbol.name):
            return self.atom(symbol.name)
        return self.diagrams.neg(self.is_value(symbol.name, "None", "0"))

    def is_none(self, symbol: Symbol) -> Node:
        if symbol.kind == "bool":
            return FALSE
        if symbol.name.endswith(")"):
            return self.atom(f"{symbol.name} is None")
        if _BOOLISH.search(symbol.name):
            return FALSE
        return self.is_value(symbol.name, "None")

    def is_zero(self, symbol: Symbol) -> Node:
        if symbol.kind == "bool" or _BOOLISH.search(symbol.name):
            return self.diagrams.neg(self.atom(symbol.name))
        return self.is_value(symbol.name, "0")

    def truth(self, guarded: Guarded, pc: Node) -> Node:
        """The condition, within `pc`, under which a value is true."""
        result = FALSE
        for guard, value in self.within(guarded, pc):
            result = self.diagrams.disj(result, self.diagrams.conj(guard, self.truth_of(value)))
        return result

    def truth_of(self, value: Value) -> Node:
        if isinstance(value, Const):
            return TRUE if value.value else FALSE
        if isinstance(value, Symbol):
            return self.truth_of_symbol(value)
        if isinstance(value, Sequence):
            return TRUE if value.items else FALSE
        if isinstance(value, Instance) and value.cls == "dict":
            present = (guard for slot in self.heap[value.key].values() for guard, item in slot if item != ABSENT)
            return self.diagrams.any_of(present)
        return TRUE

    # guarded values

    def within(self, guarded: Guarded, pc: Node) -> Guarded:
        """The alternatives that are possible under `pc`."""
        conj, possible = self.diagrams.conj, self.possible
        result = []
        for guard, value in guarded:
            narrowed = conj(guard, pc)
            if possible(narrowed):
                result.append((narrowed, value))
        return result

    def merge(self, guarded: Iterable[tuple[Node, Value]]) -> Guarded:
        """Join alternatives with the same value; many opaque symbols of no kind become one."""
        joined: dict[Value, Node] = {}
        for guard, value in guarded:
            if guard != FALSE:
                joined[value] = self.diagrams.disj(joined[value], guard) if value in joined else guard
        if len(joined) > _JOIN_SYMBOLS:
            plain = [value for value in joined if isinstance(value, Symbol) and value.kind is None]
            if len(plain) > _JOIN_SYMBOLS:
                one_of = Symbol(f"⊔{plain[0].name.lstrip('⊔')}")
                guard = self.diagrams.any_of(joined.pop(value) for value in plain)
                joined[one_of] = guard
        return [(guard, value) for value, guard in joined.items()]

    def choose(self, test: Node, then: Guarded, other: Guarded) -> Guarded:
        """`then` under `test`, `other` elsewhere."""
        conj, minus = self.diagrams.conj, self.diagrams.minus
        return self.merge(
            [(conj(guard, test), value) for guard, value in then]
            + [(minus(guard, test), value) for guard, value in other]
        )

    def boolean(self, node: Node) -> Guarded:
        if node == TRUE:
            return [(TRUE, TRUE_VALUE)]
        if node == FALSE:
            return [(TRUE, FALSE_VALUE)]
        return [(node, TRUE_VALUE), (self.diagrams.neg(node), FALSE_VALUE)]

    def written(self, old: Guarded | None, new: Guarded, pc: Node) -> Guarded:
        """What a variable holds after `new` was assigned under `pc`."""
        return self.merge(new) if old is None else self.choose(pc, new, old)

    # heap

    def tensor(self, parts: Parts, label: str | None = None) -> Tensor:
        self._cells += 1
        self.parts[self._cells] = [(TRUE, parts)]
        self.labels[self._cells] = label or f"t{self._cells}"
        return Tensor(self._cells)

    def instance(self, cls: ClassValue | str, name: str) -> Instance:
        self._cells += 1
        self.heap[self._cells] = {}
        return Instance(self._cells, cls, name)

    def only(self, cls: str, name: str) -> Instance:
        """The one object of this kind and name."""
        known = self._only.get((cls, name))
        if known is None or known.key not in self.heap:
            known = self._only[cls, name] = self.instance(cls, name)
        return known

    def set_attribute(self, target: Instance, name: str, value: Guarded, pc: Node) -> None:
        slots = self.heap[target.key]
        old = slots.get(name)
        if old is None and pc != TRUE:
            old = [(TRUE, ABSENT)]
        slots[name] = self.written(old, value, pc)

    def alternatives(self, tensor: Tensor, pc: Node) -> list[tuple[Node, Parts]]:
        """The possible contents of a tensor under `pc`."""
        conj = self.diagrams.conj
        found = []
        for guard, parts in self.parts[tensor.cell]:
            narrowed = conj(guard, pc)
            if self.possible(narrowed):
                found.append((narrowed, parts))
        return found

    def update(self, tensor: Tensor, pc: Node, change: Callable[[Parts], Parts]) -> None:
        """Change a tensor in place, under `pc`."""
        if pc == FALSE:
            return
        changed: list[tuple[Node, Parts]] = []
        for guard, parts in self.parts[tensor.cell]:
            inside = self.diagrams.conj(guard, pc)
            if inside != FALSE:
                changed.append((inside, change(parts)))
            outside = self.diagrams.minus(guard, pc)
            if outside != FALSE:
                changed.append((outside, parts))
        self.parts[tensor.cell] = self._joined(changed)

    def derived(self, tensor: Tensor, change: Callable[[Parts], Parts], label: str | None = None) -> Tensor:
        """A new tensor whose contents are a function of another's."""
        result = self.tensor((), label)
        self.parts[result.cell] = self._joined([(guard, change(parts)) for guard, parts in self.parts[tensor.cell]])
        if tensor.cell in self.traits:
            self.traits[result.cell] = dict(self.traits[tensor.cell])
        return result

    def with_contents(self, contents: list[tuple[Node, Parts]], label: str | None = None) -> Tensor:
        result = self.tensor((), label)
        self.parts[result.cell] = self._joined(contents)
        return result

    def _joined(self, contents: list[tuple[Node, Parts]]) -> list[tuple[Node, Parts]]:
        joined: dict[Parts, Node] = {}
        for guard, parts in contents:
            if guard != FALSE:
                joined[parts] = self.diagrams.disj(joined[parts], guard) if parts in joined else guard
        return [(guard, parts) for parts, guard in joined.items()]

    def units_of(self, value: Value, pc: Node) -> list[tuple[Node, Units | None]]:
        """The units of a scalar, or of a tensor's plain column; None where they are not known."""
        if isinstance(value, Scalar):
            return [(pc, value.units)]
        if isinstance(value, Const):
            return [(pc, self.contracts.number(value.value))]
        if isinstance(value, Symbol):
            dimension = self.contracts.dimension(value.name)
            return [(pc, ((dimension, 1),) if dimension else None)]
        if isinstance(value, Tensor):
            return [
                (guard, next((part.units for part in parts if part.name == "x"), ONE))
                for guard, parts in self.alternatives(value, pc)
            ]
        return [(pc, None)]

    def tracked(self, guarded: Guarded, pc: Node, depth: int = 0) -> bool:
        """Whether a value can hold an expert's output."""
        for guard, value in guarded:
            if isinstance(value, Tensor):
                inside = self.diagrams.conj(guard, pc)
                if any(interesting(parts) for _, parts in self.alternatives(value, inside)):
                    return True
            elif isinstance(value, Sequence) and depth < 2:
                nested = any(self.tracked(item, pc, depth + 1) for item in value.items)
                if nested:
                    return True
        return False

    def snapshot(self) -> tuple[dict[int, list[tuple[Node, Parts]]], dict[int, dict[str, Guarded]], int]:
        return dict(self.parts), {key: dict(slots) for key, slots in self.heap.items()}, len(self.events)

    def restore(self, saved: tuple[dict[int, list[tuple[Node, Parts]]], dict[int, dict[str, Guarded]], int]) -> None:
        self.parts.update(saved[0])
        self.heap.update({key: dict(slots) for key, slots in saved[1].items()})
        del self.events[saved[2] :]

    # log

    def note(
        self, pc: Node, node: ast.AST, frame: Frame, what: str, decisive: bool = False, kind: StepKind = ""
    ) -> None:
        """Log an event at a node. `decisive` ones changed an exponent, a slot or a reduction state."""
        if pc != FALSE:
            self.events.append(
                Event(pc, self.project.relative(frame.module.path), getattr(node, "lineno", 0), what, decisive, kind)
            )

    def refuse(self, pc: Node, node: ast.AST, frame: Frame) -> None:
        """Note that the code raises here: these configurations are refused, not wrong."""
        if pc != FALSE:
            path = self.project.relative(frame.module.path)
            self.refusals.append((pc, path, getattr(node, "lineno", 0)))

    def describe(self, tensor: Tensor, pc: Node) -> str:
        """Which parts a tensor can hold, for the trace."""
        names = {
            part.name for _, parts in self.alternatives(tensor, pc) for part in parts if part.name not in ("x", "s")
        }
        return "+".join(sorted(names)) or TOPK_WEIGHTS


def unknown_part(why: str) -> Part:
    return Part(f"?{why}", ONE, "any")


def times(a: Units | None, b: Units | None, sign: int = 1) -> Units:
    """A product in which an unknown co-factor counts as 1."""
    return multiply(a or ONE, b or ONE, sign)
