"""MOE702."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, Module
from moelint.linter.analysis.walk import walk
from moelint.linter.model import Severity
from moelint.linter.rule import Draft, Rule
from moelint.rules._factor_names import FactorNames
from moelint.rules._records import is_stand_in


class FactorParameterIgnored(Rule):
    """Reports a function that accepts the routed scaling factor and never uses it.

    ## What it does
    Looks at every parameter with a spelling of the factor and reports it if the body uses it for nothing: no
    arithmetic, no argument of a call, no store, no test that refuses it. Neutral defaults and messages are no use.

    ## Why is this bad?
    The caller was told that this function applies the factor and does not multiply again. The routed part then has
    no factor, only on the routes that lead here, and without any error.

    ## Example
    ```python
    def apply(self, x, topk_weights, topk_ids, routed_scaling_factor=None):
        return self.kernel(x, topk_weights, topk_ids)
    ```

    ## Use instead
    ```python
    def apply(self, x, topk_weights, topk_ids, routed_scaling_factor=None):
        out = self.kernel(x, topk_weights, topk_ids)
        if routed_scaling_factor is not None:
            out *= routed_scaling_factor
        return out
    ```

    ## Limits
    Silent for abstract methods, overloads, protocols, fake kernels and bodies that compute nothing, for functions
    that refuse the order to fold, and for overrides that `del` what their base class imposes.
    """

    code = "MOE702"
    family = "dead-factor"
    tokens = (("@factor", "def "),)
    help = "apply the factor, refuse it with an error, or take the parameter away"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for function in module.functions:
            if not mentions(module, function.node, module.profile.factor):
                continue
            for parameter in function.parameters():
                if parameter.arg not in module.profile.factor:
                    continue
                node = function.node
                names = FactorNames(module, node, (parameter.arg,))
                if any(map(names.used_in, node.body)) or any(map(names.follow().used_in, node.body)):
                    continue
                if (
                    _reads_locals(function)
                    or _is_dropped_override(module, function, parameter.arg)
                    or _refuses(module, function)
                    or is_stand_in(module, function)
                ):
                    continue
                imposed: Severity = "warning" if function.cls is not None and function.cls.node.bases else "error"
                yield Draft(
                    parameter,
                    f"`{function.name}` accepts `{parameter.arg}` and never uses it, so a caller that leaves the "
                    "scaling to it gets none. Apply the factor, refuse a value other than 1, or drop the parameter.",
                    function.qualname,
                    severity="error" if function.name == "__init__" else imposed,
                )


def _reads_locals(function: Function) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("locals", "vars")
        for node in walk(function.node)
    )


def _is_dropped_override(module: Module, function: Function, parameter: str) -> bool:
    """Whether an override says with `del` that it does without a parameter of its base's signature."""
    if function.cls is None or not any(
        isinstance(node, ast.Name) and node.id == parameter and isinstance(node.ctx, ast.Del)
        for node in walk(function.node)
    ):
        return False
    ancestors = [cls for cls in module.ancestry(function.cls) if cls is not function.cls]
    bases = [cls.methods[function.name] for cls in ancestors if function.name in cls.methods]
    foreign = any(ast.unparse(base) not in module.classes for cls in ancestors for base in cls.node.bases) or any(
        ast.unparse(base) not in module.classes for base in function.cls.node.bases
    )
    return any(parameter == known.arg for base in bases for known in base.parameters()) or (foreign and not bases)


def _refuses(module: Module, function: Function) -> bool:
    """Whether the function raises or asserts when it is ordered to fold the factor: it scales nothing, and says so."""
    orders = module.profile.flags | module.profile.runner_flags | module.profile.answer_names
    for node in walk(function.node):
        if isinstance(node, ast.Assert) or (isinstance(node, ast.If) and isinstance(node.body[0], ast.Raise)):
            for part in walk(node.test):
                if isinstance(part, ast.Name) and part.id in orders:
                    return True
    return False
