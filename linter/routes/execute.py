"""Statements under conditions: `if` narrows the path condition and does not fork."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import call, evaluate, resolve, tensors
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.machine import ANY_ROUTE, ROUTE_ENDS, Machine
from moelint.linter.routes.values import (
    NONE,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Scalar,
    Sequence,
    Symbol,
    Tensor,
)

_UNROLL = 8


def block(machine: Machine, body: list[ast.stmt], frame: Frame) -> None:
    """Run statements until none of the configurations is left."""
    for statement in body:
        if frame.pc == FALSE:
            return
        machine.step()
        handler = _HANDLERS.get(type(statement))
        if handler is not None:
            handler(machine, statement, frame)


def _expression(machine: Machine, node: ast.Expr, frame: Frame) -> None:
    if not isinstance(node.value, ast.Constant):
        evaluate.expression(machine, node.value, frame)


def _assign(machine: Machine, node: ast.Assign, frame: Frame) -> None:
    value = evaluate.expression(machine, node.value, frame)
    for target in node.targets:
        assign(machine, target, value, frame, node)


def _annotated(machine: Machine, node: ast.AnnAssign, frame: Frame) -> None:
    if node.value is not None:
        assign(machine, node.target, evaluate.expression(machine, node.value, frame), frame, node)


def assign(machine: Machine, target: ast.expr, value: Guarded, frame: Frame, node: ast.AST) -> None:
    """Bind a target under the frame's path condition."""
    if isinstance(target, ast.Name):
        scope = frame.scope.for_write(target.id)
        old = scope.variables.get(target.id)
        if scope is not frame.scope:
            machine.hold(value)
            scope.variables[target.id] = machine.written(old, value, frame.pc)
        else:
            _assign_local(machine, target.id, old, value, frame)
    elif isinstance(target, ast.Attribute):
        for guard, holder in machine.within(evaluate.expression(machine, target.value, frame), frame.pc):
            if isinstance(holder, Instance):
                stored = machine.contracts.stored(machine, target.attr, value)
                machine.set_attribute(holder, target.attr, stored, guard)
    elif isinstance(target, (ast.Tuple, ast.List)):
        for position, part in enumerate(target.elts):
            inner = part.value if isinstance(part, ast.Starred) else part
            assign(machine, inner, _unpacked(machine, value, position, frame, node), frame, node)
    elif isinstance(target, ast.Subscript):
        _assign_item(machine, target, value, frame, node)


def _assign_local(machine: Machine, name: str, old: Guarded | None, value: Guarded, frame: Frame) -> None:
    """A variable of this activation: its guards need not repeat under which condition the function was called. What no
    other variable holds is put together."""
    if old is None:
        frame.scope.variables[name] = machine.covering(machine.merge(value))
        return
    pc = machine.diagrams.simplify(frame.pc, frame.entry)
    written = machine.covering(machine.written(old, value, pc))
    if len(written) > 1 and not frame.scope.captured:
        held = {
            key for other, entry in frame.scope.variables.items() if other != name for key in machine.reachable(entry)
        }
        written = machine.collapse(written, frame.mark, held)
    frame.scope.variables[name] = written


def _unpacked(machine: Machine, value: Guarded, position: int, frame: Frame, node: ast.AST) -> Guarded:
    found: Guarded = []
    for guard, item in machine.within(value, frame.pc):
        entry = resolve.item(machine, item, Const(position), frame, node)
        if entry is None:
            entry = [(TRUE, item if isinstance(item, Tensor) else machine.symbol(f"{item}[{position}]"))]
        found += [(machine.diagrams.conj(guard, inner), part) for inner, part in entry]
    return machine.merge(found)


def _assign_item(machine: Machine, target: ast.Subscript, value: Guarded, frame: Frame, node: ast.AST) -> None:
    for guard, holder in machine.within(evaluate.expression(machine, target.value, frame), frame.pc):
        if isinstance(holder, Tensor):
            tensors.write_columns(machine, holder, tensors.columns(target.slice), value, guard, node, frame)
        elif isinstance(holder, Instance):
            key = evaluate.expression(machine, target.slice, frame)
            if len(key) == 1 and isinstance(key[0][1], Const):
                machine.set_attribute(holder, str(key[0][1].value), value, guard)


