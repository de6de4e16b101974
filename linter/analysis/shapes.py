"""Shapes of syntax that the factor flow tells apart."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from moelint.linter.analysis.module import Function

_NEUTRAL = (None, 0, 1)


def is_self(node: ast.expr, function: Function) -> bool:
    """Whether an expression is the object whose method `function` is, or is nested in."""
    if function.cls is None or not isinstance(node, ast.Name):
        return False
    args = function.outermost.node.args.args
    return bool(args) and node.id == args[0].arg


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def is_scalar_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "len")


def is_neutral(node: ast.expr) -> bool:
    """A literal that stands for "no factor": None, 0 or 1; or a collection of such."""
    if isinstance(node, (ast.Tuple, ast.Set, ast.List)):
        return all(is_neutral(item) for item in node.elts)
    return isinstance(node, ast.Constant) and not isinstance(node.value, (bool, str)) and node.value in _NEUTRAL


def last_columns(index: ast.expr) -> bool:
    """`[:, -1]`, `[:, -n:]`, `[..., k:]`, `[:, k]`: the trailing columns of a two-dimensional tensor."""
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2:
        return False
    last = index.elts[-1]
    if isinstance(last, ast.Slice):
        return last.lower is not None and last.upper is None and not isinstance(last.lower, ast.Constant)
    return isinstance(last, (ast.UnaryOp, ast.Name, ast.Attribute, ast.BinOp))


def ends(body: Sequence[ast.stmt]) -> bool:
    """Whether control never leaves `body` at its end."""
    last = body[-1] if body else None
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return ends(last.body) and ends(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return ends(last.body)
    return False


def case_test(subject: ast.expr, pattern: ast.pattern) -> ast.expr | None:
    """`subject == value` of a `case value`; None where a case says something else."""
    if isinstance(pattern, ast.MatchSingleton):
        value: ast.expr = ast.Constant(pattern.value)
    elif isinstance(pattern, ast.MatchValue):
        value = pattern.value
    else:
        return None
    test = ast.copy_location(ast.Compare(subject, [ast.Eq()], [value]), subject)
    return ast.fix_missing_locations(test)


def path_text(node: ast.expr) -> str | None:
    """`name.attribute` or `name['key']` as text; None for anything else."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return f"{node.value.id}.{node.attr}"
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        return f"{node.value.id}[{node.slice.value!r}]"
    return None


def short(node: ast.AST) -> str:
    """An expression as text for a message, cut where it is long."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."
