"""MOE503."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import FlagSet, Handed
from moelint.linter.rule import Draft, Module, Rule, terminal_name
from moelint.rules._sites import explain

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class FoldFlagMissing(Rule):
    """Reports a router that gets the factor but is never told whether to fold it.

    ## What it does
    Reports the construction of a router with the routed scaling factor and without its fold flag, in a class that does
    not set the flag afterwards either.

    ## Why is this bad?
    The flag's default is "do not fold". With a runner or quantisation method that relies on the fold, nobody applies
    the factor.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)
            self.experts = FusedMoE(routed_scaling_factor=config.routed_scaling_factor)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.experts = FusedMoE(routed_scaling_factor=config.routed_scaling_factor)
            self.topk = TopK(
                top_k=8,
                routed_scaling_factor=config.routed_scaling_factor,
                apply_routed_scaling_factor_on_output=self.experts.should_fuse_routed_scaling_factor_in_topk,
            )
    ```

    ## Limits
    A class that sets the flag in any of its methods, or builds its router from `**` arguments, stays silent.
    """

    code = "MOE503"
    family = "literals"
    tokens = (("@routers", "@factor"),)
    help = "give the router the experts' wish as its fold flag"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        flagged = {
            event.function.cls.qualname
            for event in module.flow.events
            if isinstance(event, FlagSet) and event.call is None and event.function and event.function.cls
        }
        for event in module.flow.events:
            if not isinstance(event, Handed) or event.callee not in module.profile.routers:
                continue
            names = {keyword.arg for keyword in event.call.keywords}
            cls = event.function.cls if event.function else None
            if cls is None or None in names or names & module.profile.flags:
                continue
            family = {ancestor.qualname for ancestor in module.ancestry(cls)}
            if family & flagged or not _has_experts_with_factor(family, module):
                continue
            yield Draft(
                event.call.func,
                f'`{event.callee}` gets the routed scaling factor and no fold flag, which defaults to "do not fold". '
                "With experts that rely on the fold nobody applies the factor; hand on the experts' wish.",
                event.qualname,
                explain(event),
                statement=event.statement,
                repair=partial(_repair, event, module),
            )


def _has_experts_with_factor(family: set[str], module: Module) -> bool:
    """The class or a base hands the factor to its experts, so who applies it is an open question."""
    return any(
        isinstance(event, Handed)
        and event.function is not None
        and event.function.cls is not None
        and event.function.cls.qualname in family
        and event.callee in module.profile.constructors - module.profile.routers
        and _builds_experts(event.statement, module)
        for event in module.flow.events
    )


def _builds_experts(statement: ast.stmt, module: Module) -> bool:
    """`self.experts = ...`: a record that carries the factor elsewhere cannot rely on a fold."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return any(terminal_name(target) in module.profile.experts for target in targets)


def _repair(event: Handed, module: Module) -> Repair | None:
    from moelint.rules._wish import wish_for_missing

    return wish_for_missing(event, module)
