"""MOE201."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import SlotWrite
from moelint.linter.analysis.module import Function, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.analysis.weight_uses import weight_uses
from moelint.linter.rule import Draft, Module, Profile, Rule, Source
from moelint.rules._sites import Related, explain, guards_of, provenance, weight_helper_name

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class SlotWeightDecided(Rule):
    """Reports a fused shared slot whose weight is assigned or derived without the central helper.

    ## What it does
    Reports the weight of a shared slot given as a literal, as `1 / factor`, `sum / factor` or other arithmetic: in a
    trailing column of the top-k weights, through `new_full`, `fill_`, `cat`, `pad`, in a variable that names such a
    weight, or as an argument of a callable that places the slot.

    ## Why is this bad?
    The slot must hold 1/factor if and only if a later step multiplies the whole output. A literal or a private quotient
    is right for one configuration only; in the others the shared expert counts 0.4x or 2.5x.

    ## Example
    ```python
    # profile: sglang
    def remap(topk_weights, num_fused_shared_experts, config):
        topk_weights[:, -num_fused_shared_experts:] = 1.0 / config.routed_scaling_factor
        return topk_weights
    ```

    ## Use instead
    ```python
    # profile: sglang
    def remap(topk_weights, num_fused_shared_experts, config):
        topk_weights[:, -num_fused_shared_experts:] = fused_shared_expert_weight(
            routed_scaling_factor=config.routed_scaling_factor,
            fused_in_topk=is_routed_scaling_factor_fused_in_topk(config),
        )
        return topk_weights
    ```

    ## Limits
    A weight that another tensor brings in (a learned gate) is not judged unless its callable is a declared sink.
    """

    code = "MOE201"
    family = "shared-weight"
    tokens = (("@factor",), ("@slot_weight",), ("@slot_sinks",), ("@slot_count", "1.0"))
    help = "take the slot's weight from the central helper"
    needs_helpers = True
    roles = ("client", "owner", "method")

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        if source.lines_naming(profile.factor | profile.slot_weight | frozenset(profile.slot_sinks)):
            return True
        return bool(weight_uses(source, profile.topk_weights))

    def check(self, module: Module) -> Iterable[Draft]:
        writes = [event for event in module.flow.events if isinstance(event, SlotWrite)]
        combined = {
            (event.function, name) for event in writes if _asks(event.value, module) for name in _names(event.value)
        }
        defaults = [event for event in writes if isinstance(event.value, ast.Constant) and event.value.value is None]
        for event in writes:
            how = _decided_how(event, module)
            if how is None or (event.function, event.target) in combined:
                continue
            node = event.statement if event.how == "column" else event.node
            related = [*explain(event), *provenance(module, event.function, event.value)]
            if how == "computed" and event.how == "argument":
                call = _computing_call(event.value, event.function, module)
                if call is not None and call is not event.value:
                    node = call
                    related.append((event.node, f"placed by `{event.target}`"))
            related += [
                (other.node, "its other value")
                for other in defaults
                if other.function is event.function and other.target == event.target
            ]
            related += _neighbours(event)
            yield Draft(
                node,
                f"The weight of a fused shared slot is {how} here. It must be 1/factor exactly when a later step "
                f"multiplies the whole output, else 1; take it from `{weight_helper_name(module)}`.",
                event.qualname,
                tuple(dict.fromkeys(related)),
                statement=event.statement,
                repair=partial(_repair, event, module),
            )


def _decided_how(event: SlotWrite, module: Module) -> str | None:
    """In which way the value is decided locally; None where it is handed on, asked for or unknown."""
    value = event.value
    if isinstance(value, ast.Name):
        value = guards_of(module).holders.resolve(value, event.function)
    if _asks(value, module):
        return None
    if event.power is not None:
        return "derived from the factor"
    if isinstance(value, ast.Constant):
        if isinstance(value.value, bool) or not isinstance(value.value, (int, float)) or value.value == 0:
            return None
        return "a literal"
    if _mentions_slot_weight(value, module) or isinstance(value, ast.Attribute):
        return None
    if event.how == "name" and _is_quotient(value):
        return "computed"
    if event.how == "argument":
        origin = _computed_by(value, event.function, module)
        if origin is not None:
            return "computed"
    return None


def _names(value: ast.expr) -> set[str]:
    return {part.id for part in walk(value) if isinstance(part, ast.Name)}


def _asks(value: ast.expr, module: Module) -> bool:
    return any(
        isinstance(part, ast.Call) and terminal_name(part.func) in module.profile.weight_calls for part in walk(value)
    )


def _mentions_slot_weight(value: ast.expr, module: Module) -> bool:
    return any(
        isinstance(part, (ast.Name, ast.Attribute)) and terminal_name(part) in module.profile.slot_weight
        for part in walk(value)
    )


def _is_quotient(value: ast.expr) -> bool:
    return any(
        isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and isinstance(part.left, ast.Constant)
        for part in walk(value)
    )


def _computed_by(value: ast.expr, function: Function | None, module: Module) -> ast.AST | None:
    """A function or expression of this module that computes a sink's argument without asking."""
    for node, _ in [(value, ""), *provenance(module, function, value)]:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            asks = any(
                isinstance(part, ast.Call) and terminal_name(part.func) in module.profile.weight_calls
                for part in walk(node)
            )
            if not asks:
                return node
        elif isinstance(node, ast.expr) and _is_quotient(node):
            return node
    return None


def _computing_call(value: ast.expr, function: Function | None, module: Module) -> ast.AST | None:
    """The call of this module's own function that yields a sink's argument, through local names."""
    for node, _ in [(value, ""), *provenance(module, function, value)]:
        if isinstance(node, ast.Call) and any(
            isinstance(origin, (ast.FunctionDef, ast.AsyncFunctionDef))
            for origin, _ in provenance(module, function, node, depth=1)
        ):
            return node
    return None


def _neighbours(event: SlotWrite) -> Related:
    """The renormalisation that follows in the same block divides by a sum with or without this slot."""
    if event.function is None or event.how != "column":
        return ()
    origins = [guard.origin for guard in event.guards if guard.positive]
    body = event.function.node.body
    position = next((i for i, statement in enumerate(body) if statement in origins), None)
    if position is None or position + 1 >= len(body):
        return ()
    following = body[position + 1]
    return ((following.test, "the next step divides by the sum"),) if isinstance(following, ast.If) else ()


def _repair(event: SlotWrite, module: Module) -> Repair | None:
    from moelint.rules._slot_repairs import weight_from_helper

    return weight_from_helper(event, module)
