"""MOE202."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import Scale, SlotWrite
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain, weight_helper_name


class FactorInverted(Rule):
    """Reports the inverse of the routed scaling factor outside the central top-k module.

    ## What it does
    Reports `1 / factor` wherever it is not directly the value of a shared slot (which `slot-weight-decided` reports).

    ## Why is this bad?
    The only use of the inverse is to cancel a later multiply. Whether that multiply happens is the central helper's
    knowledge; a private inverse leaves the shared expert at 0.4x on every route where it does not.

    ## Example
    ```python
    # profile: sglang
    def balance(config):
        compensation = 1.0 / config.routed_scaling_factor
        return compensation
    ```

    ## Use instead
    ```python
    # profile: sglang
    def balance(config):
        return fused_shared_expert_weight(
            routed_scaling_factor=config.routed_scaling_factor,
            fused_in_topk=is_routed_scaling_factor_fused_in_topk(config),
        )
    ```

    ## Limits
    Quotients of a tensor by the factor are not reported: fp16 blocks use them with a compensation elsewhere.
    """

    code = "MOE202"
    family = "shared-weight"
    tokens = (("@factor",),)
    help = "take the compensation from the central helper"
    needs_helpers = True
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        slots = {event.statement for event in module.flow.events if isinstance(event, SlotWrite)}
        for event in module.flow.events:
            if isinstance(event, Scale) and event.power < 0 and event.scaled is None and event.statement not in slots:
                yield Draft(
                    event.node,
                    "This inverse of the routed scaling factor cancels a later multiply that may not happen. "
                    f"Take the compensation from `{weight_helper_name(module)}`.",
                    event.qualname,
                    explain(event),
                    statement=event.statement,
                )
