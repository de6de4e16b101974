"""MOE720."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.analysis.walk import remembered, walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reads import receiver_name

_COUNT = re.compile(r"_?(n|num|nr)_\w*(shared|fused)\w*|\w*(shared|fused)\w*_(slots|count|num)")
_WORDS = frozenset({"shared", "fused"})
_SET = re.compile(rb"(?:shared|fused)\w*[^\n=()]*=(?!=)")
_OWN_CALL = re.compile(rb"\.(\w+)\(")
_DEPTH = 3
_Path = tuple[tuple[ast.If, bool], ...]


class SharedCountSetLate(Rule):
    """Reports a number of shared experts that a constructor sets after it has called a method that reads it.

    ## What it does
    Follows a constructor in source order: a call of an own method (or of a base's constructor in this module) that
    reads a count of shared or fused experts, and afterwards an assignment of that count.

    ## Why is this bad?
    The method works with the old count, or fails. Buffers made by it have no slot for the shared expert, whose
    weights are then loaded nowhere and whose output is missing.

    ## Example
    ```python
    class Moe:
        def __init__(self, n_routed, n_shared):
            self.num_fused_shared_experts = 0
            self.create_weights(n_routed)
            self.num_fused_shared_experts = n_shared

        def create_weights(self, n_routed):
            self.slots = n_routed + self.num_fused_shared_experts
    ```

    ## Use instead
    ```python
    class Moe:
        def __init__(self, n_routed, n_shared):
            self.num_fused_shared_experts = n_shared
            self.create_weights(n_routed)

        def create_weights(self, n_routed):
            self.slots = n_routed + self.num_fused_shared_experts
    ```

    ## Limits
    Own methods are followed three calls deep, within one module. A method that is called again after the assignment
    is taken to repair what it did.
    """

    code = "MOE720"
    family = "init-order"
    tokens = (
        ("@slot_count", "__init__"),
        ("self.n_fused", "__init__"),
        ("self.num_fused", "__init__"),
        ("self.n_shared", "__init__"),
        ("self.num_shared", "__init__"),
        ("fused_slots", "__init__"),
        ("shared_slots", "__init__"),
    )
    help = "set the count before any method that reads it"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for cls in module.classes.values():
            init = cls.methods.get("__init__")
            if init is None or not mentions(module, init.node, _WORDS):
                continue
            segment = module.source.segment(init.node)
            if not remembered(init.node, "counted", partial(_SET.search, segment)):
                continue
            if not _calls_own(module, cls, remembered(init.node, "own calls", partial(_OWN_CALL.findall, segment))):
                continue
            steps = _steps_of(init)
            calls = [step for step in steps if isinstance(step, _Call)]
            for step in steps:
                if isinstance(step, _Set) and _COUNT.fullmatch(step.name):
                    call = _early_reader(module, cls, step, calls)
                    if call is not None:
                        yield Draft(
                            step.target,
                            f"`self.{step.name}` is set here, after `{ast.unparse(call.node.func)}` has read it: what "
                            "that call built knows another number of shared experts. Set the count first.",
                            init.qualname,
                            ((call.node, "this call reads the count before it is set"),),
                        )


def _calls_own(module: Module, cls: Class, called: list[bytes]) -> bool:
    """Whether a constructor that calls methods of these names calls one of the class, or a base in this module has a
    constructor to call."""
    above = list(module.ancestry(cls))
    own = {name.encode() for ancestor in above for name in ancestor.methods}
    return bool(own & set(called)) or any("__init__" in base.methods for base in above[1:])


@dataclass(frozen=True, slots=True, eq=False)
class _Call:
    """A call of an own method, or of a base's constructor (`method` is then `__init__`)."""

    node: ast.Call
    method: str
    path: _Path


@dataclass(frozen=True, slots=True, eq=False)
class _Set:
    """An assignment of an own attribute."""

    target: ast.Attribute
    name: str
    path: _Path


def _steps(body: list[ast.stmt], receiver: str, path: _Path) -> Iterator[_Call | _Set]:
    """The own calls and assignments of a constructor in the order in which they happen."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _calls(statement.test, receiver, path)
            yield from _steps(statement.body, receiver, (*path, (statement, True)))
            yield from _steps(statement.orelse, receiver, (*path, (statement, False)))
        elif isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
            for inner in (statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])):
                yield from _steps(inner, receiver, path)
        elif not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _calls(statement, receiver, path)
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            for target in targets:
                for node in walk(target) if target is not None else ():
                    stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                    if stored and isinstance(node, ast.Attribute) and terminal_name(node.value) == receiver:
                        yield _Set(node, node.attr, path)


def _steps_of(init: Function) -> list[_Call | _Set]:
    node = init.node
    return remembered(node, "steps", lambda: list(_steps(node.body, receiver_name(node), ())))


def _calls(node: ast.AST, receiver: str, path: _Path) -> Iterator[_Call]:
    for part in walk(node):
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
            if isinstance(part.func.value, ast.Name) and part.func.value.id == receiver:
                yield _Call(part, part.func.attr, path)
            elif terminal_name(part.func.value) == "super" and part.func.attr == "__init__":
                yield _Call(part, "__init__", path)


def _early_reader(module: Module, cls: Class, step: _Set, calls: list[_Call]) -> _Call | None:
    """The call before `step` that reads what it sets, and that is not repeated after it."""
    line = step.target.lineno
    later = {call.method for call in calls if call.node.lineno > line}
    for call in calls:
        if call.node.lineno < line and call.method not in later and not _exclude(call.path, step.path):
            method = _target(module, cls, call)
            if method is not None and _reads(module, cls, method, step.name, _DEPTH):
                return call
    return None


def _exclude(one: _Path, two: _Path) -> bool:
    """Whether two places are on different sides of a test."""
    return any(test is other and side != beside for test, side in one for other, beside in two)


def _target(module: Module, cls: Class, call: _Call) -> Function | None:
    if call.method != "__init__":
        return module.function(call.method, cls)
    above = [ancestor.methods["__init__"] for ancestor in module.ancestry(cls) if "__init__" in ancestor.methods]
    return above[1] if len(above) > 1 else None


def _reads(module: Module, cls: Class, method: Function, attribute: str, depth: int) -> bool:
    """Whether a method, or an own method that it calls, reads the attribute before it sets it."""
    receiver = receiver_name(method.node)
    mine = [
        node
        for node in walk(method.node)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == receiver
    ]
    touched = sorted((node for node in mine if node.attr == attribute), key=lambda node: (node.lineno, node.col_offset))
    if touched:
        return isinstance(touched[0].ctx, ast.Load)
    if depth == 0:
        return False
    called = {step.method for step in _calls(method.node, receiver, ()) if step.method != "__init__"}
    inner = [module.function(name, cls) for name in called]
    return any(f is not None and f is not method and _reads(module, cls, f, attribute, depth - 1) for f in inner)
