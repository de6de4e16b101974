"""MOE704."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reads import key_read
from moelint.rules._records import is_configuration


class FactorAliasHidden(Rule):
    """Reports a config read that turns every other spelling of the factor into a number.

    ## What it does
    Looks for one spelling of the factor that is read by name from a mapping or with `getattr` and followed by
    `or NUMBER`, or by a test for absence that puts a number in its place, or read with `.get(NAME, NUMBER)`, in a
    function that asks for no other spelling.

    ## Why is this bad?
    Configurations name the factor differently: `routed_scaling_factor`, `moe_router_scaling_factor`, `route_scale`
    and more. With a number at hand a model of another family silently gets that number, and `or` replaces a 0 too.

    ## Example
    ```python
    def factor_of(config):
        return float(config.get("routed_scaling_factor") or 1.0)
    ```

    ## Use instead
    ```python
    SPELLINGS = ("routed_scaling_factor", "moe_router_scaling_factor", "router_scaling_factor", "route_scale")

    def factor_of(config):
        for name in SPELLINGS:
            if config.get(name) is not None:
                return float(config[name])
        return 1.0
    ```

    ## Limits
    `getattr(config, NAME, 1.0)` and plain attributes are left alone: a model's own code knows its config's spelling.
    Configuration classes are left alone as well.
    """

    code = "MOE704"
    family = "dead-factor"
    tokens = (("@factor", "get("), ("@factor", "getattr("), ("@factor", '["'), ("@factor", "['"))
    help = "ask for every spelling of the factor, with `is not None`, before you fall back to a number"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        spelled = module.profile.factor
        for function in module.functions:
            if function.outer is not None or not mentions(module, function.node, spelled):
                continue
            if function.cls is not None and is_configuration(function.cls):
                continue
            segment = module.source.segment(function.node)
            if not any(quote + name.encode() + quote in segment for name in spelled for quote in (b'"', b"'")):
                continue
            asked = {node.value for node in walk(function.node) if isinstance(node, ast.Constant)} & spelled
            if len(asked) > 1:
                continue
            for node, name in _fallbacks(function, spelled):
                yield Draft(
                    node,
                    f"Only `{name}` is read here, and a number stands in for it when it is absent, so a configuration "
                    "with another spelling of the factor silently gets that number. Ask for every spelling first.",
                    function.qualname,
                )


def _fallbacks(function: Function, spelled: frozenset[str]) -> Iterator[tuple[ast.AST, str]]:
    read = {
        target.id: found[1]
        for node in walk(function.node)
        if isinstance(node, ast.Assign) and (found := _by_name(node.value, spelled)) is not None
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    for node in walk(function.node):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and _is_number(node.values[-1]):
            names = [_spelling(value, spelled, read) for value in node.values[:-1]]
            if len(names) == 1 and names[0]:
                yield node, names[0]
        elif isinstance(node, ast.IfExp) and (_is_number(node.orelse) or _is_number(node.body)):
            name = _spelling(_subject(node.test), spelled, read)
            if name:
                yield node, name
        elif isinstance(node, ast.If):
            name = _spelling(_subject(node.test), spelled, read)
            if name and any(isinstance(s, (ast.Assign, ast.Return)) and _is_number(s.value) for s in node.body):
                yield node.test, name
        elif isinstance(node, ast.Call) and len(node.args) == 2 and _is_number(node.args[1]):
            found_read = key_read(node, spelled)
            if found_read is not None and terminal_name(found_read[0]) != "kwargs":
                yield node, found_read[1]


def _by_name(node: ast.expr, spelled: frozenset[str]) -> tuple[ast.expr, str] | None:
    """A read by a string: `x.get("name")`, `x["name"]`, `getattr(x, "name", None)`."""
    if isinstance(node, ast.Call) and terminal_name(node.func) in ("float", "int") and len(node.args) == 1:
        node = node.args[0]
    return None if isinstance(node, ast.Attribute) else key_read(node, spelled)


def _subject(test: ast.expr) -> ast.expr:
    """What a test for absence is about: `x` of `not x`, `x is None` and `x is not None`, `x[key]` of `key in x`."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        return test.left
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.In, ast.NotIn)):
        return ast.copy_location(ast.Subscript(test.comparators[0], test.left, ast.Load()), test)
    return test


def _spelling(node: ast.expr, spelled: frozenset[str], read: dict[str, str]) -> str:
    if isinstance(node, ast.NamedExpr):
        node = node.value
    if isinstance(node, ast.Name):
        return read.get(node.id, "")
    found = _by_name(node, spelled)
    return found[1] if found is not None else ""


def _is_number(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
