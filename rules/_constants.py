"""Small constant propagation between the functions of one module: what a flag or a factor is at a given call.

A frame binds parameters to expressions of the caller's frame and is evaluated lazily, so that a literal in a record
that passes through two calls is found without walking anything twice.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache

from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.rules._calls import Calls, Site, bind, is_receiver

_DEPTH = 12
_LEVELS = 3
_MOST = 48


@dataclass(frozen=True, slots=True, eq=False)
class Frame:
    """What is known inside a function: its arguments, and the frame of `__init__` of its object."""

    function: Function | None
    bindings: Mapping[str, Bound] = field(default_factory=dict)
    instance: Frame | None = None
    sites: tuple[Site, ...] = ()
    """The calls that led here, innermost first."""


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """An expression and the frame in which it means something."""

    node: ast.expr
    frame: Frame


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """A literal."""

    value: object
    origin: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """An object whose fields were given by keywords, keys or class-level values."""

    fields: Mapping[str, Bound]
    origin: ast.expr


@dataclass(frozen=True, slots=True, eq=False)
class Unknown:
    """An expression that cannot be reduced further. `given`: somebody supplied it, it is no open parameter."""

    node: ast.expr
    given: bool = True


Result = Known | Record | Unknown


class Constants:
    """The evaluator of one module."""

    def __init__(self, module: Module, calls: Calls) -> None:
        self.module = module
        self.calls = calls

    def frames(self, function: Function, level: int = 0) -> Iterator[Frame]:
        """The frames in which `function` runs: one for each chain of calls, or an open one where none is known."""
        instances = self._instances(function) if level < _LEVELS else [None]
        sites = self.calls.of(function) if level < _LEVELS else []
        made = 0
        for instance in instances:
            for site in sites:
                for caller in self._callers(site, level):
                    entered = self._entered(function, site.call, caller)
                    yield replace(entered, instance=instance, sites=(site, *caller.sites))
                    made += 1
                    if made >= _MOST:
                        return
            if not sites:
                yield Frame(function, {}, instance, instance.sites if instance is not None else ())

    def _callers(self, site: Site, level: int) -> Iterator[Frame]:
        if site.function is None:
            yield Frame(None)
        else:
            yield from self.frames(site.function, level + 1)

    def _instances(self, function: Function) -> list[Frame | None]:
        """The frames of `__init__` of the objects that `function` is a method of."""
        if function.cls is None:
            return [None]
        init = self.module.function("__init__", function.cls)
        sites = self.calls.constructions(function.cls)
        if init is None or init is function or not sites:
            return [None]
        return [replace(self._entered(init, site.call, Frame(site.function)), sites=(site,)) for site in sites]

    def _entered(self, function: Function, call: ast.Call, caller: Frame) -> Frame:
        """The frame of a function after one call."""
        bound = {name: Bound(node, caller) for name, node in bind(function, call).items()}
        return Frame(function, self._with_defaults(function, bound))

    def _with_defaults(self, function: Function, bound: dict[str, Bound]) -> dict[str, Bound]:
        for parameter, default in function.defaults():
            bound.setdefault(parameter.arg, Bound(default, Frame(None)))
        return bound

    def evaluate(self, node: ast.expr, frame: Frame, depth: int = _DEPTH) -> Result:
        """Reduce an expression in a frame."""
        if depth == 0:
            return Unknown(node)
        if isinstance(node, ast.Constant):
            return Known(node.value, node)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.USub)):
            return self._negated(node, frame, depth)
        if isinstance(node, ast.Name):
            return self._name(node, frame, depth)
        if isinstance(node, ast.Attribute):
            return self._attribute(node.value, node.attr, node, frame, depth)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            return self._attribute(node.value, node.slice.value, node, frame, depth)
        if isinstance(node, ast.Dict):
            keys = {key.value: Bound(value, frame) for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)}  # fmt: skip
            return Record(keys, node)
        if isinstance(node, ast.Call):
            return self._call(node, frame, depth)
        if isinstance(node, ast.BoolOp):
            return self._boolean(node, frame, depth)
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node, frame, depth)
        if isinstance(node, ast.IfExp):
            test = self.truth(node.test, frame, depth - 1)
            if test is not None:
                return self.evaluate(node.body if test else node.orelse, frame, depth - 1)
        return Unknown(node)

    def truth(self, test: ast.expr, frame: Frame, depth: int = _DEPTH) -> bool | None:
        """How a test comes out in a frame; None where that is open."""
        found = self.evaluate(test, frame, depth)
        if isinstance(found, Known):
            return bool(found.value)
        return True if isinstance(found, Record) else None

    def _name(self, node: ast.Name, frame: Frame, depth: int) -> Result:
        function = frame.function
        if node.id in frame.bindings:
            bound = frame.bindings[node.id]
            found = self.evaluate(bound.node, bound.frame, depth - 1)
            return Unknown(found.node) if isinstance(found, Unknown) else found
        if function is not None:
            written = assigned(function).get(node.id)
            if written is not None:
                return self.evaluate(written[0], frame, depth - 1) if len(written) == 1 else Unknown(node)
            if any(parameter.arg == node.id for parameter in function.parameters()):
                return Unknown(node, given=False)
        if node.id in self.module.constants:
            return self.evaluate(self.module.constants[node.id], Frame(None), depth - 1)
        return Unknown(node)

    def _attribute(self, base: ast.expr, name: object, node: ast.expr, frame: Frame, depth: int) -> Result:
        if not isinstance(name, str):
            return Unknown(node)
        if frame.function is not None and isinstance(base, ast.Name) and is_receiver(base, frame.function):
            return self._own(name, node, frame, depth)
        record = self.evaluate(base, frame, depth - 1)
        if isinstance(record, Record) and name in record.fields:
            bound = record.fields[name]
            return self.evaluate(bound.node, bound.frame, depth - 1)
        return Unknown(node, given=isinstance(record, Unknown) and record.given)

    def _own(self, name: str, node: ast.expr, frame: Frame, depth: int) -> Result:
        """An attribute of the frame's own object."""
        assert frame.function is not None
        cls = frame.function.cls
        for ancestor in self.module.ancestry(cls) if cls is not None else ():
            written = _class_values(ancestor).get(name)
            if written is not None:
                init = ancestor.methods.get("__init__")
                inner = frame.instance if frame.instance is not None else Frame(init)
                return self.evaluate(written[0], inner, depth - 1) if len(written) == 1 else Unknown(node)
        return Unknown(node)

    def _call(self, node: ast.Call, frame: Frame, depth: int) -> Result:
        name = terminal_name(node.func)
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            found = self._attribute(node.args[0], node.args[1].value, node, frame, depth)
            absent = isinstance(found, Unknown) and isinstance(self.evaluate(node.args[0], frame, depth - 1), Record)
            return self.evaluate(node.args[2], frame, depth - 1) if absent and len(node.args) > 2 else found
        if name == "get" and isinstance(node.func, ast.Attribute) and node.args:
            key = node.args[0].value if isinstance(node.args[0], ast.Constant) else None
            return self._attribute(node.func.value, key, node, frame, depth)
        if name in ("bool", "float", "int") and len(node.args) == 1:
            return self.evaluate(node.args[0], frame, depth - 1)
        cls = self.module.classes.get(name)
        if cls is not None:
            return self._object(cls, node, frame)
        if node.keywords and self.calls.resolve(node, frame.function) is None:
            return Record({k.arg: Bound(k.value, frame) for k in node.keywords if k.arg}, node)
        return Unknown(node)

    def _object(self, cls: Class, node: ast.Call, frame: Frame) -> Result:
        """An object of a class of this module. Without `__init__`, arguments override the class-level values."""
        single = {name: values[0] for name, values in _class_values(cls).items() if len(values) == 1}
        init = cls.methods.get("__init__")
        inner = self._entered(init, node, frame) if init is not None else Frame(None)
        fields = {name: Bound(value, inner) for name, value in single.items()}
        if init is None:
            declared = [item.target for item in cls.node.body if isinstance(item, ast.AnnAssign)]
            order = [target.id for target in declared if isinstance(target, ast.Name)]
            fields.update((name, Bound(value, frame)) for name, value in zip(order, node.args, strict=False))
            fields.update((keyword.arg, Bound(keyword.value, frame)) for keyword in node.keywords if keyword.arg)
        return Record(fields, node)

    def _negated(self, node: ast.UnaryOp, frame: Frame, depth: int) -> Result:
        if isinstance(node.op, ast.Not):
            value = self.truth(node.operand, frame, depth - 1)
            return Known(not value, node) if value is not None else Unknown(node)
        found = self.evaluate(node.operand, frame, depth - 1)
        if isinstance(found, Known) and isinstance(found.value, (int, float)):
            return Known(-found.value, node)
        return Unknown(node)

    def _boolean(self, node: ast.BoolOp, frame: Frame, depth: int) -> Result:
        stop = isinstance(node.op, ast.Or)
        values = [self.truth(part, frame, depth - 1) for part in node.values]
        if stop in values:
            first = node.values[values.index(stop)]
            if None not in values[: values.index(stop)]:
                return self.evaluate(first, frame, depth - 1)
            return Known(stop, node)
        return Unknown(node) if None in values else self.evaluate(node.values[-1], frame, depth - 1)

    def _compared(self, node: ast.Compare, frame: Frame, depth: int) -> Result:
        left, right = self.evaluate(node.left, frame, depth - 1), self.evaluate(node.comparators[0], frame, depth - 1)
        if not isinstance(left, Known) or not isinstance(right, Known):
            return Unknown(node)
        operator = node.ops[0]
        if isinstance(operator, (ast.Eq, ast.Is)):
            return Known(left.value == right.value, node)
        if isinstance(operator, (ast.NotEq, ast.IsNot)):
            return Known(left.value != right.value, node)
        if isinstance(left.value, (int, float)) and isinstance(right.value, (int, float)):
            if isinstance(operator, ast.Gt):
                return Known(left.value > right.value, node)
            if isinstance(operator, ast.Lt):
                return Known(left.value < right.value, node)
        return Unknown(node)


