"""Tensors of closed programs: how wide they are, of which type, and whether they are sums of others.

Real blocks are analysed without these traits; here everything is known, so that a column is told by its number and a
division by one's own sum is a normalisation.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from collections.abc import Sequence as Arguments
from typing import TYPE_CHECKING

from moelint.linter.diagram import TRUE, Node
from moelint.linter.routes.units import ONE, Part, Parts, Units, interesting, multiply, scaled
from moelint.linter.routes.values import Const, Guarded, Sequence, Symbol, Tensor, Value

if TYPE_CHECKING:
    from moelint.linter.routes.frames import Frame
    from moelint.linter.routes.machine import Machine

ZERO, HALF = "0", "2"
"""The dimension of a part that is multiplied by nothing at all, and the one of which a half is the inverse."""
RAW = "raw"
"""The dimension of scores that were not normalised: their sum is anything."""
_WIDTH, _ROWS, _DTYPE, _TOTAL, _SOURCE, _CHOSEN = "width", "rows", "dtype", "total", "source", "chosen"
_YES: Guarded = [(TRUE, Const(True))]
_NEW = frozenset({"zeros", "ones", "empty", "rand", "randn", "full", "new_zeros", "new_ones", "new_full", "new_empty"})


def fresh(machine: Machine, parts: Parts, width: Guarded | None = None) -> Tensor:
    """A new tensor with a source of its own."""
    result = machine.tensor(parts)
    machine.traits[result.cell] = {_SOURCE: [(TRUE, Const(result.cell))]}
    if width is not None:
        machine.traits[result.cell][_WIDTH] = width
    return result


def typed(machine: Machine, tensor: Tensor, dtype: Guarded, count: Guarded | None = None) -> None:
    """Say of which type a tensor is, and how many rows it has."""
    traits = machine.traits.setdefault(tensor.cell, {})
    traits[_DTYPE] = dtype
    if count is not None:
        traits[_ROWS] = count


def attribute(machine: Machine, tensor: Tensor, name: str) -> Guarded | None:
    """`shape` and `dtype` as far as they are known."""
    traits = machine.traits.get(tensor.cell, {})
    if name == "dtype":
        return traits.get(_DTYPE)
    if name == "shape" and _WIDTH in traits:
        return [(TRUE, Sequence((rows(machine, tensor) or [(TRUE, Symbol("rows"))], traits[_WIDTH])))]
    return None


def rows(machine: Machine, tensor: Tensor) -> Guarded | None:
    """How many rows a tensor has, if that is known."""
    return machine.traits.get(tensor.cell, {}).get(_ROWS)


def _trait(machine: Machine, value: Value, name: str) -> object:
    """A trait that is the same in all configurations; None otherwise."""
    found = machine.traits.get(value.cell, {}).get(name, ()) if isinstance(value, Tensor) else ()
    return found[0][1].value if len(found) == 1 and isinstance(found[0][1], Const) else None


def constant(given: Guarded) -> object:
    """A Python constant that is the same in all configurations; None otherwise."""
    return given[0][1].value if len(given) == 1 and isinstance(given[0][1], Const) else None


# columns


def columns(machine: Machine, tensor: Tensor, index: ast.expr, pc: Node, frame: Frame) -> Tensor | None:
    """`tensor[:, a:b]` or `tensor[:, i]` by number; None where the width or a bound is not known."""
    width = _trait(machine, tensor, _WIDTH)
    if not isinstance(width, int) or not (isinstance(index, ast.Tuple) and len(index.elts) == 2):
        return None
    rows, last = index.elts
    if not (isinstance(rows, ast.Slice) and rows.lower is None and rows.upper is None):
        return None
    bounds = _bounds(machine, last, width, frame)
    if bounds is None:
        return None
    slots = 1 if any(part.name == "s" for _, parts in machine.alternatives(tensor, pc) for part in parts) else 0
    low, high = bounds
    result = machine.derived(tensor, lambda parts: _cut(parts, low, high, width - slots))
    traits = machine.traits[result.cell]
    traits[_WIDTH] = [(TRUE, Const(high - low))]
    if high - low < width - slots:
        traits.pop(_TOTAL, None)
    return result


def _bounds(machine: Machine, node: ast.expr, width: int, frame: Frame) -> tuple[int, int] | None:
    from moelint.linter.routes import evaluate

    def bound(part: ast.expr | None, default: int) -> int | None:
        if part is None:
            return default
        value = constant(evaluate.expression(machine, part, frame))
        return value if isinstance(value, int) else None

    if isinstance(node, ast.Slice):
        if node.step is not None:
            return None
        low, high = bound(node.lower, 0), bound(node.upper, width)
    else:
        low = bound(node, 0)
        high = None if low is None else low + 1 or width
    if low is None or high is None:
        return None
    return min(max(low + width if low < 0 else low, 0), width), min(max(high + width if high < 0 else high, 0), width)


def _cut(parts: Parts, low: int, high: int, routed: int) -> Parts:
    """The columns from `low` to `high`, of which the first `routed` are routed and the rest a slot."""
    found: list[Part] = []
    for part in parts:
        if part.name == "s":
            if low >= routed and high > routed:
                found.append(part._replace(name="x"))
            elif high > routed:
                found.append(part)
        elif low < min(high, routed):
            whole = low == 0 and high >= routed
            found.append(part if whole or part.name != "x" else part._replace(name=f"x[{low}:{min(high, routed)}]"))
    return tuple(sorted(found))


def joined(parts: Iterable[Part]) -> Parts:
    """Neighbouring columns with the same weight become one again."""
    found = sorted(parts)
    changed = True
    while changed:
        changed = False
        for first in found:
            for second in found:
                stem, low, middle = _span(first.name)
                other, start, high = _span(second.name)
                if stem and (stem, middle) == (other, start) and first._replace(name="") == second._replace(name=""):
                    name = stem if low == 0 else f"{stem}[{low}:{high}]"
                    found = sorted(
                        [part for part in found if part not in (first, second)] + [first._replace(name=name)]
                    )
                    changed = True
                    break
            if changed:
                break
    return tuple(found)


def _span(name: str) -> tuple[str, int, int]:
    stem, bracket, span = name.partition("[")
    low, colon, high = span.rstrip("]").partition(":")
    return (stem, int(low), int(high)) if bracket and colon else ("", -1, -2)


def experts_output(parts: Parts) -> Parts:
    """What experts return that sum all columns they are handed, slots too."""
    found = [
        part._replace(name="routed" + part.name[1:]) if part.name == "x" or part.name.startswith("x[") else part
        for part in parts
    ]
    return tuple(sorted(part._replace(name="routed") if part.name == "s" else part for part in found))


# products


def factors(machine: Machine, tensor: Tensor, factor: Value, sign: int, pc: Node) -> list[tuple[Node, Units | None]]:
    """The units of a factor. In a closed program an unknown one makes the product unknown."""
    found = machine.units_of(factor, pc)
    if not machine.contracts.facts.exact:
        return found
    ratio = sign < 0 and isinstance(factor, Tensor) and not _is_own_sum(machine, tensor, factor)
    return [(guard, _unknown(factor) if units is None or ratio else units) for guard, units in found]


def _unknown(factor: Value) -> Units:
    return ((f"?{str(factor)[:30]}", 1),)


def _is_own_sum(machine: Machine, tensor: Value, divisor: Value) -> bool:
    source = _trait(machine, divisor, _SOURCE)
    return bool(_trait(machine, divisor, _TOTAL)) and source is not None and source == _trait(machine, tensor, _SOURCE)


def product(machine: Machine, a: Value, b: Value, sign: int, pc: Node, node: ast.AST, frame: Frame) -> Guarded:
    """`a * b` or `a / b`, one of which is a tensor."""
    if not isinstance(a, Tensor):
        assert isinstance(b, Tensor)
        found = [
            (guard, machine.derived(b, lambda parts, units=units: _over(parts, units or ONE, sign)))  # type: ignore[misc]
            for guard, units in factors(machine, b, a, 1, pc)
        ]
    else:
        found = [
            (guard, machine.derived(a, lambda parts, units=units: scaled(parts, units or ONE, sign)))  # type: ignore[misc]
            for guard, units in factors(machine, a, b, sign, pc)
        ]
    tensor, factor = (a, b) if isinstance(a, Tensor) else (b, a)
    for guard, units in machine.units_of(factor, pc):
        if units:
            what = f"{machine.describe(tensor, guard)} {'multiplied' if sign > 0 else 'divided'} by {factor}"  # type: ignore[arg-type]
            machine.note(guard, node, frame, what, True, "scale")
    return list(found)


def mixed(machine: Machine, a: Tensor, b: Tensor, result: Tensor, pc: Node) -> Tensor:
    """The sum of two tensors. Of two that are weights or scores nothing is known any more."""
    machine.traits[result.cell] = dict(machine.traits.get(a.cell, {}))
    plain = [not any(interesting(parts) for _, parts in machine.alternatives(t, pc)) for t in (a, b)]
    if all(plain):
        machine.update(result, pc, lambda parts: (*parts, Part("?a sum of weights", ONE, "any")))
    return result


def _over(parts: Parts, units: Units, sign: int) -> Parts:
    """`units * parts` or `units / parts`."""
    if sign > 0:
        return scaled(parts, units)
    return tuple(part._replace(units=multiply(units, part.units, -1)) for part in parts)


# functions and methods


def method(
    machine: Machine,
    receiver: Value,
    name: str,
    arguments: Arguments[Guarded],
    keywords: dict[str, Guarded],
    frame: Frame,
) -> Guarded | None:
    """A method of a tensor that depends on traits; None to let the general one go on."""
    if not isinstance(receiver, Tensor):
        return None
    if name in ("softmax", "sigmoid"):
        return [(TRUE, _scores(machine, receiver, name))]
    if name == "topk" and arguments:
        return _topk(machine, receiver, arguments[0])
    if name == "gather":
        picked = machine.derived(receiver, _unnormalised)
        machine.traits.setdefault(picked.cell, {})[_CHOSEN] = _YES
        machine.traits[picked.cell].pop(_WIDTH, None)
        return [(TRUE, picked)]
    if name == "sum":
        whole = machine.derived(receiver, lambda parts: tuple(part for part in parts if part.name != "s"))
        machine.traits.setdefault(whole.cell, {})[_TOTAL] = _YES
        machine.traits[whole.cell][_WIDTH] = [(TRUE, Const(1))]
        return [(TRUE, whole)]
    if name in _NEW:
        return _new(machine, name, arguments, keywords, frame)
    if name in ("chunk", "split"):
        piece = machine.derived(receiver, lambda parts: parts)
        machine.traits.get(piece.cell, {}).pop(_ROWS, None)
        return [(TRUE, piece)]
    return None


def torch_function(
    machine: Machine,
    name: str,
    arguments: Arguments[Guarded],
    keywords: dict[str, Guarded],
    frame: Frame,
    node: ast.AST,
) -> Guarded | None:
    """A function of torch that depends on traits; None to let the general one go on."""
    if name in _NEW:
        return _new(machine, name, arguments, keywords, frame)
    if name in ("softmax", "sigmoid", "topk", "gather", "sum", "chunk") and arguments:
        found: Guarded = []
        for guard, item in machine.within(arguments[0], frame.pc):
            result = method(machine, item, name, arguments[1:], keywords, frame)
            found += [(machine.diagrams.conj(guard, inner), value) for inner, value in result or []]
        return found or None
    if name == "allclose" and len(arguments) >= 2:
        return _equal(machine, arguments[0], arguments[1], frame)
    if name == "linspace":
        return [(TRUE, Symbol(name))]
    return None


def _equal(machine: Machine, a: Guarded, b: Guarded, frame: Frame) -> Guarded | None:
    """Whether two tensors hold the same numbers, where both are known."""
    both = [[parts for _, t in machine.within(x, frame.pc) if isinstance(t, Tensor)
             for _, parts in machine.alternatives(t, frame.pc)] for x in (a, b)]  # fmt: skip
    if any(len(found) != 1 or len(found[0]) != 1 for found in both):
        return None
    return [(TRUE, Const(both[0][0][0].units == both[1][0][0].units))]


def _scores(machine: Machine, tensor: Tensor, name: str) -> Tensor:
    parts = [part for _, parts in machine.alternatives(tensor, TRUE) for part in parts]
    if name == "sigmoid" and parts and all(dict(part.units).get(ZERO) for part in parts):
        return machine.derived(tensor, lambda _: (Part("x", ((HALF, -1),), "any"),))
    chosen = name == "softmax" and bool(_trait(machine, tensor, _CHOSEN))
    result = fresh(machine, (Part("x", ONE if chosen else ((RAW, 1),), "any"),))
    width = machine.traits.get(tensor.cell, {}).get(_WIDTH)
    if width is not None:
        machine.traits[result.cell][_WIDTH] = width
    return result


def _unnormalised(parts: Parts) -> Parts:
    return tuple(part if part.units else part._replace(units=((RAW, 1),)) for part in parts)


def _topk(machine: Machine, tensor: Tensor, count: Guarded) -> Guarded:
    """The chosen scores: of equal numbers as many as are chosen, else anything."""
    chosen = constant(count)
    factor = machine.contracts.number(chosen) if isinstance(chosen, int) else None

    def pick(parts: Parts) -> Parts:
        numbers = all(dimension.isdigit() for part in parts for dimension, _ in part.units)
        if factor is not None and numbers and any(part.units for part in parts):
            return scaled(parts, factor)
        return _unnormalised(parts)

    values = machine.derived(tensor, pick)
    traits = machine.traits.setdefault(values.cell, {})
    traits.update({_CHOSEN: _YES, _WIDTH: count, _SOURCE: [(TRUE, Const(values.cell))]})
    return [(TRUE, Sequence(([(TRUE, values)], [(TRUE, Symbol("topk_ids"))])))]


def _new(
    machine: Machine, name: str, arguments: Arguments[Guarded], keywords: dict[str, Guarded], frame: Frame
) -> Guarded | None:
    """A tensor of one number: its weight is that of one column."""
    if not arguments:
        return None
    kind = name.removeprefix("new_")
    shape: Guarded | None = None
    first = arguments[0][0][1]
    if isinstance(first, Sequence):
        shape = first.items[-1] if first.items else None
        rest = arguments[1:]
    else:
        dims = arguments[:-1] if kind == "full" else arguments
        shape, rest = dims[-1], arguments[-1:]
    value: Guarded = [(TRUE, Const({"zeros": 0, "ones": 1}.get(kind)))]
    if kind == "full":
        value = rest[0] if rest else keywords.get("fill_value", value)
    parts: list[tuple[Node, Parts]] = []
    for guard, item in machine.within(value, frame.pc):
        for inner, units in machine.units_of(item, guard):
            parts.append((inner, (Part("x", _unknown(item) if units is None else units, "any"),)))
    result = machine.with_contents(parts)
    machine.traits[result.cell] = {_SOURCE: [(TRUE, Const(result.cell))]}
    if shape is not None:
        machine.traits[result.cell][_WIDTH] = shape
    return [(TRUE, result)]


def concatenated(machine: Machine, first: Tensor, second: Tensor, result: Tensor) -> Tensor:
    """The result of a concatenation of columns, with its width; nothing is appended by a tensor without columns."""
    widths = [_trait(machine, tensor, _WIDTH) for tensor in (first, second)]
    if widths[1] == 0:
        return first
    traits = dict(machine.traits.get(first.cell, {}))
    traits.pop(_WIDTH, None)
    if isinstance(widths[0], int) and isinstance(widths[1], int):
        traits[_WIDTH] = [(TRUE, Const(widths[0] + widths[1]))]
    machine.traits[result.cell] = traits
    return result
