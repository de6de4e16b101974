"""MOE210."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping

from moelint.linter.analysis.module import terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._conditions import test_aliases
from moelint.rules._renorm import is_factor, spelled
from moelint.rules._slots import ColumnWrite, column_writes, names_weights

_FLAG = re.compile(r"^_?(apply|should|use|is|has|fuse|enable|with|need|do)_")
_MAKES = ("cat(", "concat", "pad(", "full(", "full_like(", "ones(", "ones_like(")


class SlotResidueKept(Rule):
    """Reports a shared slot that gets its weight only if there is a factor, and keeps the router's leftover otherwise.

    ## What it does
    Looks for a write into the trailing column of the top-k weights which runs only where the routed scaling factor is
    present (`is not None`, `!= 0`, its truth, or after an early return without it), while nothing else in the function
    writes that column.

    ## Why is this bad?
    A model without a factor still has its shared slot. The column then holds whatever the router put there, the score
    of some routed expert, and the shared expert counts by that accident instead of fully.

    ## Example
    ```python
    def remap(topk_weights, routed_scaling_factor):
        if routed_scaling_factor is not None and routed_scaling_factor != 0:
            topk_weights[:, -1:] = 1.0 / routed_scaling_factor
        return topk_weights
    ```

    ## Use instead
    ```python
    def remap(topk_weights, routed_scaling_factor):
        if routed_scaling_factor is not None and routed_scaling_factor != 0:
            topk_weights[:, -1:] = 1.0 / routed_scaling_factor
        else:
            topk_weights[:, -1:] = 1.0
        return topk_weights
    ```

    ## Limits
    Silent if the column is made in the same function with a value of its own, and if the way without a factor raises.
    """

    code = "MOE210"
    family = "shared-weight"
    tokens = (("@factor", "weight", "[:, -"), ("@factor", "weight", "[..., -"), ("@factor", "weight", "_experts :]"),
              ("@factor", "weight", "_experts:]"), ("scal", "weights[:, -", "expert", "None"))  # fmt: skip
    help = "write the slot on the way without a factor too: the shared expert's full weight"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for function in module.functions:
            if function.outer is not None:
                continue
            writes = list(column_writes(module, function))
            for write in writes:
                found = _presence(write, module) if not write.relative else None
                if found is None or not _is_slot(write, found[0], module):
                    continue
                factor, test, inside = found
                if any(other.target == write.target and other.statement not in inside for other in writes):
                    continue
                if _made_here(write):
                    continue
                yield Draft(
                    write.statement,
                    f"The shared slot is written only where `{factor}` is present; without it the column keeps what "
                    "the router left there. Write the slot's weight on the other way as well.",
                    function.qualname,
                    ((test, "the write depends on this test"),),
                    statement=write.statement,
                )


def _presence(write: ColumnWrite, module: Module) -> tuple[str, ast.expr, set[ast.stmt]] | None:
    """(factor, test, the statements under the test) if the write runs only where a factor is present."""
    aliases = dict(
        pair for node in walk(write.function.node) if isinstance(node, ast.Assign) for pair in test_aliases(node)
    )
    for branch, positive in write.branches:
        for factor in _tested(_expanded(branch.test, aliases), positive):
            if _is_factor(factor, write, module) and not _raises(branch.orelse if positive else branch.body):
                side = branch.body if positive else branch.orelse
                return spelled(factor), branch.test, {part for statement in side for part in _statements(statement)}
    for branch in _early_returns(write):
        for factor in _tested(_expanded(branch.test, aliases), False):
            if _is_factor(factor, write, module):
                rest = set(_statements(write.function.node)) - set(_statements(branch))
                return spelled(factor), branch.test, rest
    return None


def _expanded(test: ast.expr, aliases: Mapping[str, ast.expr]) -> ast.expr:
    """The test behind a name, perhaps negated."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.UnaryOp(test.op, _expanded(test.operand, aliases))
    return aliases.get(test.id, test) if isinstance(test, ast.Name) else test


def _tested(test: ast.expr, positive: bool) -> Iterator[ast.expr]:
    """The operands that a test finds present when it comes out as `positive`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _tested(test.operand, not positive)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == positive:
            for part in test.values:
                yield from _tested(part, positive)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        present = isinstance(test.ops[0], (ast.IsNot, ast.NotEq, ast.NotIn))
        absent = isinstance(test.ops[0], (ast.Is, ast.Eq, ast.In))
        if ((present and positive) or (absent and not positive)) and _is_nothing(test.comparators[0]):
            yield test.left
    elif positive:
        yield test


def _is_nothing(node: ast.expr) -> bool:
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts) and all(_is_nothing(item) for item in node.elts)
    return isinstance(node, ast.Constant) and node.value in (None, 0) and not isinstance(node.value, (bool, str))


def _is_factor(node: ast.expr, write: ColumnWrite, module: Module) -> bool:
    """A factor by its name, or what the written value is divided by."""
    if isinstance(node, (ast.Name, ast.Attribute)):
        text = spelled(node)
        divided = any(
            isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div) and text in map(spelled, _divisors(part.right))
            for part in walk(write.value)
        )
        return divided or (is_factor(node, module) and not _is_flag(terminal_name(node), module))
    return False


def _is_flag(name: str, module: Module) -> bool:
    profile = module.profile
    known = profile.flags | profile.runner_flags | profile.wish | profile.slot_weight
    return name in known or _FLAG.search(name) is not None


def _divisors(node: ast.expr) -> list[ast.expr]:
    return [part for part in walk(node) if isinstance(part, (ast.Name, ast.Attribute))]


def _is_slot(write: ColumnWrite, factor: str, module: Module) -> bool:
    mentions = any(
        isinstance(part, (ast.Name, ast.Attribute)) and spelled(part) == factor for part in walk(write.value)
    )
    return names_weights(write.base, module) or (mentions and "/" in ast.unparse(write.value))


def _early_returns(write: ColumnWrite) -> Iterator[ast.If]:
    """The `if ...: return` statements before a write, in the blocks around it."""
    blocks: list[list[ast.stmt]] = [write.function.node.body]
    blocks += [branch.body if positive else branch.orelse for branch, positive in write.branches]
    for block in blocks:
        for statement in block:
            if statement.lineno >= write.statement.lineno:
                break
            if isinstance(statement, ast.If) and statement.body and isinstance(statement.body[-1], ast.Return):
                yield statement


def _raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    return (part for part in walk(node) if isinstance(part, ast.stmt))


def _made_here(write: ColumnWrite) -> bool:
    """Whether the function itself builds the tensor with a value for its last column."""
    for node in walk(write.function.node):
        if isinstance(node, ast.Assign) and any(ast.unparse(target) == write.target for target in node.targets):
            text = ast.unparse(node.value)
            if any(maker in text for maker in _MAKES):
                return True
    return False