def is_neutral(found: Result) -> bool:
    """Whether a factor is absent or one."""
    return isinstance(found, Known) and found.value in (None, 0, 1, False)


@lru_cache(maxsize=64)
def assigned(function: Function) -> dict[str, list[ast.expr]]:
    """Local name -> the expressions bound to it; an opaque one for every other way of binding."""
    found: dict[str, list[ast.expr]] = {}
    for node in walk(function.node):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                for name, value in _pairs(target, node.value):
                    found.setdefault(name, []).append(value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).append(node.value)
        elif isinstance(node, (ast.AugAssign, ast.For)) and isinstance(node.target, ast.Name):
            found.setdefault(node.target.id, []).extend([node.target, node.target])
    return found


@lru_cache(maxsize=64)
def _class_values(cls: Class) -> dict[str, list[ast.expr]]:
    """Attribute -> values, with the tuple assignments that the module facts leave out."""
    found = {name: list(values) for name, values in cls.attributes.items()}
    statements = list(cls.node.body)
    for method in cls.methods.values():
        statements += [node for node in walk(method.node) if isinstance(node, ast.Assign)]
    for statement in statements:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Tuple):
            for target in statement.targets:
                for name, value in _pairs(target, statement.value):
                    found.setdefault(name, []).append(value)
    return found


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """(name, value) of an assignment, through tuples; attributes of the object count by their name."""
    if isinstance(target, (ast.Name, ast.Attribute)):
        yield terminal_name(target), value
    elif isinstance(target, (ast.Tuple, ast.List)):
        matched = isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(target.elts)
        for index, part in enumerate(target.elts):
            yield from _pairs(part, value.elts[index] if matched and isinstance(value, (ast.Tuple, ast.List)) else part)
