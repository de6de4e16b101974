"""MOE302."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import Scale
from moelint.linter.analysis.module import Function, Module, bindings, dotted_name, statements, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.diagram import FALSE
from moelint.linter.rule import Draft, Rule
from moelint.rules._sites import guards_of, scales

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


_SAME_DATA = frozenset(
    {"view", "reshape", "flatten", "squeeze", "unsqueeze", "contiguous", "to", "type", "float", "half", "bfloat16"}
    | {"add", "mul", "sub", "clone", "detach"}
)
_TORCH = frozenset({"add", "mul", "sub", "where", "clone"})


class FactorAppliedTwice(Rule):
    """Reports a value that is multiplied by the routed scaling factor twice on one way through a function.

    ## What it does
    Follows what a multiplication by the factor yields through names, sums, views and in-place operations of the same
    function, and reports a second multiplication of it under tests that can hold together with those of the first.

    ## Why is this bad?
    The routed experts, or the top-k weights, then count with the square of the factor (6.25 for 2.5). Each multiply
    looks right when it is read alone.

    ## Example
    ```python
    class Block:
        def forward(self, x):
            y = self.experts(x)
            y *= self.routed_scaling_factor
            if self.shared_experts is not None:
                y = y * self.routed_scaling_factor + self.shared_experts(x)
            return y
    ```

    ## Use instead
    ```python
    class Block:
        def forward(self, x):
            y = self.experts(x)
            y *= self.routed_scaling_factor
            if self.shared_experts is not None:
                y = y + self.shared_experts(x)
            return y
    ```

    ## Limits
    What another function or a module call makes of the value is not followed; nor are quotients. Two spellings of the
    factor are taken for two factors.
    """

    code = "MOE302"
    family = "epilogue"
    tokens = (("@factor",),)
    help = "multiply once"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        by_function: dict[Function, list[Scale]] = {}
        for event in scales(module):
            if event.function is not None:
                by_function.setdefault(event.function, []).append(event)
        for function, events in by_function.items():
            if len(events) > 1:
                yield from _pairs(module, function, events)


def _pairs(module: Module, function: Function, events: list[Scale]) -> Iterator[Draft]:
    guards = guards_of(module)
    for position, second in enumerate(events):
        for first in events[:position]:
            if _spelling(first, module) != _spelling(second, module) or not _reaches(first, second, function):
                continue
            both = guards.diagrams.conj(guards.condition(first.guards), guards.condition(second.guards))
            if both != FALSE:
                yield Draft(
                    second.node,
                    "This value was multiplied by the routed scaling factor before, on a way that leads here, so it "
                    "counts with the square of the factor. Drop one of the two multiplies.",
                    second.qualname,
                    ((first.node, "the first multiply"),),
                    statement=second.statement,
                    repair=partial(_without, second),
                )
                break


def _without(second: Scale) -> Repair | None:
    """Drops the second multiply. Unsafe: it may be the first one that should go."""
    from moelint.linter.repair import Remove, Repair, Replace

    statement, node = second.statement, second.node
    if (
        second.in_place
        and not second.form.endswith("=)")
        and (isinstance(statement, ast.AugAssign) or (isinstance(statement, ast.Expr) and statement.value is node))
    ):
        return Repair("Drop this multiply", (Remove(statement),), False)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and second.scaled in (node.left, node.right):
        return Repair("Drop this multiply", (Replace(node, ast.unparse(second.scaled)),), False)
    return None


def _spelling(event: Scale, module: Module) -> set[str]:
    """The spelling under which the factor was first read on its way to a multiply."""
    parts = walk(event.trace[0].node) if event.trace else ()
    words = {
        getattr(part, "arg", None) or getattr(part, "attr", None) or getattr(part, "value", None) for part in parts
    }
    return {word for word in words if isinstance(word, str)} & module.profile.factor


def _reaches(first: Scale, second: Scale, function: Function) -> bool:
    """Whether what the first multiply yields is what the second one multiplies."""
    if second.scaled is None:
        return False
    if first.statement is second.statement:
        return _carries(second.scaled, set(), first.node)
    names = set(_results(first))
    if not names:
        return False
    for statement in statements(function.node.body):
        if _position(first.statement) < _position(statement) < _position(second.statement):
            for target, value in bindings(statement):
                name = dotted_name(target)
                if _carries(value, names, first.node):
                    names.add(name)
                else:
                    names.discard(name)
    return _carries(second.scaled, names, first.node)


def _results(event: Scale) -> Iterator[str]:
    """The names that hold what a multiply yields."""
    statement = event.statement
    if isinstance(statement, ast.AugAssign):
        yield _root(statement.target)
        return
    for target, value in bindings(statement):
        if _carries(value, set(), event.node):
            yield dotted_name(target)
    if isinstance(event.node, ast.Call):
        if event.in_place and isinstance(event.node.func, ast.Attribute):
            receiver = _root(event.node.func.value)
            yield receiver if receiver != "torch" else _root(event.node.args[0])
        for keyword in event.node.keywords:
            if keyword.arg == "out":
                yield _root(keyword.value)


def _carries(node: ast.expr, names: set[str], product: ast.AST) -> bool:
    """Whether an expression is, or is made by plain arithmetic of, one of `names` or the product itself."""
    if node is product:
        return True
    if isinstance(node, (ast.Name, ast.Attribute)):
        return dotted_name(node) in names
    if isinstance(node, ast.BinOp):
        return any(_carries(side, names, product) for side in (node.left, node.right))
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return _carries(node.value, names, product)
    if isinstance(node, ast.IfExp):
        return any(_carries(branch, names, product) for branch in (node.body, node.orelse))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in _TORCH and terminal_name(node.func.value) == "torch":
            return any(_carries(argument, names, product) for argument in node.args)
        if name in _SAME_DATA or name.endswith("_"):
            return any(_carries(part, names, product) for part in (node.func.value, *node.args))
    return False


def _root(node: ast.expr) -> str:
    """`y` of `y`, `y[:n]`, `y.data` and `y.view(-1)`."""
    while True:
        if isinstance(node, ast.Subscript) or (isinstance(node, ast.Attribute) and node.attr == "data"):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _SAME_DATA:
            node = node.func.value
        else:
            return dotted_name(node)


def _position(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]
