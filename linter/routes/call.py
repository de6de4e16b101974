"""Calls: binding, following, and the opaque rest."""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Arguments
from functools import partial

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import evaluate, execute, natives, resolve
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.machine import Machine, UnknownCall, unknown_part
from moelint.linter.routes.values import (
    ABSENT,
    NONE,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Method,
    Native,
    Sequence,
    Symbol,
    Tensor,
    Value,
)

Keywords = dict[str, Guarded]
_SHOWN = 60


def expression(machine: Machine, node: ast.Call, frame: Frame) -> Guarded:
    """A call expression: every possible callee, each under its condition."""
    callees = evaluate.expression(machine, node.func, frame)
    positional = _positional(machine, node, frame)
    keywords = _keywords(machine, node, frame)
    diagrams, entry = machine.diagrams, frame.pc
    found: Guarded = []
    lost = FALSE
    for guard, callee in machine.within(callees, entry):
        if isinstance(callee, Const):
            lost = diagrams.disj(lost, guard)
            continue
        frame.pc = guard
        given = [machine.relative(argument, guard) for argument in positional]
        named = {name: machine.relative(argument, guard) for name, argument in keywords.items()}
        result = value(machine, callee, given, named, frame, node)
        lost = diagrams.disj(lost, diagrams.minus(guard, frame.pc))
        found += [(diagrams.conj(guard, inner), item) for inner, item in result]
    frame.pc = machine.lose(entry, diagrams.minus(entry, lost))
    return machine.covering(machine.merge(found))


def _positional(machine: Machine, node: ast.Call, frame: Frame) -> list[Guarded]:
    found: list[Guarded] = []
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            spread = evaluate.expression(machine, argument.value, frame)
            if len(spread) == 1 and isinstance(spread[0][1], Sequence):
                found += spread[0][1].items
            else:
                found.append(spread)
        else:
            found.append(evaluate.expression(machine, argument, frame))
    return found


def _keywords(machine: Machine, node: ast.Call, frame: Frame) -> Keywords:
    found: Keywords = {}
    for keyword in node.keywords:
        given = evaluate.expression(machine, keyword.value, frame)
        if keyword.arg is not None:
            found[keyword.arg] = given
            continue
        for guard, spread in machine.within(given, frame.pc):
            if isinstance(spread, Instance):
                for key, entry in machine.heap[spread.key].items():
                    found[key] = machine.choose(guard, entry, found.get(key, [(TRUE, ABSENT)]))
    return found


