"""Expressions under conditions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import call, closed, comparison, execute, resolve, tensors
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.machine import Machine, times
from moelint.linter.routes.values import (
    ABSENT,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Scalar,
    Sequence,
    Super,
    Symbol,
    Tensor,
    Value,
)

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def expression(machine: Machine, node: ast.expr, frame: Frame) -> Guarded:
    """The guarded value of an expression. A part that must raise takes its configurations out of `frame.pc`."""
    machine.step()
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return [(TRUE, Symbol(f"<{type(node).__name__}@{frame.module.name}:{node.lineno}>"))]
    return handler(machine, node, frame)


def _constant(machine: Machine, node: ast.Constant, frame: Frame) -> Guarded:
    return [(TRUE, Const(node.value))]


def _text(machine: Machine, node: ast.JoinedStr, frame: Frame) -> Guarded:
    return [(TRUE, Const("<text>"))]


def _name(machine: Machine, node: ast.Name, frame: Frame) -> Guarded:
    return resolve.name(machine, node.id, frame)


def _walrus(machine: Machine, node: ast.NamedExpr, frame: Frame) -> Guarded:
    value = expression(machine, node.value, frame)
    execute.assign(machine, node.target, value, frame, node)
    return value


def _starred(machine: Machine, node: ast.Starred, frame: Frame) -> Guarded:
    return expression(machine, node.value, frame)


def _lambda(machine: Machine, node: ast.Lambda, frame: Frame) -> Guarded:
    frame.scope.captured = True
    return [(TRUE, FunctionValue(node, frame.module, f"{frame.qualname}.<lambda>", frame.scope))]


def _sequence(machine: Machine, node: ast.Tuple | ast.List | ast.Set, frame: Frame) -> Guarded:
    return [(TRUE, Sequence(tuple(expression(machine, element, frame) for element in node.elts)))]


def _dictionary(machine: Machine, node: ast.Dict, frame: Frame) -> Guarded:
    result = machine.instance("dict", f"dict@{node.lineno}")
    for key_node, value_node in zip(node.keys, node.values, strict=True):
        value = expression(machine, value_node, frame)
        if key_node is None:
            dictionary_update(machine, result, value, frame.pc)
            continue
        key = expression(machine, key_node, frame)
        if len(key) == 1 and isinstance(key[0][1], Const):
            machine.hold(value)
            machine.heap[result.key][str(key[0][1].value)] = value
    return [(TRUE, result)]


def dictionary_update(machine: Machine, target: Instance, source: Guarded, pc: Node) -> None:
    """`target.update(source)`, entry by entry and condition by condition."""
    for guard, value in machine.within(source, pc):
        if isinstance(value, Instance):
            for key, entry in list(machine.heap[value.key].items()):
                for inner, item in entry:
                    if item != ABSENT:
                        machine.set_attribute(target, key, [(TRUE, item)], machine.diagrams.conj(guard, inner))


def _comprehension(machine: Machine, node: ast.expr, frame: Frame) -> Guarded:
    return [(TRUE, Symbol(f"<comprehension@{frame.module.name}:{node.lineno}>"))]


def _attribute(machine: Machine, node: ast.Attribute, frame: Frame) -> Guarded:
    base = expression(machine, node.value, frame)
    diagrams, entry = machine.diagrams, frame.pc
    found: Guarded = []
    lost = FALSE
    for guard, value in machine.within(base, entry):
        frame.pc = guard
        result = resolve.attribute(machine, value, node.attr, frame, node)
        lost = diagrams.disj(lost, diagrams.minus(guard, frame.pc))
        found += [(diagrams.conj(guard, inner), item) for inner, item in result]
    frame.pc = machine.lose(entry, diagrams.minus(entry, lost))
    return machine.merge(found)


def _unary(machine: Machine, node: ast.UnaryOp, frame: Frame) -> Guarded:
    value = expression(machine, node.operand, frame)
    if isinstance(node.op, ast.Not):
        return machine.boolean(machine.diagrams.neg(machine.truth(value, frame.pc)))
    found: Guarded = []
    for guard, item in value:
        if isinstance(item, Const) and isinstance(node.op, ast.USub) and isinstance(item.value, (int, float)):
            found.append((guard, Const(-item.value)))
        elif isinstance(item, (Scalar, Tensor)):
            found.append((guard, item))
        else:
            found.append((guard, machine.symbol(f"-{item}")))
    return found


def _boolean(machine: Machine, node: ast.BoolOp, frame: Frame) -> Guarded:
    """Operands that raise take their configurations out; those that are not reached do not."""
    diagrams = machine.diagrams
    conjunction = isinstance(node.op, ast.And)
    going = alive = frame.pc
    found: Guarded = []
    for position, operand in enumerate(node.values):
        frame.pc = going
        value = expression(machine, operand, frame)
        alive = diagrams.minus(alive, diagrams.minus(going, frame.pc))
        going = frame.pc
        truth = machine.truth(value, going)
        last = position == len(node.values) - 1
        for guard, item in machine.within(value, going):
            if last:
                stop = guard
            else:
                stop = diagrams.minus(guard, truth) if conjunction else diagrams.conj(guard, truth)
            if stop != FALSE:
                found.append((stop, item))
        going = diagrams.conj(going, truth) if conjunction else diagrams.minus(going, truth)
        if not machine.possible(going):
            break
    frame.pc = alive
    return machine.merge(found)


def _conditional(machine: Machine, node: ast.IfExp, frame: Frame) -> Guarded:
    diagrams = machine.diagrams
    value = expression(machine, node.test, frame)
    entry = frame.pc
    test = machine.truth(value, entry)
    found: Guarded = []
    for condition, branch in (
        (diagrams.conj(entry, test), node.body),
        (diagrams.minus(entry, test), node.orelse),
    ):
        if machine.possible(condition):
            frame.pc = condition
            found += [(diagrams.conj(guard, condition), item) for guard, item in expression(machine, branch, frame)]
    frame.pc = entry
    return machine.merge(found)


def _compare(machine: Machine, node: ast.Compare, frame: Frame) -> Guarded:
    left = expression(machine, node.left, frame)
    result = TRUE
    for operator, comparator in zip(node.ops, node.comparators, strict=True):
        right = expression(machine, comparator, frame)
        holds = FALSE
        for guard, a in machine.within(left, frame.pc):
            for inner, b in machine.within(right, guard):
                holds = machine.diagrams.disj(
                    holds, machine.diagrams.conj(inner, comparison.values(machine, operator, a, b))
                )
        result = machine.diagrams.conj(result, holds)
        left = right
    return machine.boolean(result)


def _binary(machine: Machine, node: ast.BinOp, frame: Frame) -> Guarded:
    left, right = expression(machine, node.left, frame), expression(machine, node.right, frame)
    mark = machine.cells
    found: Guarded = []
    for guard, a in machine.within(left, frame.pc):
        for inner, b in machine.within(right, guard):
            found += binary(machine, type(node.op), a, b, inner, node, frame)
    return machine.collapse(found, mark)


def binary(
    machine: Machine, op: type[ast.operator], a: Value, b: Value, pc: Node, node: ast.AST, frame: Frame
) -> Guarded:
    """`a op b` under `pc`."""
    if isinstance(a, Const) and isinstance(b, Const):
        try:
            return [(pc, Const(_ARITHMETIC[op](a.value, b.value)))]
        except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
            return [(pc, machine.symbol(f"({a} {op.__name__} {b})"))]
    if op is ast.Mult and machine.contracts.facts.exact and {type(a), type(b)} == {Sequence, Scalar}:
        machine.refuse(pc, node, frame)
        frame.pc = machine.diagrams.minus(frame.pc, pc)
        return []
    if op in (ast.Mult, ast.Div):
        sign = 1 if op is ast.Mult else -1
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            return tensors.product(machine, a, b, sign, pc, node, frame)
        if isinstance(a, Scalar) or isinstance(b, Scalar):
            return [
                (inner, Scalar(times(left, right, sign)))
                for guard, left in machine.units_of(a, pc)
                for inner, right in machine.units_of(b, guard)
            ]
        known = [machine.units_of(value, pc)[0][1] for value in (a, b)]
        if any(known) and None not in known:
            return [(pc, Scalar(times(known[0], known[1], sign)))]
        return [(pc, machine.symbol(f"({a}{'*' if sign > 0 else '/'}{b})"))]
    if op in (ast.Add, ast.Sub):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return [(pc, tensors.total(machine, a, b, pc, node, frame))]
        if isinstance(a, Tensor) or isinstance(b, Tensor):
            tensor = a if isinstance(a, Tensor) else b
            assert isinstance(tensor, Tensor)
            return [(pc, machine.derived(tensor, lambda parts: parts))]
        if isinstance(a, Scalar):
            return [(pc, a)]
        if isinstance(a, Sequence) and isinstance(b, Sequence):
            return [(pc, Sequence(a.items + b.items))]
        if isinstance(b, Const) and b.value == 0:
            return [(pc, a)]
        if op is ast.Add and isinstance(a, Const) and a.value == 0:
            return [(pc, b)]
    return [(pc, machine.symbol(f"({a} {op.__name__} {b})"))]


def _subscript(machine: Machine, node: ast.Subscript, frame: Frame) -> Guarded:
    base = expression(machine, node.value, frame)
    columns = tensors.columns(node.slice)
    found: Guarded = []
    for guard, value in machine.within(base, frame.pc):
        if isinstance(value, Tensor):
            viewed = closed.columns(machine, value, node.slice, guard, frame)
            found.append((guard, viewed or tensors.column_view(machine, value, columns)))
            continue
        if isinstance(value, (FunctionValue, ClassValue)) or (isinstance(value, Symbol) and columns != "all"):
            found.append((guard, value))
            continue
        index: Guarded
        if isinstance(node.slice, (ast.Slice, ast.Tuple)):
            index = [(TRUE, Const(ast.unparse(node.slice)))]
        else:
            index = expression(machine, node.slice, frame)
        for inner, key in machine.within(index, guard):
            entry = resolve.item(machine, value, key, frame, node) if isinstance(key, Const) else None
            if entry is None:
                label = key.value if isinstance(key, Const) else key
                entry = [(TRUE, machine.symbol(f"{value}[{label}]"))]
            found += [(machine.diagrams.conj(inner, g), item) for g, item in entry]
    return machine.merge(found)


def _call(machine: Machine, node: ast.Call, frame: Frame) -> Guarded:
    if isinstance(node.func, ast.Name) and node.func.id == "super" and frame.receiver is not None:
        assert frame.cls is not None
        return [(TRUE, Super(frame.receiver, frame.cls))]
    return call.expression(machine, node, frame)


_HANDLERS: dict[type[ast.AST], Callable[[Machine, Any, Frame], Guarded]] = {
    ast.Constant: _constant,
    ast.JoinedStr: _text,
    ast.Name: _name,
    ast.NamedExpr: _walrus,
    ast.Starred: _starred,
    ast.Lambda: _lambda,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dictionary,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.DictComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.Attribute: _attribute,
    ast.UnaryOp: _unary,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Compare: _compare,
    ast.BinOp: _binary,
    ast.Subscript: _subscript,
    ast.Call: _call,
}
