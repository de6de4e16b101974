"""MOE211."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.events import SlotWrite
from moelint.linter.analysis.module import Module
from moelint.linter.rule import Draft, Rule
from moelint.rules._slots import ColumnWrite, column_writes, names_weights

_PLAIN = (0, 1)
_TINY = 1e-3


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
        ("@topk_weights", "[:, -1", "shared", "expert"),
        ("cat(", "topk_weights", "full("),
    )
    help = "derive the slot's weight from the model's own factor"
    roles = ("client", "owner", "method", "leaf")

    def check(self, module: Module) -> Iterable[Draft]:
        seen = set()
        for function in module.functions:
            if function.outer is not None or b"-" not in module.source.segment(function.node):
                continue
            for write in column_writes(module, function):
                number = _number(write.value, module)
                if number is not None and _is_slot(write, module):
                    seen.add(write.statement)
                    yield _draft(write.statement, number, function.qualname, write.statement)
        for event in module.flow.events:
            if isinstance(event, SlotWrite) and event.how == "column" and event.statement not in seen:
                number = _number(event.value, module)
                if number is not None:
                    seen.add(event.statement)
                    yield _draft(event.node, number, event.qualname, event.statement)


def _draft(node: ast.AST, number: ast.expr, qualname: str, statement: ast.stmt) -> Draft:
    return Draft(
        node,
        f"The weight of the shared slot is computed with `{ast.unparse(number)}`, which fits one checkpoint only. Use "
        "the factor of the model that is running.",
        qualname,
        statement=statement,
    )


def _number(value: ast.expr, module: Module) -> ast.expr | None:
    """The first number in a value that is neither 0, 1 nor a small guard."""
    return next((part for part in _operands(value) if _constant(part, module)), None)


def _operands(node: ast.expr) -> Iterator[ast.expr]:
    """The expressions that take part in the arithmetic of a value: not indices, and of calls only scalar wrappers."""
    if isinstance(node, ast.BinOp):
        yield from _operands(node.left)
        yield from _operands(node.right)
    elif isinstance(node, ast.UnaryOp):
        yield from _operands(node.operand)
    elif isinstance(node, ast.IfExp):
        yield from _operands(node.body)
        yield from _operands(node.orelse)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from _operands(part)
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if isinstance(node.func, ast.Attribute):
            yield from _operands(node.func.value)
        if name in ("mul", "div", "multiply", "divide", "true_divide", "float", "tensor"):
            for argument in node.args:
                yield from _operands(argument)
    else:
        yield node


def _constant(node: ast.expr, module: Module) -> bool:
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
