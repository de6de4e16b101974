"""What operations do to the parts of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Literal

from moelint.linter.diagram import FALSE, Node
from moelint.linter.routes import closed
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.machine import TOPK_WEIGHTS, Machine
from moelint.linter.routes.units import (
    ONE,
    RSF,
    WEIGHTS,
    Part,
    Parts,
    Units,
    added,
    exponent,
    multiply,
    reduced,
    scaled,
    show,
)
from moelint.linter.routes.values import Const, Guarded, Tensor, Value

Columns = Literal["all", "routed", "shared"]
_PART_OF: dict[Columns, str | None] = {"all": None, "routed": "x", "shared": "s"}


def fresh(machine: Machine, label: str | None = None) -> Tensor:
    """A tensor of plain numbers: router scores or weights."""
    return machine.tensor(WEIGHTS, label)


def columns(index: ast.expr) -> Columns:
    """Which columns of the top-k weights a subscript addresses: `[:, -n:]` and `[:, -1]` the shared slots, `[:, :k]`
    the routed ones."""
    if not (isinstance(index, ast.Tuple) and len(index.elts) == 2):
        return "all"
    rows, last = index.elts
    whole = isinstance(rows, ast.Slice) and rows.lower is None and rows.upper is None
    if not whole and not (isinstance(rows, ast.Constant) and rows.value is Ellipsis):
        return "all"
    if isinstance(last, ast.Slice):
        if last.step is None and last.upper is None and _is_bound(last.lower):
            return "shared"
        if last.step is None and last.lower is None and _is_bound(last.upper):
            return "routed"
        return "all"
    return "shared" if _is_negative(last) else "all"


def _is_negative(node: ast.expr | None) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)


def _is_bound(node: ast.expr | None) -> bool:
    return _is_negative(node) or isinstance(node, (ast.Name, ast.Attribute, ast.BinOp))


def column_view(machine: Machine, tensor: Tensor, kind: Columns) -> Tensor:
    """A slice of columns; the whole tensor shares its cell."""
    if kind == "all":
        return tensor
    if kind == "routed":
        return machine.derived(tensor, lambda parts: tuple(part for part in parts if part.name != "s"))

    def slot(parts: Parts) -> Parts:
        return tuple(part._replace(name="x") for part in parts if part.name == "s") or WEIGHTS

    return machine.derived(tensor, slot)


def set_slot(parts: Parts, units: Units, name: str = "s") -> Parts:
    """The contents after one kind of column was overwritten."""
    return tuple(sorted((*(part for part in parts if part.name != name), Part(name, units, "any"))))


def write_columns(
    machine: Machine, tensor: Tensor, kind: Columns, value: Guarded, pc: Node, node: ast.AST, frame: Frame
) -> None:
    """`tensor[columns] = value`."""
    for guard, item in machine.within(value, pc):
        if kind == "all":
            if isinstance(item, Tensor):
                copy_into(machine, tensor, item, guard)
            continue
        name = "s" if kind == "shared" else "x"
        for inner, units in machine.units_of(item, guard):
            machine.update(tensor, inner, lambda parts, units=units, name=name: set_slot(parts, units or ONE, name))  # type: ignore[misc]
            if kind == "shared":
                note_slot(machine, units or ONE, inner, node, frame)


def note_slot(machine: Machine, units: Units, pc: Node, node: ast.AST, frame: Frame) -> None:
    machine.note(pc, node, frame, f"the shared slot's weight is set to {show(units)}", True, "slot")


def copy_into(machine: Machine, target: Tensor, source: Tensor, pc: Node) -> None:
    for guard, parts in machine.alternatives(source, pc):
        machine.update_scales(target, guard, lambda _, parts=parts: parts)  # type: ignore[misc]
    for guard, parts in machine.reductions(source, pc):
        machine.update_states(target, guard, lambda _, parts=parts: parts)  # type: ignore[misc]


def product(machine: Machine, a: Value, b: Value, sign: int, pc: Node, node: ast.AST, frame: Frame) -> Guarded:
    """A new tensor `a * b` or `a / b`; a division of weights by their own sum is a normalisation."""
    tensor, factor = (a, b) if isinstance(a, Tensor) else (b, a)
    assert isinstance(tensor, Tensor)
    if machine.contracts.facts.exact:
        return closed.product(machine, a, b, sign, pc, node, frame)
    found: Guarded = []
    for guard, units in machine.units_of(factor, pc):
        result = machine.derived(tensor, lambda parts, units=units: scaled(parts, units or ONE, sign))  # type: ignore[misc]
        _note_scale(machine, tensor, units, factor, sign, guard, node, frame)
        found.append((guard, result))
    return found


def scale(
    machine: Machine,
    tensor: Tensor,
    factor: Guarded,
    sign: int,
    pc: Node,
    node: ast.AST,
    frame: Frame,
    kind: Columns = "all",
) -> None:
    """`tensor *= factor` (or `/=`) in place."""
    for guard, item in machine.within(factor, pc):
        for inner, units in closed.factors(machine, tensor, item, sign, guard):
            if units:
                machine.update(
                    tensor,
                    inner,
                    lambda parts, units=units: scaled(parts, units, sign, _PART_OF[kind]),  # type: ignore[misc]
                )
            _note_scale(machine, tensor, units, item, sign, inner, node, frame, kind)


def _note_scale(
    machine: Machine,
    tensor: Tensor,
    units: Units | None,
    factor: Value,
    sign: int,
    pc: Node,
    node: ast.AST,
    frame: Frame,
    kind: Columns = "all",
) -> None:
    what = machine.describe(tensor, pc) if kind == "all" else f"the {kind} columns of the top-k weights"
    if units:
        verb = "multiplied" if sign > 0 else "divided"
        machine.note(pc, node, frame, f"{what} {verb} by {show(units)}", exponent(units, RSF) != 0, "scale")
    elif units is None and not isinstance(factor, Const):
        machine.note(pc, node, frame, f"{what} times {factor}, which carries no known factor")


def total(machine: Machine, a: Tensor, b: Tensor, pc: Node, node: ast.AST, frame: Frame, alpha: Units = ONE) -> Tensor:
    """A new tensor `a + alpha * b`."""
    contents = [
        (inner, added(left, scaled(right, alpha)))
        for guard, left in machine.alternatives(a, pc)
        for inner, right in machine.alternatives(b, guard)
    ]
    reductions = [
        (inner, added(left, right))
        for guard, left in machine.reductions(a, pc)
        for inner, right in machine.reductions(b, guard)
    ]
    result = machine.with_contents(contents, reductions)
    if machine.contracts.facts.exact:
        result = closed.mixed(machine, a, b, result, pc)
    _note_sum(machine, a, b, alpha, pc, node, frame)
    return result


def accumulate(
    machine: Machine, target: Tensor, addend: Guarded, alpha: Guarded, pc: Node, node: ast.AST, frame: Frame
) -> None:
    """`target.add_(addend, alpha=alpha)`: every alias of `target` sees it."""
    for guard, item in machine.within(addend, pc):
        if not isinstance(item, Tensor):
            continue
        for inner, factor in machine.within(alpha, guard):
            for condition, units in machine.units_of(factor, inner):
                for last, right in machine.alternatives(item, condition):
                    machine.update_scales(
                        target,
                        last,
                        lambda left, right=right, units=units: added(left, scaled(right, units or ONE)),  # type: ignore[misc]
                    )
                for last, right in machine.reductions(item, condition):
                    machine.update_states(target, last, lambda left, right=right: added(left, right))  # type: ignore[misc]
                _note_sum(machine, target, item, units or ONE, condition, node, frame)


def _note_sum(machine: Machine, a: Tensor, b: Tensor, alpha: Units, pc: Node, node: ast.AST, frame: Frame) -> None:
    if pc == FALSE:
        return
    left, right = machine.describe(a, pc), machine.describe(b, pc)
    text = f"{right} added to {left}"
    if alpha:
        machine.note(pc, node, frame, f"{text}, times {show(alpha)}", exponent(alpha, RSF) != 0, "scale")
    else:
        machine.note(pc, node, frame, text, TOPK_WEIGHTS not in (left, right), "add")


def all_reduce(machine: Machine, value: Guarded, pc: Node, node: ast.AST, frame: Frame) -> Guarded:
    """A sum over the tensor-parallel or expert-parallel group."""
    for guard, item in machine.within(value, pc):
        if isinstance(item, Tensor):
            machine.note(guard, node, frame, f"{machine.describe(item, guard)} summed over the group", True, "sum")
    return mapped(machine, value, pc, reduced)


def mapped(machine: Machine, value: Guarded, pc: Node, change: Callable[[Parts], Parts]) -> Guarded:
    """A new tensor whose contents are a function of those of `value`; what is no tensor stays."""
    mark = machine.cells
    found: Guarded = [
        (guard, machine.derived(item, change) if isinstance(item, Tensor) else item)
        for guard, item in machine.within(value, pc)
    ]
    return machine.collapse(found, mark)


def concatenated(machine: Machine, first: Tensor, second: Tensor, pc: Node, node: ast.AST, frame: Frame) -> Tensor:
    """Top-k weights with a column appended: the appended one is the shared slot."""
    contents: list[tuple[Node, Parts]] = []
    for guard, left in machine.alternatives(first, pc):
        for inner, right in machine.alternatives(second, guard):
            units = next((part.units for part in right if part.name == "x"), ONE)
            contents.append((inner, set_slot(left, units)))
            note_slot(machine, units, inner, node, frame)
    result = machine.with_contents(contents)
    return closed.concatenated(machine, first, second, result) if machine.contracts.facts.exact else result


def filled(machine: Machine, value: Guarded, pc: Node) -> Tensor:
    """A tensor with one number everywhere."""
    contents: list[tuple[Node, Parts]] = []
    for guard, item in machine.within(value, pc):
        contents += [(inner, (Part("x", units or ONE, "any"),)) for inner, units in machine.units_of(item, guard)]
    return machine.with_contents(contents)


def inverse(units: Units) -> Units:
    return multiply(ONE, units, -1)
