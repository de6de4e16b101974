"""What the flow analysis reports: one record per place where the factor, a slot or a flag is touched."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from moelint.linter.analysis.module import Function

GuardKind = Literal["if", "ternary", "assert", "loop", "handler", "either", "callers"]


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """A test that must have come out as `positive` for control to be here.

    Kind `either` means that all guards of at least one of the `alternatives` hold, kind `callers` the same for the
    calls that lead here; `test` is then only a place to show.
    """

    test: ast.expr
    positive: bool
    kind: GuardKind = "if"
    function: Function | None = None
    origin: ast.If | None = None
    """The statement the test belongs to, where it is an `if`."""
    alternatives: tuple[tuple[Guard, ...], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One hop of the factor, for the trace."""

    node: ast.AST
    text: str
    crossing: bool = False
    """The factor enters a function here under a name that is no spelling of it."""


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """A scalar that carries the factor to `power`. Under the negation of `guards` it is neutral."""

    power: int
    trace: tuple[Step, ...]
    guards: tuple[Guard, ...] = ()

    def then(self, node: ast.AST, text: str) -> Value:
        return Value(self.power, (*self.trace, Step(node, text)), self.guards)

    def under(self, guards: tuple[Guard, ...]) -> Value:
        """This value where `guards` hold too, neutral elsewhere."""
        return Value(self.power, self.trace, (*guards, *self.guards)) if guards else self


def either(values: Sequence[Value]) -> Value:
    """The value that is one of `values` in some case each, and neutral where the guards of none hold."""
    for value in values:
        if not value.guards:
            return value
    first = values[0]
    return Value(first.power, first.trace, one_of([value.guards for value in values]))


def one_of(alternatives: Sequence[tuple[Guard, ...]]) -> tuple[Guard, ...]:
    """Guards that hold where all guards of one of the alternatives do."""
    common = 0
    shortest = min(map(len, alternatives), default=0)
    first = alternatives[0] if alternatives else ()
    while common < shortest and all(other[-1 - common] is first[-1 - common] for other in alternatives):
        common += 1
    rest = [alternative[: len(alternative) - common] for alternative in alternatives]
    shared = first[len(first) - common :]
    if not all(rest):
        return shared
    return (Guard(rest[0][0].test, True, "either", None, None, tuple(rest)), *shared)


def flattened(guards: Iterable[Guard]) -> Iterator[Guard]:
    """The single tests among the guards and their alternatives, each once."""
    stack, seen = list(guards)[::-1], set()
    while stack:
        guard = stack.pop()
        if guard in seen:
            continue
        seen.add(guard)
        if guard.alternatives:
            stack.extend(inner for alternative in guard.alternatives[::-1] for inner in alternative[::-1])
        else:
            yield guard


@dataclass(frozen=True, slots=True, eq=False)
class Event:
    """Common to all: the narrowest node, its statement, its function (None at module level) and its guards."""

    node: ast.AST
    statement: ast.stmt
    function: Function | None
    guards: tuple[Guard, ...]
    trace: tuple[Step, ...]

    @property
    def qualname(self) -> str:
        return self.function.qualname if self.function else "<module>"


@dataclass(frozen=True, slots=True, eq=False)
class Scale(Event):
    """Something is multiplied (`power` +1) or divided (-1) by the factor. `scaled` is None for `1 / factor`."""

    scaled: ast.expr | None
    power: int
    in_place: bool
    form: str


@dataclass(frozen=True, slots=True, eq=False)
class Handed(Event):
    """The factor is an argument of a call. `keyword` is None for a positional argument."""

    call: ast.Call
    callee: str
    keyword: str | None
    power: int
    choice: tuple[Guard, ...] = ()
    """The guards that belong to the value (`factor if test else 1.0`), not to the control flow."""
    followed: bool = False
    """Whether the callee is code of this module, into which the factor is followed."""


@dataclass(frozen=True, slots=True, eq=False)
class Compared(Event):
    """The factor is compared with something other than its neutral values."""


@dataclass(frozen=True, slots=True, eq=False)
class SlotWrite(Event):
    """A shared slot's weight is given a value. `how` says in which form, `value` is the expression."""

    value: ast.expr
    how: Literal["name", "column", "argument"]
    target: str
    power: int | None
    """Exponent of the factor in the value, where the factor occurs in it."""


@dataclass(frozen=True, slots=True, eq=False)
class FlagSet(Event):
    """A fold flag or a runner's flag is given a value, as a keyword, a dictionary entry or an attribute."""

    value: ast.expr
    name: str
    call: ast.Call | None


@dataclass(frozen=True, slots=True, eq=False)
class Stored(Event):
    """The factor is stored in `self.attribute`."""

    attribute: str


@dataclass(frozen=True, slots=True, eq=False)
class AnswerGiven(Event):
    """What stands for a central helper's answer: stored in an attribute, or handed to a call, under its name."""

    value: ast.expr
    name: str
    callee: str
    """The callee; empty for an attribute."""
