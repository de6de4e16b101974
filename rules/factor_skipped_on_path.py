"""MOE703."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import children, walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._factor_names import FactorNames
from moelint.rules._outputs import Outputs
from moelint.rules._paths import Skip, skips
from moelint.rules._reads import receiver_name
from moelint.rules._records import is_stand_in

_UNFINISHED = ("combine", "defer", "unscaled", "unreduced", "raw")


class FactorSkippedOnPath(Rule):
    """Reports a way through a function on which the factor it was given is not applied.

    ## What it does
    Takes each function that has the routed scaling factor as a parameter and uses it, and reports an early `return`
    of an expert output or of top-k weights before any use, and a branch that makes the output without the factor
    while the branch beside it uses it. An own attribute counts too where the same call is scaled on another way.

    ## Why is this bad?
    One back end, dtype or scoring function then silently runs with a factor of 1, while tests of the other way pass.

    ## Example
    ```python
    def apply(self, x, topk_weights, routed_scaling_factor=None):
        if self.use_cutlass:
            return cutlass_fused_experts(x, topk_weights)
        return fused_experts(x, topk_weights, routed_scaling_factor=routed_scaling_factor)
    ```

    ## Use instead
    ```python
    def apply(self, x, topk_weights, routed_scaling_factor=None):
        if self.use_cutlass:
            out = cutlass_fused_experts(x, topk_weights)
            return out if routed_scaling_factor is None else out * routed_scaling_factor
        return fused_experts(x, topk_weights, routed_scaling_factor=routed_scaling_factor)
    ```

    ## Limits
    Tests of a fold flag, of a helper's answer or of an empty batch may make the difference, and so may a caller that
    asks for an unfinished result. An optional multiply with nothing beside it is not reported.
    """

    code = "MOE703"
    family = "dead-factor"
    tokens = (("@factor", "return"),)
    help = "apply the factor on every way to the output, or refuse the way that cannot"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        spelled = module.profile.factor
        for function in module.functions:
            if not mentions(module, function.node, spelled):
                continue
            given = [parameter.arg for parameter in function.parameters() if parameter.arg in spelled]
            if given:
                yield from _given(module, function, given)
            elif function.cls is not None and function.name != "__init__" and function.outer is None:
                segment = module.source.segment(function.node)
                owned = [name for name in spelled if f"self.{name}".encode() in segment]
                if owned and segment.count(b"return") > 1:
                    yield from _owned(module, function, owned)


def _given(module: Module, function: Function, given: list[str]) -> Iterator[Draft]:
    """Ways that leave out the factor that the function was given."""
    names = FactorNames(module, function.node, given)
    for skip, made in _unscaled(module, function, names):
        where = "makes" if skip.branch else "returns"
        yield Draft(
            made if skip.branch else skip.statement,
            f"This way through `{function.name}` {where} an output without `{given[0]}`, which another way uses. "
            "Scale here as well, or refuse this way when the factor is not 1.",
            function.qualname,
            ((made, "the unscaled output is made here"), (skip.statement, "and returned here")),
        )


def _owned(module: Module, function: Function, owned: list[str]) -> Iterator[Draft]:
    """Outputs of one call that are returned once with the factor that the object holds and once without."""
    names = FactorNames(module, function.node, owned, receiver_name(function.node))
    outputs = Outputs(function)
    for skip, made in _unscaled(module, function, names):
        if not skip.branch and (outputs.is_repeated(made) or _is_scaled(function, names, outputs.bound_to(made))):
            yield Draft(
                skip.statement,
                f"This way through `{function.name}` returns the output of `{ast.unparse(made.func)}` without "
                f"`self.{owned[0]}`, which another way applies to it. Scale here as well.",
                function.qualname,
                ((made, "the unscaled output is made here"),),
            )


def _is_scaled(function: Function, names: FactorNames, outputs: set[str]) -> bool:
    """Whether a statement of the function brings one of `outputs` together with the factor."""
    return any(
        isinstance(node, (ast.Return, ast.Assign, ast.AugAssign, ast.Expr))
        and names.used_in(node)
        and any(isinstance(part, ast.Name) and part.id in outputs for part in walk(node))
        for node in walk(function.node)
    )


def _unscaled(module: Module, function: Function, names: FactorNames) -> Iterator[tuple[Skip, ast.Call]]:
    """The returns that skip the factor, each with the call that makes what it returns."""
    body = function.node.body
    if not any(skips(body, names.used_in, lambda _: False)) or not any(map(names.follow().used_in, body)):
        return
    if is_stand_in(module, function):
        return
    outputs = Outputs(function)
    for skip in skips(body, names.used_in, _Entitled(module, outputs)):
        made = outputs.maker(skip.statement, skip.branch or body)
        if made is not None:
            yield skip, made


class _Entitled:
    """Tests that may make the difference between a scaled and an unscaled way."""

    def __init__(self, module: Module, outputs: Outputs) -> None:
        profile = module.profile
        self.names = profile.flags | profile.runner_flags | profile.answer_names | profile.answer_calls | profile.wish
        self.outputs = outputs

    def __call__(self, test: ast.expr) -> bool:
        seen: set[str] = set()
        stack: list[ast.AST] = [test]
        while stack:
            node = stack.pop()
            if isinstance(node, (ast.Name, ast.Attribute)):
                name = terminal_name(node)
                if name in self.names or any(word in name for word in _UNFINISHED):
                    return True
                if isinstance(node, ast.Name) and name not in seen:
                    seen.add(name)
                    stack.extend(self.outputs.bound.get(name, ()))
            elif isinstance(node, ast.Compare) and any(_is_zero(part) for part in node.comparators):
                return True
            stack.extend(children(node))
        return False


def _is_zero(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value == 0 and node.value is not False
