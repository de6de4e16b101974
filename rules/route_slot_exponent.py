"""MOE612."""

from __future__ import annotations

from moelint.linter.rule import RouteRule


class RouteSlotExponent(RouteRule):
    """Reports routes on which a fused shared expert's slot does not come out with the weight 1.

    ## What it does
    Takes the cells of the route table whose fused shared slot ends with a power of the routed scaling factor although
    the routed part is right, and reports the line that sets the slot's weight, or the return if none does.

    ## Why is this bad?
    The shared expert counts 0.4 or 2.5 times in every layer. A slot of 1/factor is right only where a later multiply of
    the whole output really happens, and a slot of 1 only where none does.

    ## Example
    ```python
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold, slots=config.slots)
            self.folded = is_folded(self.topk.topk_config)
            self.slots = config.slots

        def forward(self, hidden_states):
            output = self.topk(hidden_states, hidden_states)
            output.topk_weights[:, -self.slots :] = 1.0
            out = self.experts(hidden_states, output)
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            return out
    ```

    ## Use instead
    ```python
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold, slots=config.slots)
            self.folded = is_folded(self.topk.topk_config)
            self.slots = config.slots

        def forward(self, hidden_states):
            output = self.topk(hidden_states, hidden_states)
            out = self.experts(hidden_states, output)
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            return out
    ```

    ## Limits
    Runs with `--routes` alone, for frameworks whose profile knows routes (docs/routes.md). What the analysis cannot
    follow is counted as unknown and never reported here.
    Where the routed part is wrong too, the cell is reported as route-routed-exponent, which is the cause.
    """

    code = "MOE612"
    help = "take the slot's weight from the helper that knows whether the factor is folded"
    part = "slot"
    yields_to = "routed"
