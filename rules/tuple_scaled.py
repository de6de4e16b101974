"""MOE120."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.events import Scale
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import children, walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reductions import local_values

_STACKS = frozenset({"stack", "cat", "concat", "concatenate", "vstack", "tensor", "chunk", "split", "unbind"})


class TupleScaled(Rule):
    """Reports a multiplication of a whole tuple of outputs by the routed scaling factor.

    ## What it does
    Looks at what is multiplied by the factor and reports it if it is a tuple: written as one, returned by a function
    of this module that always returns tuples, or taken apart into its parts behind the multiplication.

    ## Why is this bad?
    Experts with a fused shared expert return `(shared, routed)`. A tuple times a float is a TypeError, times an int it
    is repeated, and only the routed part may be scaled.

    ## Example
    ```python
    def experts_pair(x):
        return shared_experts(x), routed_experts(x)

    def forward(x, routed_scaling_factor):
        final = experts_pair(x) * routed_scaling_factor
        return final[0] + final[1]
    ```

    ## Use instead
    ```python
    def experts_pair(x):
        return shared_experts(x), routed_experts(x)

    def forward(x, routed_scaling_factor):
        shared, routed = experts_pair(x)
        return shared + routed * routed_scaling_factor
    ```

    ## Limits
    A callee in another module is only known for what its result is used for. Values that `isinstance` was asked about
    are left alone.
    """

    code = "MOE120"
    family = "factor-flow"
    tokens = (("@factor",),)
    help = "unpack the outputs and scale the routed one"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if not isinstance(event, Scale) or event.scaled is None or event.function is None:
                continue
            reason = _tuple_reason(module, event.function, event.scaled) or _taken_apart(event.function, event)
            if reason:
                yield Draft(
                    event.node,
                    f"The routed scaling factor multiplies `{ast.unparse(event.scaled)}`, which is a tuple: {reason}. "
                    "Unpack it and scale the routed part only.",
                    event.qualname,
                    statement=event.statement,
                )


def _tuple_reason(module: Module, function: Function, scaled: ast.expr) -> str:
    """Why an expression is a tuple by what it is made of."""
    values = _definitions(function, scaled.id, scaled) if isinstance(scaled, ast.Name) else [scaled]
    for value in values[-1:]:
        if isinstance(value, ast.Tuple):
            return "it is written as one"
        if isinstance(value, ast.Call):
            callee = None
            if isinstance(value.func, ast.Name):
                callee = module.function(value.func.id)
            elif isinstance(value.func, ast.Attribute) and terminal_name(value.func.value) == "self" and function.cls:
                callee = module.function(value.func.attr, function.cls)
            if callee is not None and _returns_tuples(callee):
                return f"`{callee.name}` returns several values"
    return ""


def _taken_apart(function: Function, event: Scale) -> str:
    """Whether the product is unpacked, or both of its first two parts are used, behind the multiplication."""
    names = {event.scaled.id} if event.in_place and isinstance(event.scaled, ast.Name) else set()
    source = event.scaled
    if isinstance(event.statement, ast.Assign) and event.statement.value is event.node:
        names |= {target.id for target in event.statement.targets if isinstance(target, ast.Name)}
    if isinstance(source, ast.Name):
        source = next(reversed(_definitions(function, source.id, source)), None)
    if not names or not isinstance(source, ast.Call) or terminal_name(source.func) in _STACKS:
        return ""
    parts: set[object] = set()
    for node in walk(function.node):
        if getattr(node, "lineno", 0) < event.statement.lineno:
            continue
        if isinstance(node, ast.Call) and terminal_name(node.func) == "isinstance":
            return ""
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id in names:
            if any(isinstance(target, (ast.Tuple, ast.List)) for target in node.targets):
                return "it is unpacked later"
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id in names:
            parts.add(node.slice.value if isinstance(node.slice, ast.Constant) else None)
    return "its parts are added up later" if {0, 1} <= parts else ""


def _definitions(function: Function, name: str, before: ast.expr) -> list[ast.expr]:
    """The values bound to a local before a place, in source order."""
    found = [value for value in local_values(function).get(name, []) if value.lineno < before.lineno]
    return sorted(found, key=lambda value: value.lineno)


def _returns_tuples(function: Function) -> bool:
    """Whether a function says that it returns a tuple of two or more, or every `return` of it does."""
    note = function.node.returns
    if isinstance(note, ast.Subscript) and terminal_name(note.value) in ("tuple", "Tuple"):
        return isinstance(note.slice, ast.Tuple) and len(note.slice.elts) > 1
    returned: list[ast.expr | None] = []
    stack: list[ast.AST] = [*function.node.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Return):
            returned.append(node.value)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            stack.extend(children(node))
    return bool(returned) and all(isinstance(value, ast.Tuple) and len(value.elts) > 1 for value in returned)