def _augmented(machine: Machine, node: ast.AugAssign, frame: Frame) -> None:
    op = type(node.op)
    change = evaluate.expression(machine, node.value, frame)
    sign = {ast.Mult: 1, ast.Div: -1}.get(op, 0)
    if isinstance(node.target, ast.Subscript):
        columns = tensors.columns(node.target.slice)
        for guard, holder in machine.within(evaluate.expression(machine, node.target.value, frame), frame.pc):
            if isinstance(holder, Tensor) and sign:
                tensors.scale(machine, holder, change, sign, guard, node, frame, columns)
        return
    found: Guarded = []
    for guard, current in machine.within(evaluate.expression(machine, node.target, frame), frame.pc):
        if isinstance(current, Tensor):
            if sign:
                tensors.scale(machine, current, change, sign, guard, node, frame)
            elif op in (ast.Add, ast.Sub):
                tensors.accumulate(machine, current, change, [(TRUE, Const(1))], guard, node, frame)
            found.append((guard, current))
            continue
        for inner, operand in machine.within(change, guard):
            if isinstance(current, Symbol) and sign and isinstance(operand, Scalar):
                fresh = tensors.fresh(machine, current.name)
                tensors.scale(machine, fresh, [(TRUE, operand)], sign, inner, node, frame)
                found.append((inner, fresh))
            else:
                found += evaluate.binary(machine, op, current, operand, inner, node, frame)
    assign(machine, node.target, machine.merge(found), frame, node)


def _if(machine: Machine, node: ast.If, frame: Frame) -> None:
    diagrams = machine.diagrams
    known = len(diagrams.names)
    value = evaluate.expression(machine, node.test, frame)
    entry = frame.pc
    test = machine.truth(value, entry)
    raises = isinstance(node.body[-1], ast.Raise) and not node.orelse
    if raises and _only_new(machine, test, known):
        return
    then, other = diagrams.conj(entry, test), diagrams.minus(entry, test)
    after_then = after_other = FALSE
    if machine.possible(then):
        frame.pc = then
        block(machine, node.body, frame)
        after_then = frame.pc
    if machine.possible(other):
        frame.pc = other
        block(machine, node.orelse, frame)
        after_other = frame.pc
    if raises and after_then == FALSE:
        frame.pc = diagrams.conj(entry, machine.contracts.coarse(machine, after_other))
    else:
        frame.pc = diagrams.disj(after_then, after_other)


def _only_new(machine: Machine, node: Node, known: int) -> bool:
    """Whether a condition speaks of nothing that anything else depends on."""
    names = machine.diagrams.support(node)
    return bool(names) and all(machine.diagrams.variable(name) >= known for name in names)


def _return(machine: Machine, node: ast.Return, frame: Frame) -> None:
    machine.contracts.returning(machine, node)
    value: Guarded = [(TRUE, NONE)]
    if node.value is not None:
        value = evaluate.expression(machine, node.value, frame)
    if frame.pc != FALSE:
        if machine.route in (frame.qualname, ANY_ROUTE):
            machine.note(frame.pc, node, frame, ROUTE_ENDS, True, "end")
        frame.returns.append((frame.pc, value))
    frame.pc = FALSE


def _raise(machine: Machine, node: ast.Raise, frame: Frame) -> None:
    machine.refuse(frame.pc, node, frame)
    frame.pc = FALSE


def _assert(machine: Machine, node: ast.Assert, frame: Frame) -> None:
    known = len(machine.diagrams.names)
    value = evaluate.expression(machine, node.test, frame)
    test = machine.truth(value, frame.pc)
    if _only_new(machine, test, known):
        return
    kept = machine.diagrams.conj(frame.pc, machine.contracts.coarse(machine, machine.diagrams.conj(frame.pc, test)))
    machine.refuse(machine.diagrams.minus(frame.pc, kept), node, frame)
    frame.pc = kept


def _with(machine: Machine, node: ast.With | ast.AsyncWith, frame: Frame) -> None:
    entered: list[Guarded] = []
    for entry in node.items:
        value = evaluate.expression(machine, entry.context_expr, frame)
        entered.append(value)
        if entry.optional_vars is not None:
            assign(machine, entry.optional_vars, value, frame, node)
    block(machine, node.body, frame)
    for value in reversed(entered):
        _leave(machine, value, frame, node)


