"""What model functions may call besides the tree's own code.

| intrinsic | meaning |
|---|---|
| `flag(name)` | a boolean configuration atom |
| `back_end(group)` | the symbol of a group of exclusive back ends |
| `mentions(text)` | whether the block's module contains the regular expression |
| `symbol(name)` | an unknown value of that name |
| `namespace(name)` | an empty object |
| `instance(kind, name)` | an object whose methods are models `kind.method` |
| `shared_instance(kind, name)` | the one object of that kind and name |
| `weights()` | fresh top-k weights: routed columns of weight 1, no shared column; in a closed program of a width |
| `scores(width)` | fresh scores, not normalised |
| `typed(x, dtype, rows)`, `set_all(x, fields)` | `x` with its type told, with attributes from a dictionary |
| `summing_experts(weights)` | the output of experts that take every column for a routed one |
| `routed(weights, state)` | the experts' output for these weights, in a reduction state |
| `shared(state)` | the separate shared expert's output |
| `unknown(why)` | an output of unknown factor |
| `all_reduce(x)` | a sum over the group |
| `linear(x)` | a linear map of `x` |
| `is_record(x, *names)` | whether `x` is a record of one of these classes |
| `add_hook(owner, hook)`, `run_hooks(owner)` | dispatcher hooks |
| `judge(x, routed, shared, base)` | an entry measured `x` and wants these weights, the routed one times `base` |
| `is_none_argument(x)` | whether an argument is None in every configuration |
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from collections.abc import Sequence as Arguments
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import call, closed, tensors
from moelint.linter.routes.exact import Judged, Wanted, units_of_constant
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.units import ONE, WEIGHTS, Part, Parts, Reduction, multiply, show
from moelint.linter.routes.values import (
    NONE,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Symbol,
    Tensor,
    Value,
)

if TYPE_CHECKING:
    from moelint.linter.routes.contracts import Contracts
    from moelint.linter.routes.machine import Machine

Keywords = dict[str, Guarded]
RouteHook = Callable[[Value, Arguments[Guarded], Keywords, Frame, ast.AST], "Guarded | None"]
Intrinsic = Callable[
    ["Contracts", "Machine", Arguments[Guarded], Keywords, Frame, ast.AST],
    Guarded,
]
_HOOKS = "#hooks"


def _text(argument: Guarded) -> str:
    value = argument[0][1]
    return str(value.value) if isinstance(value, Const) else str(value)


def _state(argument: Guarded) -> Reduction:
    state: Reduction = _text(argument)  # type: ignore[assignment]
    return state


def _flag(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return m.boolean(m.atom(_text(a[0])))


def _back_end(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return c.enumeration_symbol(m, _text(a[0]))


def _mentions(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return m.boolean(TRUE if re.search(_text(a[0]), c.target_text) else FALSE)


def _symbol(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return [(TRUE, Symbol(_text(a[0]), "bool" if len(a) > 1 else None))]


def _namespace(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return [(TRUE, m.instance("@Namespace", _text(a[0])))]


def _instance(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return [(TRUE, m.instance(_text(a[0]), _text(a[1])))]


def _shared_instance(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return [(TRUE, m.only(_text(a[0]), _text(a[1])))]


def _routed(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    reductions: list[tuple[Node, Parts]] = [
        (guard, (Part("routed", ONE, _state([(TRUE, named)])),)) for guard, named in m.within(a[1], f.pc)
    ]
    contents: list[tuple[Node, Parts]] = []
    for guard, value in m.within(a[0], f.pc):
        if not isinstance(value, Tensor):
            contents.append((guard, _experts_output(())))
            m.note(guard, n, f, "the experts run with weights of 1", decisive=True, kind="run")
            continue
        for inner, parts in m.alternatives(value, guard):
            contents.append((inner, _experts_output(parts)))
            units = next((part.units for part in parts if part.name == "x"), ONE)
            slot = next((part.units for part in parts if part.name == "s"), None)
            also = f", shared slot weight {show(slot)}" if slot is not None else ""
            m.note(inner, n, f, f"the experts run: routed weight {show(units)}{also}", True, "run")
    return [(TRUE, m.with_contents(contents, reductions, "routed"))]


def _experts_output(weights: Parts) -> Parts:
    routed = next((part.units for part in weights if part.name == "x"), ONE)
    parts = [Part("routed", routed, "any")]
    parts += [Part("slot", part.units, "any") for part in weights if part.name == "s"]
    parts += [part for part in weights if part.name.startswith("?")]
    return tuple(parts)


def _shared(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    state = _state(a[0])
    m.note(f.pc, n, f, f"the shared expert runs ({state})", decisive=True, kind="run")
    return [(TRUE, m.tensor((Part("shared", ONE, state),), "shared"))]


def _unknown(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    state = _state(a[1]) if len(a) > 1 else "any"
    parts = tuple(sorted((Part(f"?{_text(a[0])}", ONE, state), Part("routed", ONE, state))))
    return [(TRUE, m.tensor(parts, "unknown"))]


def _all_reduce(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return tensors.all_reduce(m, a[0], f.pc, n, f)


def _linear(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return tensors.mapped(m, a[0], f.pc, lambda parts: parts)


def _is_record(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    names = {_text(argument) for argument in a[1:]}
    result = m.diagrams.any_of(
        guard
        for guard, value in a[0]
        if isinstance(value, Instance) and isinstance(value.cls, ClassValue) and value.cls.node.name in names
    )
    return m.boolean(result)


def _add_hook(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    for guard, owner in m.within(a[0], f.pc):
        if isinstance(owner, Instance):
            hooks = m.heap[owner.key].setdefault(_HOOKS, [])
            hooks += [(m.diagrams.conj(guard, inner), hook) for inner, hook in a[1]]
    return [(TRUE, Symbol("hook handle"))]


def _run_hooks(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    """Call the hooks that were registered, each once, in the configurations it was registered in."""
    for guard, owner in m.within(a[0], f.pc):
        if not isinstance(owner, Instance):
            continue
        for inner, hook in m.heap[owner.key].pop(_HOOKS, []):
            entry, f.pc = f.pc, m.diagrams.conj(guard, inner)
            if f.pc != FALSE and isinstance(hook, FunctionValue):
                given: list[Guarded] = [[(TRUE, Symbol(f"hook argument {i}"))] for i in range(len(hook.node.args.args))]
                call.function(m, hook, given, {}, f, n)
            f.pc = entry
    return [(TRUE, NONE)]


def _sized_weights(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    if not a:
        return [(TRUE, tensors.fresh(m, "topk_weights"))]
    return [(TRUE, closed.fresh(m, WEIGHTS, a[0]))]


def _raw_scores(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    return [(TRUE, closed.fresh(m, (Part("x", ((closed.RAW, 1),), "any"),), a[0] if a else None))]


def _typed(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    for _, value in m.within(a[0], f.pc):
        if isinstance(value, Tensor):
            closed.typed(m, value, a[1], a[2] if len(a) > 2 else None)
    return a[0]


def _summing_experts(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    m.note(f.pc, n, f, "the experts run and sum all columns", True, "run")
    unknown = m.tensor((Part("?weights", ONE, "any"),), "unknown")
    return m.merge(
        (guard, m.derived(value, closed.experts_output) if isinstance(value, Tensor) else unknown)
        for guard, value in m.within(a[0], f.pc)
    )


def _set_all(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    for guard, target in m.within(a[0], f.pc):
        for _, source in m.within(a[1], guard):
            if isinstance(target, Instance) and isinstance(source, Instance):
                m.heap[target.key].update(m.heap[source.key])
    return [(TRUE, NONE)]


def _judge(c: Contracts, m: Machine, a: Arguments[Guarded], k: Keywords, f: Frame, n: ast.AST) -> Guarded:
    """Hold an output against the stated weights of its parts; None leaves a part out."""
    routed, shared, base = (units_of_constant(m, argument) for argument in a[1:4])
    wanted = Wanted(None if routed is None else multiply(routed, base or ONE), shared, base or ONE)
    c.judged.append(Judged(a[0], wanted, f.pc))
    return [(TRUE, NONE)]


TABLE: dict[str, Intrinsic] = {
    "judge": _judge,
    "flag": _flag,
    "back_end": _back_end,
    "mentions": _mentions,
    "symbol": _symbol,
    "namespace": _namespace,
    "instance": _instance,
    "shared_instance": _shared_instance,
    "weights": _sized_weights,
    "scores": _raw_scores,
    "typed": _typed,
    "summing_experts": _summing_experts,
    "set_all": _set_all,
    "routed": _routed,
    "shared": _shared,
    "unknown": _unknown,
    "all_reduce": _all_reduce,
    "linear": _linear,
    "is_record": _is_record,
    "add_hook": _add_hook,
    "run_hooks": _run_hooks,
}
