"""MOE102."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import Compared
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain, helper_name, only_validates


class FactorCompared(Rule):
    """Reports decisions taken from the value of the routed scaling factor.

    ## What it does
    Reports comparisons of the factor with anything but its neutral values (`None`, 0, 1), unless the statement only
    refuses bad values.

    ## Why is this bad?
    The value says how strongly the routed experts count, not who applies it. A branch on it is a private answer to the
    question that the central helper owns.

    ## Example
    ```python
    # profile: sglang
    def merge(routed, shared, config):
        if config.routed_scaling_factor > 1.0:
            return routed + shared
        return routed
    ```

    ## Use instead
    ```python
    # profile: sglang
    def merge(routed, shared, config, topk):
        if is_routed_scaling_factor_fused_in_topk(topk.topk_config):
            return routed + shared
        return routed
    ```

    ## Limits
    Tests of the neutral values are no decision and stay silent, also where they are wrong for another reason.
    """

    code = "MOE102"
    family = "factor-flow"
    tokens = (("@factor",),)
    help = "ask the central helper instead of looking at the value"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if isinstance(event, Compared) and not only_validates(event):
                yield Draft(
                    event.node,
                    "This comparison decides from the value of the routed scaling factor. "
                    f"The value does not say who applies it; ask `{helper_name(module)}`.",
                    event.qualname,
                    explain(event),
                    statement=event.statement,
                )
