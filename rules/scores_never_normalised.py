"""MOE804."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from moelint.linter.analysis.module import Function, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._calls import calls_of
from moelint.rules._renorm import is_factor
from moelint.rules._router import router_facts
from moelint.rules._router_values import Step

_INDEPENDENT = frozenset({"sigmoid", "softplus", "sqrtsoftplus", "sqrt_softplus"})
_NORM = re.compile(
    r"renorm|normali[sz]|(^|_)norm_(top|expert|prob|weight|gat|rout|min)|(topk|route|router|gate|prob)_norm"
)


class ScoresNeverNormalised(Rule):
    """Reports sigmoid scores that are chosen and scaled by the factor, and never divided by their sum.

    ## What it does
    Follows scores of a function that treats each expert by itself (sigmoid, softplus) through a top-k of several
    experts to a multiplication by the routed scaling factor. Reports it if neither the function nor its class divides
    by the sum.

    ## Why is this bad?
    The factor of these models is meant for weights that sum to one. Without the division the sum depends on the token
    and on the number of experts, so the routed part is too large by a changing amount; training shows it as exploding
    gradients, inference as lost quality.

    ## Example
    ```python
    def route(logits, k, route_scale):
        weights, chosen = logits.sigmoid().topk(k, -1)
        return weights * route_scale, chosen
    ```

    ## Use instead
    ```python
    def route(logits, k, route_scale):
        weights, chosen = logits.sigmoid().topk(k, -1)
        weights = weights / (weights.sum(-1, keepdim=True) + 1e-20)
        return weights * route_scale, chosen
    ```

    ## Limits
    Softmax scores are left alone: some models scale them without a second normalisation. So are routers of one expert,
    and classes that name a switch for normalising.
    """

    code = "MOE804"
    family = "router"
    severity = "warning"
    tokens = (("@factor", "sigmoid", "top"), ("@factor", "softplus", "top"), (".topk(", "sigmoid(", "expert", "scal"))
    help = "divide the chosen scores by their sum before the factor"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        facts = router_facts(module)
        normalising = {step.function for step in facts.norms}
        seen = set()
        for step in facts.products:
            if step.node in seen or not _unsummed(step) or not is_factor(step.operand, module):
                continue
            seen.add(step.node)
            if _normalised_around(step.function, normalising, module):
                continue
            pick = step.tensor.pick
            assert pick is not None
            yield Draft(
                step.node,
                "These scores come from a sigmoid, are chosen by a top-k and scaled, but nothing divides them by their "
                "sum, so the factor acts on weights of any size. Normalise the chosen scores first.",
                step.function.qualname,
                ((pick.node, "the experts are chosen here"),),
                statement=step.statement,
            )


def _unsummed(step: Step) -> bool:
    tensor = step.tensor
    if tensor.pick is None or tensor.pick.single or tensor.normed:
        return False
    return bool(tensor.scores & _INDEPENDENT) and "softmax" not in tensor.scores


def _normalised_around(function: Function, normalising: set[Function], module: Module) -> bool:
    """Whether the function, its class or a caller normalises, or names a switch for it."""
    around = [function]
    if function.cls is not None:
        around += [method for cls in module.ancestry(function.cls) for method in cls.methods.values()]
    around += [site.function for site in calls_of(module).of(function) if site.function is not None]
    return any(other in normalising or _names_norm(other) for other in around)


def _names_norm(function: Function) -> bool:
    """Whether a switch for normalising is read or handed on; storing it under its own name is neither."""
    stored = {
        part
        for node in walk(function.node)
        if isinstance(node, ast.Assign) and all(_NORM.search(terminal_name(target).lower()) for target in node.targets)
        for part in walk(node)
    }
    return any(
        node not in stored and _NORM.search(name.lower()) for node in walk(function.node) if (name := _read_name(node))
    )


def _read_name(node: ast.AST) -> str:
    if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
        return terminal_name(node)
    return node.arg or "" if isinstance(node, ast.keyword) else ""