def value(
    machine: Machine, callee: Value, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded:
    """Call one value under `frame.pc`."""
    result = machine.contracts.call(machine, callee, arguments, keywords, frame, node)
    if result is not None:
        return result
    if isinstance(callee, FunctionValue):
        return follow(machine, callee, arguments, keywords, frame, node)
    if isinstance(callee, Method):
        receiver: Guarded = [(TRUE, callee.receiver)]
        return follow(machine, callee.function, [receiver, *arguments], keywords, frame, node)
    if isinstance(callee, Native):
        return natives.method(machine, callee, arguments, keywords, frame, node)
    if isinstance(callee, ClassValue):
        return instantiate(machine, callee, arguments, keywords, frame, node)
    if isinstance(callee, Instance) and isinstance(callee.cls, ClassValue):
        for name in ("forward", "__call__"):
            method = resolve.find_method(machine, callee.cls, name)
            if method is not None:
                return follow(machine, method, [[(TRUE, callee)], *arguments], keywords, frame, node)
    return opaque(machine, str(callee), arguments, keywords, frame, node)


def follow(
    machine: Machine,
    callee: FunctionValue,
    arguments: Arguments[Guarded],
    keywords: Keywords,
    frame: Frame,
    node: ast.AST,
) -> Guarded:
    """Interpret a function of the project, unless the profile, recursion or depth forbid it."""
    if callee.closure is None and not machine.contracts.follows(machine, callee, arguments, keywords, frame):
        return opaque(machine, callee.qualname, arguments, keywords, frame, node)
    if len(machine.stack) >= machine.max_depth or machine.stack.count(callee.qualname) > 1:
        machine.notes.append(f"recursion or depth cut at {callee.qualname}")
        return opaque(machine, callee.qualname, arguments, keywords, frame, node)
    return function(machine, callee, arguments, keywords, frame, node)


def function(
    machine: Machine,
    callee: FunctionValue,
    arguments: Arguments[Guarded],
    keywords: Keywords,
    frame: Frame,
    node: ast.AST,
) -> Guarded:
    """Interpret a function under `frame.pc`, which becomes the condition under which it returns."""
    scope = Scope(callee.closure)
    mark = machine.cells
    inner = Frame(callee.module, scope, frame.pc, callee.qualname, callee.owner, entry=frame.pc, mark=mark)
    _bind(machine, callee, arguments, keywords, scope, frame.pc)
    parameters = callee.node.args.posonlyargs + callee.node.args.args
    if parameters and callee.owner is not None and parameters[0].arg in ("self", "cls"):
        receiver = scope.variables.get(parameters[0].arg, [])
        if len(receiver) == 1:
            inner.receiver = receiver[0][1]
    machine.stack.append(callee.qualname)
    try:
        if isinstance(callee.node, ast.Lambda):
            result = evaluate.expression(machine, callee.node.body, inner)
            frame.pc = inner.pc
            return result
        execute.block(machine, callee.node.body, inner)
    finally:
        machine.stack.pop()
    diagrams = machine.diagrams
    found: Guarded = []
    returned = inner.pc
    for guard, given in inner.returns:
        returned = diagrams.disj(returned, guard)
        found += [(diagrams.conj(guard, condition), item) for condition, item in given]
    if inner.pc != FALSE:
        found.append((inner.pc, NONE))
    frame.pc = machine.lose(frame.pc, returned)
    return machine.merge(found) if scope.captured else machine.collapse(found, mark)


def _bind(
    machine: Machine,
    callee: FunctionValue,
    arguments: Arguments[Guarded],
    keywords: Keywords,
    scope: Scope,
    pc: Node,
) -> None:
    declared = callee.node.args
    positional = [parameter.arg for parameter in (*declared.posonlyargs, *declared.args)]
    defaults: dict[str, ast.expr] = dict(
        zip(positional[len(positional) - len(declared.defaults) :], declared.defaults, strict=True)
    )
    for parameter, default in zip(declared.kwonlyargs, declared.kw_defaults, strict=True):
        if default is not None:
            defaults[parameter.arg] = default
    names = [*positional, *(parameter.arg for parameter in declared.kwonlyargs)]
    definition = Frame(callee.module, Scope(callee.closure), pc)

    def fallback(name: str) -> Guarded:
        if name in defaults:
            return evaluate.expression(machine, defaults[name], definition)
        return [(TRUE, Symbol(name))]

    for name, given in zip(positional, arguments, strict=False):
        scope.variables[name] = given
    if declared.vararg is not None:
        scope.variables[declared.vararg.arg] = [(TRUE, Sequence(tuple(arguments[len(positional) :])))]
    if declared.kwarg is not None:
        rest = machine.instance("dict", "kwargs")
        machine.heap[rest.key].update({key: given for key, given in keywords.items() if key not in names})
        scope.variables[declared.kwarg.arg] = [(TRUE, rest)]
    for name in names:
        if name in keywords:
            scope.variables[name] = without_absent(machine, keywords[name], partial(fallback, name))
        elif name not in scope.variables:
            scope.variables[name] = fallback(name)


def without_absent(machine: Machine, given: Guarded, fallback: Callable[[], Guarded]) -> Guarded:
    """A value in which the configurations that gave none take the default."""
    missing = [guard for guard, item in given if item == ABSENT]
    if not missing:
        return given
    default = fallback()
    return machine.merge(
        [(guard, item) for guard, item in given if item != ABSENT]
        + [(machine.diagrams.conj(guard, inner), item) for guard in missing for inner, item in default]
    )


def instantiate(
    machine: Machine, cls: ClassValue, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded:
    """`cls(...)`: a record gets its fields, a class of the profile's interest runs its `__init__`."""
    label = f"{cls.node.name}@{getattr(node, 'lineno', 0)}"
    init = resolve.find_method(machine, cls, "__init__")
    if init is not None and not machine.contracts.follows_class(machine, cls):
        return machine.contracts.opaque_instance(machine, cls, init, arguments, keywords, label)
    result = machine.instance(cls, label)
    if init is not None:
        function(machine, init, [[(TRUE, result)], *arguments], keywords, frame, node)
        return [(TRUE, result)]
    slots = machine.heap[result.key]
    for given in [*arguments, *keywords.values()]:
        machine.hold(given)
    fields = resolve.record_fields(machine, cls)
    for (name, _, _), given in zip(fields, arguments, strict=False):
        slots[name] = given
    for name, default, module in fields:
        symbol: Guarded = [(TRUE, Symbol(f"{label}.{name}"))]
        if name in keywords:
            slots[name] = without_absent(machine, keywords[name], partial(list, symbol))
        elif name not in slots:
            slots[name] = symbol
            if default is not None:
                text = ast.unparse(default)
                if "field(" not in text:
                    slots[name] = evaluate.expression(machine, default, Frame(module, Scope(), TRUE))
                elif "default=None" in text:
                    slots[name] = [(TRUE, NONE)]
    return [(TRUE, result)]


def opaque(
    machine: Machine, name: str, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded:
    """A call that is not followed. If it gets an expert's output, its result is unknown because of it."""
    given = [*arguments, *keywords.values()]
    touched = [argument for argument in given if machine.tracked(argument, frame.pc)]
    if touched and not machine.contracts.harmless(name):
        short = name.rsplit(".", 1)[-1]
        line = getattr(node, "lineno", 0)
        path = machine.project.relative(frame.module.path)
        machine.unknown_calls.setdefault(short, UnknownCall(name, path, line))
        mixed: Guarded = [
            (guard, machine.derived(item, lambda parts: tuple({*parts, unknown_part(short)})))
            for guard, item in machine.within(touched[0], frame.pc)
            if isinstance(item, Tensor)
        ]
        result = machine.gathered(mixed) if mixed else machine.tensor((unknown_part(short),))
        machine.note(frame.pc, node, frame, f"unknown call `{name}` receives {machine.describe(result, frame.pc)}")
        return [(TRUE, result)]
    name = name.removeprefix(machine.contracts.facts.prefix)
    shown = [_show(argument) for argument in arguments]
    shown += [f"{key}={_show(argument)}" for key, argument in keywords.items()]
    return [(TRUE, machine.symbol(f"{name}({','.join(shown)})"))]


def _show(guarded: Guarded) -> str:
    return "|".join(sorted(str(item) for _, item in guarded))[:_SHOWN]
