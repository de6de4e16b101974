"""Methods of tensors, dictionaries, records and symbols, functions of torch, and Python's own functions."""

from __future__ import annotations

import ast
from collections.abc import Callable
from collections.abc import Sequence as Arguments

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import closed, evaluate, resolve, tensors
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.machine import Machine
from moelint.linter.routes.units import WEIGHTS, erased
from moelint.linter.routes.values import (
    ABSENT,
    NONE,
    ClassValue,
    Const,
    Guarded,
    Instance,
    Native,
    Sequence,
    Symbol,
    Tensor,
    Value,
)

Keywords = dict[str, Guarded]
Handler = Callable[[Machine, Arguments[Guarded], Keywords, Frame, ast.AST], Guarded | None]

_VIEWS = frozenset(
    {"view", "reshape", "contiguous", "to", "float", "flatten", "squeeze", "unsqueeze", "expand", "detach", "half"}
    | {"bfloat16", "type", "t", "narrow", "view_as", "transpose", "permute", "type_as", "int", "cpu", "cuda", "double"}
    | {"reshape_as", "expand_as", "movedim", "swapaxes"}
)
_COPIES = frozenset({"gather", "masked_fill", "index_select", "clamp", "clamp_", "abs", "nan_to_num", "index_copy_"})
_FRESH = frozenset({"softmax", "sigmoid", "sqrt", "softplus", "new_empty", "new_zeros", "new_ones", "exp"})
_COLLAPSE = frozenset({"sum", "mean", "max", "min", "amax"})
_SYMBOL_VIEWS = _VIEWS | {"clone", "data"}
_SYMBOL_SCORES = frozenset({"gather", "sigmoid", "softmax", "softplus", "masked_fill", "new_empty"})
_TORCH_SCORES = frozenset({"softmax", "sigmoid", "softplus"})
_TORCH_NEW = frozenset({"empty", "zeros", "ones", "empty_like", "zeros_like", "ones_like", "rand", "randn"})
_RANGE = 8
_UNIT: Guarded = [(TRUE, Const(1))]


