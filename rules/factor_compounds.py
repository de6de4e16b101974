"""MOE121."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule

_SHORT_NAMES = frozenset({"factor", "rsf", "scaling_factor", "routing_factor", "routed_factor"})
_STREAM = re.compile(r"residual|hidden")
_INDEX = re.compile(r"idx|index|layer|^i$|_id$|step")
_IN_PLACE = frozenset({"mul_", "div_", "multiply_", "divide_"})
_PLAIN = frozenset({"mul", "div", "multiply", "divide", "true_divide"})


class FactorCompounds(Rule):
    """Reports a factor that acts again on a value which already carries it from the round before.

    ## What it does
    Looks for a value that a loop carries from round to round and that is multiplied or divided by the routed scaling
    factor in each round, and for a residual stream that each layer scales, without a test that picks one round or one
    layer by equality.

    ## Why is this bad?
    The factor compounds: after three layers the residual is off by its cube. In half precision it drowns in rounding
    or overflows, and the model talks nonsense.

    ## Example
    ```python
    def first_layers(residual, layers, routed_scaling_factor):
        for index, layer in enumerate(layers):
            if index < 3:
                residual = residual / routed_scaling_factor
            residual = residual + layer(residual)
        return residual
    ```

    ## Use instead
    ```python
    def first_layers(residual, layers, routed_scaling_factor):
        for index, layer in enumerate(layers):
            if index == 0:
                residual = residual / routed_scaling_factor
            residual = residual + layer(residual)
        return residual
    ```

    ## Limits
    A value that each round makes anew is not carried. Across layers only values named as residuals are followed.
    """

    code = "MOE121"
    family = "factor-flow"
    tokens = (("@factor",), ("residual /", "factor"), ("residual *", "factor"))
    help = "scale the carried value once, on the first round or layer"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        names = module.profile.factor | _SHORT_NAMES
        for function in module.functions:
            if function.outer is not None or not mentions(module, function.node, names):
                continue
            segment = module.source.segment(function.node)
            streams = {p.arg for p in function.parameters() if "residual" in p.arg} if function.cls else set()
            if not streams and b"for " not in segment and b"while " not in segment:
                continue
            for site in _sites(module, function):
                carrier = "loop" if _is_carried(site) else "layer" if site.name in streams else ""
                if carrier and not _is_once(site):
                    yield Draft(
                        site.node,
                        f"The factor acts on `{site.name}` in every {'round of this loop' if site.loop else 'layer'}, "
                        "and the value is carried on, so the factor compounds. Scale it once, under a test that is "
                        "equal for one round only.",
                        function.qualname,
                    )


_Tests = tuple[tuple[ast.expr, bool], ...]
"""Tests with the outcome that leads to a place."""


@dataclass(frozen=True, slots=True)
class _Site:
    """A statement that replaces a local by itself times or over the factor."""

    node: ast.stmt
    name: str
    loop: ast.For | ast.AsyncFor | ast.While | None
    tests: _Tests
    block: tuple[ast.stmt, ...]


def _sites(module: Module, function: Function) -> Iterator[_Site]:
    words: set[str] = set()

    def visit(body: list[ast.stmt], loop: ast.For | ast.AsyncFor | ast.While | None, tests: _Tests) -> Iterator[_Site]:
        for statement in body:
            found = _rescaled(statement, module)
            if found is not None:
                words.update(words or _factor_words(module, function))
                name, scale = found
                if _mentions(scale, words if _STREAM.search(name) else words - _SHORT_NAMES):
                    yield _Site(statement, name, loop, tests, tuple(body))
            elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
                yield from visit(statement.body, statement, ())
            elif isinstance(statement, ast.If):
                yield from visit(statement.body, loop, (*tests, (statement.test, True)))
                yield from visit(statement.orelse, loop, (*tests, (statement.test, False)))
                if isinstance(statement.body[-1], ast.Continue):
                    tests = (*tests, (statement.test, False))
            elif isinstance(statement, (ast.With, ast.AsyncWith, ast.Try)):
                yield from visit(statement.body, loop, tests)

    yield from visit(function.node.body, None, ())


def _factor_words(module: Module, function: Function) -> set[str]:
    """The names under which the function has the factor, with locals made of it."""
    words = set(module.profile.factor | _SHORT_NAMES)
    for node in walk(function.node):
        if isinstance(node, ast.Assign) and not isinstance(node.value, ast.Call) and _mentions(node.value, words):
            made = {target.id for target in node.targets if isinstance(target, ast.Name)}
            words |= set() if any(map(_STREAM.search, _names(node.value))) else made
    return words


def _rescaled(node: ast.stmt, module: Module) -> tuple[str, ast.expr] | None:
    """`x` and `s` of `x = x / s`, `x *= s` and `x.mul_(s)`."""
    scaled: ast.expr | None = None
    scale: ast.expr | None = None
    target: ast.expr | None = None
    if isinstance(node, ast.AugAssign) and isinstance(node.op, (ast.Mult, ast.Div)):
        target, scaled, scale = node.target, node.target, node.value
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        if isinstance(value, ast.BinOp) and isinstance(value.op, (ast.Mult, ast.Div)):
            scaled, scale = value.left, value.right
            if terminal_name(scaled) != terminal_name(target) and isinstance(value.op, ast.Mult):
                scaled, scale = scale, scaled
        elif isinstance(value, ast.Call) and terminal_name(value.func) in _PLAIN | _IN_PLACE and value.args:
            owner = value.func.value if isinstance(value.func, ast.Attribute) else None
            scaled = value.args[0] if owner is None or terminal_name(owner) in module.imports else owner
            scale = value.args[-1]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        call = node.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _IN_PLACE and call.args:
            target, scaled, scale = call.func.value, call.func.value, call.args[0]
    if not isinstance(target, ast.Name) or not isinstance(scaled, ast.Name) or scaled.id != target.id or scale is None:
        return None
    return target.id, scale


def _mentions(node: ast.expr, words: set[str]) -> bool:
    return any(isinstance(part, (ast.Name, ast.Attribute)) and terminal_name(part) in words for part in walk(node))


def _is_carried(site: _Site) -> bool:
    """Whether the loop takes the value of one round into the next: no round gives it a fresh one."""
    if site.loop is None:
        return False
    if not isinstance(site.loop, ast.While) and site.name in _names(site.loop.target):
        return False
    for statement in site.loop.body:
        for node in walk(statement):
            if isinstance(node, ast.Assign) and any(site.name in _names(target) for target in node.targets):
                if site.name not in _names(node.value):
                    return False
            elif isinstance(node, (ast.For, ast.AsyncFor)) and site.name in _names(node.target):
                return False
    return True


def _is_once(site: _Site) -> bool:
    """Whether a test lets the scale act in one round or layer only."""
    counters = set() if site.loop is None or isinstance(site.loop, ast.While) else _names(site.loop.target)
    if any(isinstance(statement, (ast.Break, ast.Return)) for statement in site.block) and site.loop is not None:
        return True
    return any(_picks_one(test, outcome, counters) for test, outcome in site.tests)


def _picks_one(test: ast.expr, outcome: bool, counters: set[str]) -> bool:
    """Whether a test with this outcome holds in one round only."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if outcome else ast.Or):
        return any(_picks_one(part, outcome, counters) for part in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return (outcome and terminal_name(test.operand) in counters) or _picks_one(test.operand, not outcome, counters)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return isinstance(test.ops[0], (ast.Eq, ast.Is) if outcome else (ast.NotEq, ast.IsNot)) and any(
            terminal_name(part) in counters or _INDEX.search(terminal_name(part))
            for part in walk(test)
            if isinstance(part, (ast.Name, ast.Attribute))
        )
    if isinstance(test, (ast.Name, ast.Attribute)):
        name = terminal_name(test)
        return re.match(r"(is_)?first(_|$)", name) is not None if outcome else name in counters
    return False


def _names(node: ast.AST) -> set[str]:
    return {part.id for part in walk(node) if isinstance(part, ast.Name)}
