"""Factor flow: one abstract walk per function that follows the routed scaling factor and notes what happens to it.

Per module the walk is repeated until no new attribute alias, tainted parameter or factor-returning function turns
up (a few rounds at most); only functions whose source mentions a relevant name are walked.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, field, replace

from moelint.linter.analysis.events import Event, Guard, Handed, Scale, Value
from moelint.linter.analysis.known import Call, Known
from moelint.linter.analysis.mentions import covers, mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.sinks import COLUMN_WRITE
from moelint.linter.analysis.statements import FunctionWalk
from moelint.linter.analysis.weight_uses import weight_uses

_ROUNDS = 6
_RUN = frozenset({"__init__", "__call__", "forward"})
"""Methods that everybody calls: their calls say nothing."""


@dataclass(slots=True)
class Flow:
    """The events of a module, in source order, and the aliases that were found on the way."""

    events: list[Event] = field(default_factory=list)
    aliases: dict[str, dict[str, Value]] = field(default_factory=dict)
    """Class qualname -> attribute -> the factor stored there."""
    callers: dict[Function, list[Call]] = field(default_factory=dict)
    """Function -> the calls of it, in functions that have to do with the factor."""


def analyse(module: Module) -> Flow:
    """Run the walk over every relevant function of `module`."""
    return _Analysis(module).run()


class _Analysis:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.known = Known(module)
        self.events: dict[Function, list[Event]] = {}
        profile = module.profile
        self._words = (
            profile.factor | profile.flags | profile.runner_flags | profile.slot_weight | profile.wish
            | profile.answer_names | frozenset(profile.slot_sinks)
            | {
                name for name, value in module.constants.items()
                if isinstance(value, ast.Constant) and value.value in profile.factor
            }
        )  # fmt: skip
        self._weight_uses = weight_uses(module.source, profile.topk_weights)

    def run(self) -> Flow:
        known = self.known
        candidates = [f for f in self.module.functions if f.outer is None and not _is_kernel(f)]
        pending = [f for f in candidates if self._is_relevant(f)]
        for _ in range(_ROUNDS):
            known.fresh_names, known.fresh_functions = set(), set()
            for function in pending:
                self._walk(function)
            if not known.fresh_names and not known.fresh_functions:
                break
            pending = [f for f in candidates if self._affected(f)]
        self._walk_callers(candidates)
        callers = known.callers()
        flow = Flow(aliases=known.aliases, callers=callers)
        entries = _Entries(callers)
        seen: set[tuple[type, int, int, int, int]] = set()
        for function in self.module.functions:
            for event in self.events.get(function, ()):
                node = event.node
                key = (type(event), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
                if key not in seen:
                    seen.add(key)
                    flow.events.append(entries.under(event))
        return flow

    def _is_relevant(self, function: Function) -> bool:
        """Whether a function names the factor, a flag or a slot, or may write a column of the top-k weights."""
        if mentions(self.module, function.node, self._words):
            return True
        used = covers(function.node, self._weight_uses)
        return used and COLUMN_WRITE.search(self.module.source.segment(function.node)) is not None

    def _walk(self, function: Function) -> None:
        walk = FunctionWalk(self.known, function)
        walk.enter(function)
        self.events[function] = walk.events
        self.known.calls[function] = walk.calls

    def _affected(self, function: Function) -> bool:
        """Whether the last round found something that this function's walk did not know."""
        if function in self.known.fresh_functions:
            return True
        segment = self.module.source.segment(function.node)
        return any(name.encode() in segment for name in self.known.fresh_names)

    def _walk_callers(self, candidates: list[Function]) -> None:
        """Walk the functions that call one that scales and were of no interest so far, for their guards."""
        names = {
            event.function.name.encode() + b"("
            for events in self.events.values()
            for event in events
            if isinstance(event, (Scale, Handed)) and event.function is not None and event.function.name not in _RUN
        }
        for function in candidates:
            if function not in self.events and names:
                segment = self.module.source.segment(function.node)
                if any(name in segment for name in names):
                    self._walk(function)


class _Entries:
    """The guards under which the functions of a module are called in it."""

    def __init__(self, callers: dict[Function, list[Call]]) -> None:
        self.callers = callers
        self._known: dict[Function, tuple[Guard, ...]] = {}

    def under(self, event: Event) -> Event:
        """An event of a function that is called here: the guards of the calls are its own too."""
        if not isinstance(event, (Scale, Handed)) or event.function is None:
            return event
        guards = self._guards(event.function)
        return replace(event, guards=(*guards, *event.guards)) if guards else event

    def _guards(self, function: Function) -> tuple[Guard, ...]:
        calls = self.callers.get(function)
        if not calls:
            return ()
        if function not in self._known:
            self._known[function] = ()  # for functions that call each other
            alternatives = tuple((*self._guards(call.function), *call.guards) for call in calls)
            if all(alternatives):
                self._known[function] = (Guard(calls[0].node, True, "callers", function, None, alternatives),)
        return self._known[function]


def _is_kernel(function: Function) -> bool:
    """A device function: it computes what its caller orders."""
    return any(terminal_name(decorator) in ("jit", "kernel") for decorator in function.node.decorator_list)
