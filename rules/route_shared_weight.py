"""MOE613."""

from __future__ import annotations

from moelint.linter.rule import RouteRule


class RouteSharedWeight(RouteRule):
    """Reports routes on which the separate shared expert is scaled by the factor or added more than once.

    ## What it does
    Takes the cells of the route table in which the shared expert ends with a power of the routed scaling factor, or is
    counted twice, and reports the last line that multiplies it, or the return.

    ## Why is this bad?
    Only routed experts are scaled. A multiply that comes after the addition scales the shared expert as well.

    ## Example
    ```python
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold)
            self.folded = is_folded(self.topk.topk_config)
            self.shared_experts = MLP(reduce_results=False)

        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            shared = self.shared_experts(hidden_states)
            out = out + (shared if get_a2a().is_none() else all_reduce(shared))
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
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold)
            self.folded = is_folded(self.topk.topk_config)
            self.shared_experts = MLP(reduce_results=False)

        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            shared = self.shared_experts(hidden_states)
            return out + (shared if get_a2a().is_none() else all_reduce(shared))
    ```

    ## Limits
    Runs with `--routes` alone, for frameworks whose profile knows routes (docs/routes.md). What the analysis cannot
    follow is counted as unknown and never reported here.
    """

    code = "MOE613"
    help = "scale the routed part before the shared expert is added"
    part = "shared"
