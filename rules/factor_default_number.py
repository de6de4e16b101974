"""MOE510."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.mentions import mentions, walk_mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._records import is_configuration


class FactorDefaultNumber(Rule):
    """Reports a number other than 1 as the default of the routed scaling factor outside configurations.

    ## What it does
    Looks at the parameters of functions and constructors with a spelling of the factor and reports a default that is
    a number other than 0 and 1, also where the body puts the number in place of None.

    ## Why is this bad?
    The number belongs to one model. A caller that forgets its own factor gets that model's factor without an error,
    in the weights of its experts or in the weight of a fused shared slot.

    ## Example
    ```python
    def select_experts(logits, top_k, routed_scaling_factor: float = 2.5):
        return logits.topk(top_k, -1).values * routed_scaling_factor
    ```

    ## Use instead
    ```python
    def select_experts(logits, top_k, *, routed_scaling_factor: float):
        return logits.topk(top_k, -1).values * routed_scaling_factor
    ```

    ## Limits
    Configurations state the number of their model, so classes and builders of configurations are left alone.
    """

    code = "MOE510"
    family = "literals"
    tokens = (("@factor", "def "),)
    help = "make the factor a required argument, or let None and 1 mean that there is none"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for function in module.functions:
            if not mentions(module, function.node, module.profile.factor):
                continue
            if not any(parameter.arg in module.profile.factor for parameter in function.parameters()):
                continue
            found = [*_defaults(module, function), *_replacements(module, function)]
            if found and _configures(function):
                continue
            for node, name, value in found:
                yield Draft(
                    node,
                    f"`{function.name}` falls back to {ast.unparse(value)} for `{name}`, which is the factor of one "
                    "model: a caller that passes none gets it silently. Require the argument or default to None.",
                    function.qualname,
                )


def _configures(function: Function) -> bool:
    """Whether a function states or builds a configuration."""
    if function.cls is not None and is_configuration(function.cls):
        return True
    return "config" in function.name.lower().split("_") or any(
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Call)
        and terminal_name(node.value.func).endswith(("Config", "Configuration"))
        for node in walk(function.node)
    )


def _defaults(module: Module, function: Function) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    for parameter, default in function.defaults():
        if parameter.arg in module.profile.factor and _is_some_factor(module, default):
            yield default, parameter.arg, default


def _replacements(module: Module, function: Function) -> Iterator[tuple[ast.AST, str, ast.expr]]:
    """Numbers that the body puts in place of a missing argument."""
    names = module.profile.factor & {parameter.arg for parameter in function.parameters()}
    for node in walk_mentions(module, function.node, names):
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or):
            name, value = terminal_name(node.values[0]), node.values[-1]
        elif isinstance(node, ast.IfExp):
            name, value = _absent(node.test), node.body
            if not _is_some_factor(module, value):
                value = node.orelse
        elif isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Assign):
            name, value = _absent(node.test), node.body[0].value
            if terminal_name(node.body[0].targets[0]) != name:
                continue
        else:
            continue
        if name in names and _is_some_factor(module, value):
            yield value, name, value


def _absent(test: ast.expr) -> str:
    """The name that a test asks for: `x` of `x is None`, `x is not None`, `not x` and `x`."""
    if isinstance(test, ast.Compare) and isinstance(test.ops[0], (ast.Is, ast.IsNot)):
        test = test.left
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test = test.operand
    return test.id if isinstance(test, ast.Name) else ""


def _is_some_factor(module: Module, node: ast.expr) -> bool:
    """Whether an expression is a number other than 0 and 1, also by the name of a constant of the module."""
    if isinstance(node, ast.Name):
        node = module.constants.get(node.id, node)
    if isinstance(node, ast.Call) and terminal_name(node.func) == "float" and node.args:
        node = node.args[0]
    return isinstance(node, ast.Constant) and type(node.value) in (int, float) and node.value not in (0, 1)
