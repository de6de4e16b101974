"""MOE101."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.model import Severity
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._self_applied import keeps_factor_to_itself
from moelint.rules._sites import Decision, explain, helper_name, is_router_value, scales


class FactorArithmetic(Rule):
    """Reports top-k weights that are scaled by the routed scaling factor outside the central top-k module.

    ## What it does
    Follows the factor from the config through attributes, parameters, locals, tuples and `getattr`, and reports the
    multiplication of router scores or top-k weights by it, unless a flag of that very router orders it.

    ## Why is this bad?
    The central router folds the factor too when the experts ask for it. A second fold makes it the square, and the
    runner or the epilogue may apply it once more.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.scale = config.routed_scaling_factor

        def forward(self, topk_output):
            return topk_output._replace(topk_weights=topk_output.topk_weights * self.scale)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(
                top_k=8,
                routed_scaling_factor=config.routed_scaling_factor,
                apply_routed_scaling_factor_on_output=self.experts.should_fuse_routed_scaling_factor_in_topk,
            )
    ```

    ## Limits
    Values that cross a module boundary under a name which is no spelling of the factor are not followed.
    """

    code = "MOE101"
    family = "factor-flow"
    tokens = (("@factor",),)
    help = "give the factor to the central router and let it fold"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        for event in scales(module):
            if not is_router_value(event.scaled, module):
                continue
            decision = Decision(event.guards, module)
            if decision.equals_not_folded() or decision.obeys_flag():
                continue
            alone = keeps_factor_to_itself(module, event.function)
            severity: Severity = "note" if alone else "error"
            yield Draft(
                event.node,
                "This block scales its top-k weights by the routed scaling factor itself. "
                "The central router and the runner decide about the same factor, so it can act twice or never; "
                f"let the router fold it and ask `{helper_name(module)}`.",
                event.qualname,
                explain(event, decision),
                severity,
                event.statement,
            )
