"""MOE122."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from moelint.linter.analysis.module import Module, terminal_name
from moelint.linter.rule import Draft, Rule
from moelint.rules._mentions import mentioning_lines
from moelint.rules._records import is_allocation
from moelint.rules._reductions import local_values
from moelint.rules._truth import Outcome, Tests

_VIEWS = 4
_COMPARISONS = (b"==", b"!=", b" in ")


class NeutralShortcutDisagrees(Rule):
    """Reports a shortcut for a factor of 1 that disagrees with the choice of the buffer it relies on.

    ## What it does
    Looks for two decisions in one function: which of two buffers the experts write, and which one is scaled by the
    factor or returned as it is. Reports the use of a buffer that, for a factor other than 1, may not be the written
    one.

    ## Why is this bad?
    In the cases between them the function scales a buffer that nobody filled, or returns one that nobody scaled:
    uninitialised memory, now and then, only for some top-k and some factors.

    ## Example
    ```python
    def experts(x, w, routed_scaling_factor):
        out, rows = torch.empty_like(x), torch.empty_like(x)
        run_kernel(x, w, rows if w.shape[1] != 1 else out)
        if w.shape[1] == 1 and routed_scaling_factor == 1.0:
            return out
        return rows * routed_scaling_factor
    ```

    ## Use instead
    ```python
    def experts(x, w, routed_scaling_factor):
        out, rows = torch.empty_like(x), torch.empty_like(x)
        needs_rows = w.shape[1] != 1 or routed_scaling_factor != 1.0
        run_kernel(x, w, rows if needs_rows else out)
        if not needs_rows:
            return out
        return rows * routed_scaling_factor
    ```

    ## Limits
    Both decisions must be in one function (a callee that is handed a part of the test may decide too), and the factor
    must be in the tests of one of them. Tests are compared as boolean functions of their parts; what the parts have
    to do with each other is not known.
    """

    code = "MOE122"
    family = "factor-flow"
    tokens = (("@factor", "if "),)
    help = "take both decisions by one stored test"
    roles = ("client", "owner", "method", "leaf")

    def check(self, module: Module) -> Iterable[Draft]:
        spelled = module.profile.factor
        compared = [
            line for line, text in mentioning_lines(module, spelled) if any(sign in text for sign in _COMPARISONS)
        ]
        for function in module.functions if compared else ():
            first, last = function.node.lineno, function.node.end_lineno or 0
            if function.outer is not None or not any(first <= line <= last for line in compared):
                continue
            sites = list(_block(function.node.body, (), spelled))
            choices = [site for site in sites if isinstance(site, _Choice)]
            if not choices:
                continue
            bound = local_values(function)
            tests = Tests(bound, spelled)
            uses = [site for site in sites if isinstance(site, _Use)]
            for choice in choices:
                use = next((use for use in uses if _disagrees(choice, use, tests, bound)), None)
                if use is not None:
                    yield Draft(
                        use.node,
                        f"`{use.buffer}` is used here in a case in which another buffer was written: the two tests do "
                        "not agree on what a factor of 1 means. Store one test and take both decisions by it.",
                        function.qualname,
                        ((choice.test, "this test decides which buffer is written"),),
                    )


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """One of two buffers is handed to a call that fills it."""

    test: ast.expr
    then: str
    other: str
    outcomes: tuple[Outcome, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Use:
    """A buffer is scaled by the factor, or returned by a short way."""

    node: ast.expr | ast.stmt
    buffer: str
    outcomes: tuple[Outcome, ...]


def _disagrees(choice: _Choice, use: _Use, tests: Tests, bound: dict[str, list[ast.expr]]) -> bool:
    """Whether the buffer can be used where the other one was written."""
    if use.buffer not in (choice.then, choice.other) or use.node.lineno < choice.test.lineno:
        return False
    if not (_is_fresh(choice.then, bound) or _is_fresh(choice.other, bound)):
        return False
    if isinstance(use.node, ast.Call) and tests.names_in(choice.test) & set(map(_buffer, _operands(use.node))):
        return False
    wrong: Outcome = (choice.test, use.buffer != choice.then)
    outcomes = [*choice.outcomes, *use.outcomes, wrong]
    return tests.ask_factor(outcomes) and tests.can_all_hold(outcomes)


def _is_fresh(name: str, bound: dict[str, list[ast.expr]], depth: int = _VIEWS) -> bool:
    """Whether a local is a fresh tensor or a view of one."""
    return depth > 0 and any(
        is_allocation(value) or (_buffer(value) not in ("", name) and _is_fresh(_buffer(value), bound, depth - 1))
        for value in bound.get(name, ())
    )


def _buffer(node: ast.expr) -> str:
    """The local that an expression is a view of."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _block(body: list[ast.stmt], outcomes: tuple[Outcome, ...], spelled: frozenset[str]) -> Iterator[_Choice | _Use]:
    """The choices and uses of a block in source order, with the tests they stand under."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _branches(statement, outcomes)
            yield from _block(statement.body, (*outcomes, (statement.test, True)), spelled)
            yield from _block(statement.orelse, (*outcomes, (statement.test, False)), spelled)
            if isinstance(statement.body[-1], (ast.Return, ast.Raise)):
                outcomes = (*outcomes, (statement.test, False))
        elif isinstance(statement, ast.Return) and statement.value is not None:
            if outcomes and body == [statement] and _buffer(statement.value):
                yield _Use(statement, _buffer(statement.value), outcomes)
            yield from _expression(statement.value, outcomes, spelled, returned=True)
        elif isinstance(statement, (ast.For, ast.While, ast.With, ast.Try)):
            for inner in (statement.body, getattr(statement, "orelse", []), getattr(statement, "finalbody", [])):
                yield from _block(inner, outcomes, spelled)
        else:
            yield from _expression(statement, outcomes, spelled)


def _expression(
    node: ast.AST, outcomes: tuple[Outcome, ...], spelled: frozenset[str], returned: bool = False
) -> Iterator[_Choice | _Use]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
        return
    if isinstance(node, ast.IfExp):
        for part, outcome in ((node.body, True), (node.orelse, False)):
            inside = (*outcomes, (node.test, outcome))
            if returned and _buffer(part):
                yield _Use(part, _buffer(part), inside)
            yield from _expression(part, inside, spelled)
        yield from _expression(node.test, outcomes, spelled)
        return
    if isinstance(node, ast.Call):
        for argument in _operands(node):
            yield from _choices(argument, outcomes)
    read = _scaled(node, spelled)
    if read and isinstance(node, (ast.expr, ast.stmt)):
        yield _Use(node, read, outcomes)
    for child in ast.iter_child_nodes(node):
        yield from _expression(child, outcomes, spelled)


def _choices(node: ast.expr, outcomes: tuple[Outcome, ...]) -> Iterator[_Choice]:
    if isinstance(node, ast.IfExp):
        then, other = _buffer(node.body), _buffer(node.orelse)
        if then and other and then != other:
            yield _Choice(node.test, then, other, outcomes)
        yield from _choices(node.body, (*outcomes, (node.test, True)))
        yield from _choices(node.orelse, (*outcomes, (node.test, False)))


def _branches(node: ast.If, outcomes: tuple[Outcome, ...]) -> Iterator[_Choice]:
    """The same call on both sides, working on different buffers."""
    for mine in (part for statement in node.body for part in ast.walk(statement) if isinstance(part, ast.Call)):
        for beside in (part for statement in node.orelse for part in ast.walk(statement) if isinstance(part, ast.Call)):
            if terminal_name(mine.func) == terminal_name(beside.func):
                for one, two in zip(_operands(mine), _operands(beside), strict=False):
                    if _buffer(one) and _buffer(two) and _buffer(one) != _buffer(two):
                        yield _Choice(node.test, _buffer(one), _buffer(two), outcomes)


def _operands(call: ast.Call) -> list[ast.expr]:
    """What a call works on: the object of an in-place method, and the arguments."""
    in_place = isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")
    owner = [call.func.value] if in_place and isinstance(call.func, ast.Attribute) else []
    return [*owner, *call.args, *(keyword.value for keyword in call.keywords)]


def _scaled(node: ast.AST, spelled: frozenset[str]) -> str:
    """The buffer that a product or a call reads together with the factor: the first one of a call."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        operands = [node.left, node.right]
    elif isinstance(node, ast.Call):
        operands = _operands(node)
    else:
        return ""
    if not any(_is_factor(operand, spelled) for operand in operands):
        return ""
    return next((_buffer(operand) for operand in operands if not _is_factor(operand, spelled)), "")


def _is_factor(node: ast.expr, spelled: frozenset[str]) -> bool:
    if isinstance(node, ast.IfExp):
        return _is_factor(node.body, spelled) or _is_factor(node.orelse, spelled)
    return isinstance(node, (ast.Name, ast.Attribute)) and terminal_name(node) in spelled
