"""What the walks over the functions of one module tell each other."""

from __future__ import annotations

import ast
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

from moelint.linter.analysis.events import Guard, Value, either
from moelint.linter.analysis.lookup import Callee, Lookup
from moelint.linter.analysis.module import Class, Function, Module


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """A call that runs a function of this module, in `function`, under `guards`."""

    node: ast.Call
    callee: Callee
    function: Function
    guards: tuple[Guard, ...]


class Known:
    """Where the factor is stored, handed and returned. Several sources of one place are merged."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.lookup = Lookup(module)
        self.aliases: dict[str, dict[str, Value]] = {}
        self.parameters: dict[Function, dict[str, Value]] = {}
        self.returns: dict[tuple[Function, int | None], Value] = {}
        """The factor that a function returns, as a whole (None) or in a position of a tuple."""
        self.positions: dict[Function, set[int]] = {}
        """The positions of tuples in which a function returns the factor."""
        self.calls: dict[Function, list[Call]] = {}
        """The calls found in each walked function."""
        self.fresh_names: set[str] = set()
        self.fresh_functions: set[Function] = set()
        self._sources: dict[Hashable, dict[int, Value]] = {}
        self._stored: set[str] = set()

    @cached_property
    def by_node(self) -> dict[ast.AST, Function]:
        return {function.node: function for function in self.module.functions}

    @cached_property
    def _below(self) -> dict[str, list[str]]:
        """Class qualname -> its subclasses in this module."""
        found: dict[str, list[str]] = {}
        for cls in self.module.classes.values():
            for ancestor in self.module.ancestry(cls):
                if ancestor is not cls:
                    found.setdefault(ancestor.qualname, []).append(cls.qualname)
        return found

    def alias(self, cls: Class, attribute: str) -> Value | None:
        """The factor stored in an attribute by the class, its bases or its subclasses in this module."""
        if attribute not in self._stored:
            return None
        names = [ancestor.qualname for ancestor in self.module.ancestry(cls)]
        for name in (*names, *self._below.get(cls.qualname, ())):
            found = self.aliases.get(name, {}).get(attribute)
            if found is not None:
                return found
        return None

    def alias_of(self, node: ast.Attribute, function: Function) -> Value | None:
        """The factor stored in an attribute of any object whose class is plain to see."""
        if node.attr not in self._stored:
            return None
        owner = self.lookup.owner_class(node.value, function)
        return self.alias(owner, node.attr) if owner is not None else None

    def note_alias(self, cls: Class, attribute: str, source: ast.AST, value: Value) -> None:
        merged = self._merged(("alias", cls.qualname, attribute), source, value)
        if merged is not None:
            self.aliases.setdefault(cls.qualname, {})[attribute] = merged
            self._stored.add(attribute)
            self.fresh_names.add(attribute)

    def note_parameter(self, function: Function, name: str, source: ast.AST, value: Value) -> None:
        merged = self._merged(("parameter", function, name), source, value)
        if merged is not None:
            self.parameters.setdefault(function, {})[name] = merged
            self.fresh_functions.add(function.outermost)

    def note_return(self, function: Function, position: int | None, source: ast.AST, value: Value) -> None:
        merged = self._merged(("return", function, position), source, value)
        if merged is not None:
            self.returns[function, position] = merged
            if position is not None:
                self.positions.setdefault(function, set()).add(position)
            self.fresh_names.add(function.name)

    def callers(self) -> dict[Function, list[Call]]:
        """Function -> the calls that run it."""
        found: dict[Function, list[Call]] = {}
        for calls in self.calls.values():
            for call in calls:
                found.setdefault(call.callee.function, []).append(call)
        return found

    def _merged(self, place: Hashable, source: ast.AST, value: Value) -> Value | None:
        """All that is known of a place with `value` from `source`; None where that is not new."""
        sources = self._sources.setdefault(place, {})
        before = sources.get(id(source))
        sources[id(source)] = value
        if before is not None and _signature(before.guards) == _signature(value.guards):
            return None
        return either(list(sources.values()))


def _signature(guards: tuple[Guard, ...]) -> Hashable:
    return tuple((id(g.test), g.positive, tuple(map(_signature, g.alternatives))) for g in guards)
