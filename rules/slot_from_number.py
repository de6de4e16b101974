"""MOE211."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._constants import assigned
from moelint.rules._slots import ColumnWrite, column_writes, names_weights

_PLAIN = (0, 1)
_TINY = 1e-3
_JOINS = frozenset({"cat", "concat", "concatenate"})
_FULL = frozenset({"new_full", "full", "full_like"})
_ARITHMETIC = frozenset({"mul", "div", "multiply", "divide", "true_divide", "float", "tensor"})


class SlotFromNumber(Rule):
    """Reports a shared slot whose weight is computed with a number of one checkpoint.

    ## What it does
    Looks at values that are written into the trailing column of the top-k weights (assigned, filled, appended) and
    reports a numeric literal or a numeric module constant other than 0 and 1 in them.

    ## Why is this bad?
    A number such as 2.5 is the factor of one model. Every other model that runs through this code gets a shared expert
    that counts its own factor divided by that number.

    ## Example
    ```python
    def fuse(topk_weights):
        topk_weights[:, -1] = topk_weights[:, :-1].sum(-1) / 2.5
        return topk_weights
    ```

    ## Use instead
    ```python
    def fuse(topk_weights, routed_scaling_factor):
        topk_weights[:, -1] = topk_weights[:, :-1].sum(-1) / routed_scaling_factor
        return topk_weights
    ```

    ## Limits
    Numbers below one in a thousand are guards against a division by zero. A number that is a parameter's default is not
    seen here.
    """

    code = "MOE211"
    family = "shared-weight"
    tokens = (
        ("weights[:, -", "expert"),
        ("weights[..., -", "expert"),
        ("[:, -1", "shared", "expert"),
        ("cat(", "topk_weights", "full("),
        ("cat(", "topk_weights", ".sum("),
    )
    help = "derive the slot's weight from the model's own factor"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for function in module.functions:
            if function.outer is not None:
                continue
            for node, value in _slot_values(module, function):
                number = next((part for part in _operands(value, function) if _is_magic(part, module)), None)
                if number is not None:
                    yield Draft(
                        node,
                        f"The weight of the shared slot is computed with `{ast.unparse(number)}`, which fits one "
                        "checkpoint only. Use the factor of the model that is running.",
                        function.qualname,
                    )


def _slot_values(module: Module, function: Function) -> Iterator[tuple[ast.AST, ast.expr]]:
    """(place, value) of everything that a function puts into the trailing column of top-k weights."""
    for write in column_writes(module, function):
        if _is_slot(write, module):
            yield write.statement, write.value
    segment = module.source.segment(function.node)
    if not any(word in segment for word in (b"cat(", b"concat", b"pad(")):
        return
    for node in walk(function.node):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        name, first = terminal_name(node.func), node.args[0]
        if name in _JOINS and isinstance(first, (ast.List, ast.Tuple)) and len(first.elts) > 1:
            if names_weights(first.elts[0], module):
                yield from ((node, _filler(part, function)) for part in first.elts[1:])
        elif name == "pad" and names_weights(first, module):
            yield from ((node, keyword.value) for keyword in node.keywords if keyword.arg == "value")


def _filler(node: ast.expr, function: Function) -> ast.expr:
    """The value that fills an appended column."""
    node = _behind(node, function)
    if isinstance(node, ast.Call) and terminal_name(node.func) in _FULL and len(node.args) > 1:
        return node.args[1]
    return node


def _behind(node: ast.expr, function: Function) -> ast.expr:
    """The expression behind a local name that is bound once."""
    if isinstance(node, ast.Name):
        bound = assigned(function).get(node.id, [])
        return bound[0] if len(bound) == 1 else node
    return node


def _operands(node: ast.expr, function: Function, depth: int = 4) -> Iterator[ast.expr]:
    """The expressions that take part in the arithmetic of a value: not indices, and of calls only scalar wrappers."""
    parts: list[ast.expr] = []
    if isinstance(node, ast.BinOp):
        parts = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp):
        parts = [node.operand]
    elif isinstance(node, ast.IfExp):
        parts = [node.body, node.orelse]
    elif isinstance(node, ast.BoolOp):
        parts = node.values
    elif isinstance(node, ast.Call):
        parts = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        parts += node.args if terminal_name(node.func) in _ARITHMETIC else []
    elif isinstance(node, ast.Name) and depth and (behind := _behind(node, function)) is not node:
        parts = [behind]
    else:
        yield node
    for part in parts:
        yield from _operands(part, function, depth - 1 if isinstance(node, ast.Name) else depth)


def _is_magic(node: ast.expr, module: Module) -> bool:
    """A number, perhaps a module constant, that is neither 0, 1 nor a small guard."""
    if isinstance(node, ast.Name):
        node = module.constants.get(node.id, node)
    if not isinstance(node, ast.Constant) or isinstance(node.value, (bool, str)):
        return False
    value = node.value
    return isinstance(value, (int, float)) and value not in _PLAIN and abs(value) >= _TINY


def _is_slot(write: ColumnWrite, module: Module) -> bool:
    """Top-k weights by their name, or a column made from the sum of the others."""
    if names_weights(write.base, module):
        return True
    text = ast.unparse(write.value)
    return f"{write.target}[" in text and ".sum(" in text