def method(
    machine: Machine, callee: Native, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded:
    """Call a method that the interpreter knows itself."""
    receiver, name = callee.receiver, callee.name
    if isinstance(receiver, ClassValue) and name == "__new__":
        return [(TRUE, machine.instance(receiver, receiver.node.name))]
    if machine.contracts.facts.exact:
        known = closed.method(machine, receiver, name, arguments, keywords, frame)
        if known is not None:
            return known
    if isinstance(receiver, Tensor):
        return _tensor_method(machine, receiver, name, arguments, keywords, frame, node)
    if isinstance(receiver, Instance) and receiver.cls == "dict":
        return _dictionary_method(machine, receiver, name, arguments, keywords, frame)
    if isinstance(receiver, Instance) and name == "_replace":
        copy = machine.instance(receiver.cls, receiver.name)
        machine.heap[copy.key] = {**machine.heap[receiver.key], **keywords}
        return [(TRUE, copy)]
    return [(TRUE, machine.symbol(f"{receiver}.{name}()"))]


def _tensor_method(
    machine: Machine,
    tensor: Tensor,
    name: str,
    arguments: Arguments[Guarded],
    keywords: Keywords,
    frame: Frame,
    node: ast.AST,
) -> Guarded:
    if name in _VIEWS:
        return [(TRUE, tensor)]
    if name == "clone" or name in _COPIES:
        return [(TRUE, machine.derived(tensor, lambda parts: parts))]
    if name in ("add_", "add", "sub_", "sub") and arguments:
        target = tensor if name.endswith("_") else machine.derived(tensor, lambda parts: parts)
        tensors.accumulate(machine, target, arguments[0], keywords.get("alpha", _UNIT), frame.pc, node, frame)
        return [(TRUE, target)]
    if name in ("mul_", "mul", "div_", "div") and arguments:
        target = tensor if name.endswith("_") else machine.derived(tensor, lambda parts: parts)
        tensors.scale(machine, target, arguments[0], 1 if name.startswith("mul") else -1, frame.pc, node, frame)
        return [(TRUE, target)]
    if name == "copy_" and arguments:
        for guard, source in machine.within(arguments[0], frame.pc):
            if isinstance(source, Tensor):
                tensors.copy_into(machine, tensor, source, guard)
        return [(TRUE, tensor)]
    if name in ("fill_", "zero_"):
        machine.update(tensor, frame.pc, lambda _: WEIGHTS)
        return [(TRUE, tensor)]
    if name in _COLLAPSE:
        routed = tensors.column_view(machine, tensor, "routed")
        return [(TRUE, routed)]
    if name == "new_full" and len(arguments) > 1:
        return [(TRUE, tensors.filled(machine, arguments[1], frame.pc))]
    if name in _FRESH:
        return [(TRUE, tensors.fresh(machine))]
    if name == "topk":
        return [(TRUE, Sequence(([(TRUE, tensors.fresh(machine))], [(TRUE, Symbol("topk_ids"))])))]
    if name in ("chunk", "split", "unbind"):
        return [(TRUE, Sequence(([(TRUE, tensor)], [(TRUE, tensor)])))]
    if name == "record_stream":
        return [(TRUE, NONE)]
    return [(TRUE, machine.symbol(f"{machine.labels[tensor.cell]}.{name}()"))]


def _dictionary_method(
    machine: Machine, target: Instance, name: str, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame
) -> Guarded:
    slots = machine.heap[target.key]
    if name in ("get", "pop", "setdefault") and arguments and isinstance(arguments[0][0][1], Const):
        key = str(arguments[0][0][1].value)
        otherwise: Guarded = [(TRUE, NONE if name == "get" else Symbol(f"{target.name}.{key}"))]
        default = arguments[1] if len(arguments) > 1 else otherwise
        stored = slots.get(key, [(TRUE, ABSENT)])
        missing = [guard for guard, item in stored if item == ABSENT]
        return machine.merge(
            [(guard, item) for guard, item in stored if item != ABSENT]
            + [(machine.diagrams.conj(guard, inner), item) for guard in missing for inner, item in default]
        )
    if name == "update":
        for argument in arguments:
            evaluate.dictionary_update(machine, target, argument, frame.pc)
        for key, given in keywords.items():
            machine.set_attribute(target, key, given, frame.pc)
        return [(TRUE, NONE)]
    return [(TRUE, machine.symbol(f"{target.name}.{name}()"))]


# torch


def torch_function(
    machine: Machine, name: str, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    """A function of torch by its last name; None where it is not known."""
    if machine.contracts.facts.exact:
        known = closed.torch_function(machine, name, arguments, keywords, frame, node)
        if known is not None:
            return known
    if name in ("add", "sub", "mul", "div", "multiply"):
        return _torch_arithmetic(machine, name, arguments, keywords, frame, node)
    if name in _TORCH_SCORES:
        return [(TRUE, tensors.fresh(machine))]
    if name in _TORCH_NEW:
        return [(TRUE, machine.tensor(() if name.endswith("_like") else WEIGHTS, name))]
    if name in ("full", "full_like"):
        value = arguments[1] if len(arguments) > 1 else keywords.get("fill_value", [(TRUE, Const(0))])
        return [(TRUE, tensors.filled(machine, value, frame.pc))]
    if name == "where" and len(arguments) == 3:
        return machine.within(arguments[1], frame.pc)
    if name == "topk":
        return [(TRUE, Sequence(([(TRUE, tensors.fresh(machine))], [(TRUE, Symbol("topk_ids"))])))]
    if name in ("cat", "concat"):
        return _torch_cat(machine, arguments, frame, node)
    if name == "pad":
        return _torch_pad(machine, arguments, keywords, frame, node)
    if name in ("rms_norm", "layer_norm"):
        return norm(machine, arguments[0], frame.pc)
    return None


def norm(machine: Machine, value: Guarded, pc: Node) -> Guarded:
    """A norm over the hidden dimension erases every scale."""
    return tensors.mapped(machine, value, pc, erased)


def _torch_arithmetic(
    machine: Machine, name: str, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    if len(arguments) < 2:
        return None
    mark = machine.cells
    found: Guarded = []
    for guard, a in machine.within(arguments[0], frame.pc):
        for inner, b in machine.within(arguments[1], guard):
            if name in ("mul", "multiply", "div"):
                op = ast.Div if name == "div" else ast.Mult
                found += evaluate.binary(machine, op, a, b, inner, node, frame)
            elif isinstance(a, Tensor) and isinstance(b, Tensor):
                for condition, factor in machine.within(keywords.get("alpha", _UNIT), inner):
                    for last, units in machine.units_of(factor, condition):
                        found.append((last, tensors.total(machine, a, b, last, node, frame, units or ())))
            else:
                found.append((inner, a if isinstance(a, Tensor) else b))
    out = keywords.get("out")
    if out is None:
        return machine.collapse(found, mark)
    for guard, target in machine.within(out, frame.pc):
        if isinstance(target, Tensor):
            for inner, source in machine.within(found, guard):
                if isinstance(source, Tensor):
                    tensors.copy_into(machine, target, source, inner)
    return out


def _torch_cat(machine: Machine, arguments: Arguments[Guarded], frame: Frame, node: ast.AST) -> Guarded:
    mark = machine.cells
    found: Guarded = []
    for guard, items in machine.within(arguments[0], frame.pc):
        if not (isinstance(items, Sequence) and len(items.items) == 2):
            found.append((guard, Symbol("cat")))
            continue
        for inner, first in machine.within(items.items[0], guard):
            for last, second in machine.within(items.items[1], inner):
                if isinstance(first, Tensor) and isinstance(second, Tensor):
                    found.append((last, tensors.concatenated(machine, first, second, last, node, frame)))
                else:
                    found.append((last, first if isinstance(first, Tensor) else Symbol("cat")))
    return machine.collapse(found, mark)


def _torch_pad(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded:
    mark = machine.cells
    found: Guarded = []
    for guard, item in machine.within(arguments[0], frame.pc):
        if isinstance(item, Tensor):
            column = tensors.filled(machine, keywords.get("value", [(TRUE, Const(0))]), guard)
            found.append((guard, tensors.concatenated(machine, item, column, guard, node, frame)))
        else:
            found.append((guard, item))
    return machine.collapse(found, mark)


def symbol_method(machine: Machine, name: str, arguments: Arguments[Guarded]) -> Guarded | None:
    """A method of an unknown value: views keep its name, score functions give router weights."""
    base, _, last = name.rpartition(".")
    if not base or base.startswith("torch"):
        return None
    if last in _SYMBOL_VIEWS:
        return [(TRUE, Symbol(base))]
    if last in _SYMBOL_SCORES:
        return [(TRUE, tensors.fresh(machine))]
    if last == "size":
        return [(TRUE, machine.symbol(f"{base}.shape[{arguments[0][0][1] if arguments else ''}]"))]
    return None


# Python


def _float(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    return list(arguments[0]) if arguments else [(TRUE, Const(0.0))]


def _bool(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    return machine.boolean(machine.truth(arguments[0], frame.pc)) if arguments else None


def _dict(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    result = machine.instance("dict", f"dict@{getattr(node, 'lineno', 0)}")
    machine.heap[result.key].update(keywords)
    for given in keywords.values():
        machine.hold(given)
    for argument in arguments:
        evaluate.dictionary_update(machine, result, argument, frame.pc)
    return [(TRUE, result)]


def _len(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    return machine.merge(
        (machine.diagrams.conj(guard, inner), size)
        for guard, item in arguments[0]
        for inner, size in _length(machine, item)
    )


def _length(machine: Machine, value: Value) -> Guarded:
    known = closed.rows(machine, value) if isinstance(value, Tensor) else None
    if known is not None:
        return known
    return [(TRUE, Const(len(value.items)) if isinstance(value, Sequence) else machine.symbol(f"len({value})"))]


def _tuple(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    return list(arguments[0]) if arguments else [(TRUE, Sequence(()))]


def _getattr(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    name = arguments[1][0][1]
    if not isinstance(name, Const):
        return [(TRUE, Symbol("getattr(?)"))]
    default = arguments[2] if len(arguments) > 2 else None
    entry = frame.pc
    found: Guarded = []
    for guard, item in machine.within(arguments[0], entry):
        frame.pc = guard
        for inner, value in resolve.attribute(machine, item, str(name.value), frame, node, default):
            found.append((machine.diagrams.conj(guard, inner), value))
    frame.pc = entry
    return machine.merge(found)


def _setattr(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    name = arguments[1][0][1]
    if isinstance(name, Const):
        for guard, holder in machine.within(arguments[0], frame.pc):
            if isinstance(holder, Instance):
                machine.set_attribute(holder, str(name.value), arguments[2], guard)
    return [(TRUE, NONE)]


def _hasattr(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    name = arguments[1][0][1]
    if not isinstance(name, Const):
        return None
    diagrams = machine.diagrams
    result = FALSE
    for guard, item in machine.within(arguments[0], frame.pc):
        if isinstance(item, Instance):
            stored = machine.heap[item.key].get(str(name.value))
            if stored is not None:
                has = diagrams.any_of(inner for inner, value in stored if value != ABSENT)
            elif isinstance(item.cls, ClassValue) and resolve.class_member(machine, item.cls, str(name.value)):
                has = TRUE
            else:
                has = FALSE
        else:
            has = machine.atom(f"hasattr({item},{name.value})")
        result = diagrams.disj(result, diagrams.conj(guard, has))
    return machine.boolean(result)


def _isinstance(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    diagrams = machine.diagrams
    result = FALSE
    for guard, item in machine.within(arguments[0], frame.pc):
        for inner, wanted in machine.within(arguments[1], guard):
            options = [o for entry in wanted.items for _, o in entry] if isinstance(wanted, Sequence) else [wanted]
            for option in options:
                result = diagrams.disj(result, diagrams.conj(inner, _has_type(machine, item, option)))
    return machine.boolean(result)


def _has_type(machine: Machine, value: Value, cls: Value) -> Node:
    name = cls.node.name if isinstance(cls, ClassValue) else str(cls).rsplit(".", 1)[-1]
    if isinstance(value, Symbol):
        return machine.contracts.type_atom(machine, value, name)
    if isinstance(value, Instance):
        if isinstance(value.cls, ClassValue):
            return TRUE if any(c.node.name == name for c in resolve.ancestry(machine, value.cls)) else FALSE
        return TRUE if name in value.cls or value.cls.lstrip("@") in name else FALSE
    if isinstance(value, Const):
        return TRUE if type(value.value).__name__ == name else FALSE
    return TRUE if isinstance(value, Tensor) and name == "Tensor" else FALSE


def _range(
    machine: Machine, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame, node: ast.AST
) -> Guarded | None:
    bounds = [bound for given in arguments if isinstance(bound := closed.constant(given), int)]
    if not bounds or len(bounds) < len(arguments):
        return None
    numbers = range(*bounds)
    if len(numbers) > _RANGE:
        return None
    return [(TRUE, Sequence(tuple([(TRUE, Const(number))] for number in numbers)))]


BUILTINS: dict[str, Handler] = {
    "float": _float,
    "int": _float,
    "bool": _bool,
    "dict": _dict,
    "len": _len,
    "tuple": _tuple,
    "list": _tuple,
    "getattr": _getattr,
    "setattr": _setattr,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "range": _range,
}
