"""The state of one interpretation: conditions, heap, events, budget; and the operations on guarded values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Set
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node
from moelint.linter.routes.project import Project
from moelint.linter.routes.units import (
    ONE,
    WEIGHTS,
    Part,
    Parts,
    StepKind,
    Units,
    interesting,
    multiply,
    scales,
    states,
)
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
T = TypeVar("T")
Contents = list[tuple[Node, Parts]]
Change = Callable[[Parts], Parts]
Snapshot = tuple[dict[int, Contents], dict[int, Contents], dict[int, dict[str, Guarded]], int]
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
        """Deployment facts, and within a route the condition of its entry. Conditions do not carry them; what cannot be
        under them is dropped where it turns up."""
        self.facts: Node = TRUE
        """Deployment facts alone."""
        self.dead: Node = FALSE
        """Where a callee raised. Conditions do not carry that either: what happens there afterwards never happens, and
        is taken out at the end."""
        self.scales: dict[int, Contents] = {}
        self.states: dict[int, Contents] = {}
        """Contents of tensors: the parts' scales and their reduction states, apart because they depend on different
        atoms (`units.scales`, `units.states`)."""
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
        self.cells = 0
        """How many heap cells there are: one that is made later has a greater number."""
        self.escaped: set[int] = set()
        """Tensors that something else than the expression that made them may hold."""
        self.choices: dict[tuple[str | Node, ...], str] = {}
        """Questions that were answered by a choice -> its variable."""
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
        self.base = self.facts = self.diagrams.conj(self.facts, fact)

    @contextmanager
    def inside(self, condition: Node | None) -> Iterator[None]:
        """Interpret within a condition that guards need not repeat; None: with no more than the deployment facts. What
        dies inside is alive outside: `alive` tells it apart before the end."""
        outer = self.base, self.dead
        self.base = self.facts if condition is None else self.diagrams.conj(self.facts, condition)
        self.dead = FALSE
        try:
            yield
        finally:
            self.base, self.dead = outer

    def alive(self, condition: Node) -> Node:
        """Without the worlds in which something raised."""
        return self.diagrams.minus(condition, self.dead)

    def lose(self, entry: Node, left: Node) -> Node:
        """Control entered something under `entry` and left it under `left` only. The condition to go on with."""
        if left == entry:
            return entry
        lost = self.diagrams.minus(entry, left)
        if not self.possible(lost):
            return entry
        if not self.possible(left):
            return FALSE
        self.dead = self.diagrams.disj(self.dead, lost)
        return entry

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

    def relative(self, guarded: Guarded, pc: Node) -> Guarded:
        """The same alternatives, with guards that say nothing of what holds under `pc` anyhow."""
        if pc == TRUE and self.base == TRUE:
            return guarded
        found = []
        for guard, value in self.within(guarded, pc):
            found.append((self.diagrams.simplify(guard, pc), value))
        return found

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

    def collapse(self, guarded: Guarded, mark: int, held: Set[int] = frozenset()) -> Guarded:
        """Put alternatives that were made after `mark`, and that nothing else holds, into one: one tensor with all
        contents, one sequence of a length, one record of a class. Nobody can tell, and far fewer values are left."""
        groups: dict[object, Guarded] = {}
        for guard, value in guarded:
            kind = self._kind(value, mark)
            if held and kind is not None and not held.isdisjoint(self.reachable([(guard, value)])):
                kind = None
            groups.setdefault(kind, []).append((guard, value))
        found: Guarded = []
        for kind, group in groups.items():
            if kind is None or len(group) == 1:
                found += group
            else:
                found.append((self.diagrams.any_of(guard for guard, _ in group), self._joint(group, mark)))
        return self.merge(found)

    def reachable(self, guarded: Guarded) -> Iterator[int]:
        """The heap cells of values, and of the items of sequences."""
        for _, value in guarded:
            if isinstance(value, Tensor):
                yield value.cell
            elif isinstance(value, Instance):
                yield value.key
            elif isinstance(value, Sequence):
                for item in value.items:
                    yield from self.reachable(item)

    def gathered(self, guarded: Guarded) -> Tensor:
        """One new tensor with the contents of all these tensors."""
        result = self._joint(guarded, self.cells)
        assert isinstance(result, Tensor)
        return result

    def _kind(self, value: Value, mark: int) -> object:
        """What alternatives must share to be one; None for a value that stays as it is."""
        if isinstance(value, Tensor):
            return "tensor" if value.cell > mark and value.cell not in self.escaped else None
        if isinstance(value, Sequence):
            return len(value.items)
        if isinstance(value, Instance) and value.key > mark and isinstance(value.cls, ClassValue):
            return value.cls if value.key not in self.escaped else None
        return None

    def _joint(self, group: Guarded, mark: int) -> Value:
        conj = self.diagrams.conj
        first = group[0][1]
        if isinstance(first, Tensor):
            contents = [
                (conj(guard, inner), parts)
                for guard, value in group
                if isinstance(value, Tensor)
                for inner, parts in self.scales[value.cell]
            ]
            reductions = [
                (conj(guard, inner), parts)
                for guard, value in group
                if isinstance(value, Tensor)
                for inner, parts in self.states[value.cell]
            ]
            return self.with_contents(contents, reductions, self.labels[first.cell])
        if isinstance(first, Sequence):
            for _, value in group:
                self._hold_repeated(value)
            columns = zip(*(value.items for _, value in group if isinstance(value, Sequence)), strict=True)
            return Sequence(tuple(self._column(group, list(column), mark) for column in columns))
        assert isinstance(first, Instance)
        result = self.instance(first.cls, first.name)
        slots = [self.heap[value.key] for _, value in group if isinstance(value, Instance)]
        absent: Guarded = [(TRUE, ABSENT)]
        for name in dict.fromkeys(name for entry in slots for name in entry):
            self.heap[result.key][name] = self._column(group, [entry.get(name, absent) for entry in slots], mark)
        return result

    def _column(self, group: Guarded, column: list[Guarded], mark: int) -> Guarded:
        conj = self.diagrams.conj
        return self.collapse(
            [
                (conj(guard, inner), item)
                for (guard, _), entry in zip(group, column, strict=True)
                for inner, item in entry
            ],
            mark,
        )

    def _hold_repeated(self, value: Value) -> None:
        """Tensors that one sequence holds twice stay themselves: a change of one is a change of the other."""
        assert isinstance(value, Sequence)
        seen: set[int] = set()
        for item in value.items:
            cells = {entry.cell for _, entry in item if isinstance(entry, Tensor)}
            self.escaped |= seen & cells
            seen |= cells

    def hold(self, guarded: Guarded) -> None:
        """Note that the values are held by something that outlives the expression that made them."""
        for _, value in guarded:
            if isinstance(value, Tensor):
                self.escaped.add(value.cell)
            elif isinstance(value, Instance):
                if value.key not in self.escaped:
                    self.escaped.add(value.key)
                    for slot in self.heap[value.key].values():
                        self.hold(slot)
            elif isinstance(value, Sequence):
                for item in value.items:
                    self.hold(item)

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
        self.cells += 1
        self.scales[self.cells] = [(TRUE, scales(parts))]
        self.states[self.cells] = [(TRUE, states(parts))]
        self.labels[self.cells] = label or f"t{self.cells}"
        return Tensor(self.cells)

    def instance(self, cls: ClassValue | str, name: str) -> Instance:
        self.cells += 1
        self.heap[self.cells] = {}
        return Instance(self.cells, cls, name)

    def only(self, cls: str, name: str) -> Instance:
        """The one object of this kind and name."""
        known = self._only.get((cls, name))
        if known is None or known.key not in self.heap:
            known = self._only[cls, name] = self.instance(cls, name)
        return known

    def set_attribute(self, target: Instance, name: str, value: Guarded, pc: Node) -> None:
        slots = self.heap[target.key]
        self.hold(value)
        old = slots.get(name)
        if old is None and pc != TRUE:
            old = [(TRUE, ABSENT)]
        slots[name] = self.written(old, value, pc)

    def alternatives(self, tensor: Tensor, pc: Node) -> Contents:
        """The possible scales of a tensor's parts under `pc`."""
        return self._possible(self.scales[tensor.cell], pc)

    def reductions(self, tensor: Tensor, pc: Node) -> Contents:
        """The possible reduction states of a tensor's parts under `pc`."""
        return self._possible(self.states[tensor.cell], pc)

    def _possible(self, contents: Contents, pc: Node) -> Contents:
        conj = self.diagrams.conj
        found = []
        for guard, parts in contents:
            narrowed = conj(guard, pc)
            if self.possible(narrowed):
                found.append((narrowed, parts))
        return found

    def update(self, tensor: Tensor, pc: Node, change: Change) -> None:
        """Change a tensor in place, under `pc`."""
        self.update_scales(tensor, pc, change)
        self.update_states(tensor, pc, change)

    def update_scales(self, tensor: Tensor, pc: Node, change: Change) -> None:
        self.scales[tensor.cell] = self._updated(self.scales[tensor.cell], pc, lambda parts: scales(change(parts)))

    def update_states(self, tensor: Tensor, pc: Node, change: Change) -> None:
        self.states[tensor.cell] = self._updated(self.states[tensor.cell], pc, lambda parts: states(change(parts)))

    def _updated(self, contents: Contents, pc: Node, change: Change) -> Contents:
        changed: Contents = []
        for guard, parts in contents:
            new = change(parts)
            if new == parts or pc == FALSE:
                changed.append((guard, parts))
                continue
            changed.append((self.diagrams.conj(guard, pc), new))
            changed.append((self.diagrams.minus(guard, pc), parts))
        return self._joined(changed)

    def derived(self, tensor: Tensor, change: Change, label: str | None = None) -> Tensor:
        """A new tensor whose contents are a function of another's."""
        result = self.with_contents(
            [(guard, change(parts)) for guard, parts in self.scales[tensor.cell]],
            [(guard, change(parts)) for guard, parts in self.states[tensor.cell]],
            label,
        )
        if tensor.cell in self.traits:
            self.traits[result.cell] = dict(self.traits[tensor.cell])
        return result

    def with_contents(self, contents: Contents, reductions: Contents | None = None, label: str | None = None) -> Tensor:
        """A new tensor of these scales and states; without `reductions`, router weights."""
        result = self.tensor((), label)
        self.scales[result.cell] = self._joined([(guard, scales(parts)) for guard, parts in contents])
        given = [(TRUE, WEIGHTS)] if reductions is None else reductions
        self.states[result.cell] = self._joined([(guard, states(parts)) for guard, parts in given])
        return result

    def _joined(self, contents: Contents) -> Contents:
        joined: dict[Parts, Node] = {}
        for guard, parts in contents:
            if guard != FALSE:
                joined[parts] = self.diagrams.disj(joined[parts], guard) if parts in joined else guard
        return self.covering([(guard, parts) for parts, guard in joined.items()])

    def covering(self, guarded: list[tuple[Node, T]]) -> list[tuple[Node, T]]:
        """The same alternatives, of which the one with the longest condition takes all that no other takes. In a world
        that none took, there is no value: something raised, or facts exclude it."""
        if len(guarded) < 2:
            return [(TRUE, value) for _, value in guarded]
        variables = self.diagrams.variables
        longest = max(range(len(guarded)), key=lambda index: len(variables(guarded[index][0])))
        others = self.diagrams.any_of(guard for index, (guard, _) in enumerate(guarded) if index != longest)
        rest = self.diagrams.neg(others)
        return [(rest if index == longest else guard, value) for index, (guard, value) in enumerate(guarded)]

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

    def snapshot(self) -> Snapshot:
        return (
            dict(self.scales),
            dict(self.states),
            {key: dict(slots) for key, slots in self.heap.items()},
            len(self.events),
        )

    def restore(self, saved: Snapshot) -> None:
        self.scales.update(saved[0])
        self.states.update(saved[1])
        self.heap.update({key: dict(slots) for key, slots in saved[2].items()})
        del self.events[saved[3] :]

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