def _leave(machine: Machine, entered: Guarded, frame: Frame, node: ast.With | ast.AsyncWith) -> None:
    """End a context whose `__exit__` is modelled; any other changes nothing."""
    after = frame.pc
    for guard, item in machine.within(entered, after):
        for inner, method in machine.contracts.attribute(machine, item, "__exit__", frame) or ():
            frame.pc = machine.diagrams.conj(guard, inner)
            call.value(machine, method, [], {}, frame, node)
    frame.pc = after


def _try(machine: Machine, node: ast.Try, frame: Frame) -> None:
    block(machine, node.body, frame)
    block(machine, node.orelse, frame)
    block(machine, node.finalbody, frame)


def _for(machine: Machine, node: ast.For | ast.AsyncFor, frame: Frame) -> None:
    iterated = evaluate.expression(machine, node.iter, frame)
    only = iterated[0][1] if len(iterated) == 1 else None
    if isinstance(only, Sequence) and len(only.items) <= _UNROLL:
        for entry in only.items:
            assign(machine, node.target, entry, frame, node)
            _loop_body(machine, node.body, frame)
        return
    entry_pc = frame.pc
    once = machine.atom(f"loop@{frame.module.name}:{node.lineno}")
    assign(machine, node.target, [(TRUE, Symbol(f"item@{frame.module.name}:{node.lineno}"))], frame, node)
    frame.pc = machine.diagrams.conj(entry_pc, once)
    _loop_body(machine, node.body, frame)
    frame.pc = machine.diagrams.disj(frame.pc, machine.diagrams.minus(entry_pc, once))


def _while(machine: Machine, node: ast.While, frame: Frame) -> None:
    _loop_body(machine, node.body, frame)


def _loop_body(machine: Machine, body: list[ast.stmt], frame: Frame) -> None:
    outer, frame.broken = frame.broken, FALSE
    block(machine, body, frame)
    frame.pc = machine.diagrams.disj(frame.pc, frame.broken)
    frame.broken = outer


def _leave_loop(machine: Machine, node: ast.stmt, frame: Frame) -> None:
    frame.broken = machine.diagrams.disj(frame.broken, frame.pc)
    frame.pc = FALSE


def _define(machine: Machine, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    value = FunctionValue(node, frame.module, f"{frame.qualname}.{node.name}", frame.scope)
    known = frame.scope.variables.get(node.name)
    frame.scope.captured = True
    frame.scope.variables[node.name] = machine.written(known, [(TRUE, value)], frame.pc)


def _define_class(machine: Machine, node: ast.ClassDef, frame: Frame) -> None:
    frame.scope.variables[node.name] = [(TRUE, ClassValue(node, frame.module))]


def _nonlocal(machine: Machine, node: ast.Nonlocal, frame: Frame) -> None:
    frame.scope.nonlocals.update(node.names)


def _import(machine: Machine, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    for alias in node.names:
        name = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
        value = resolve.imported(machine, frame.module, node, alias)
        frame.scope.variables[name] = machine.written(frame.scope.variables.get(name), value, frame.pc)


def _match(machine: Machine, node: ast.Match, frame: Frame) -> None:
    entry, left = frame.pc, frame.pc
    after = FALSE
    evaluate.expression(machine, node.subject, frame)
    for position, case in enumerate(node.cases):
        taken = machine.atom(f"case {position}@{frame.module.name}:{node.lineno}")
        wild = isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and case.guard is None
        frame.pc = left if wild else machine.diagrams.conj(left, taken)
        left = machine.diagrams.minus(left, frame.pc)
        block(machine, case.body, frame)
        after = machine.diagrams.disj(after, frame.pc)
    frame.pc = machine.diagrams.conj(entry, machine.diagrams.disj(after, left))


_HANDLERS: dict[type[ast.stmt], Callable[[Machine, Any, Frame], None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _leave_loop,
    ast.Continue: _leave_loop,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _define_class,
    ast.Nonlocal: _nonlocal,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Match: _match,
}
