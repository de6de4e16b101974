"""MOE614."""

from __future__ import annotations

from moelint.linter.rule import RouteRule


class RouteReduction(RouteRule):
    """Reports routes that add a partial to a complete output, or sum over the group once too often.

    ## What it does
    Takes the cells of the route table about sums: unlike states that are added, a sum of what is complete already, and
    a sum over rows of different tokens. Reports the sum, or the addition of unlike states.

    ## Why is this bad?
    A complete part that is summed again counts once per rank, and a partial one that is never summed is a fraction.
    Both depend on the all-to-all back end and look right on one device.

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
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            out = out + self.shared_experts(hidden_states)  # partial, while an all-to-all combine is complete
            return all_reduce(out) if get_a2a().is_none() else out
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
            if get_a2a().is_none():
                return all_reduce(out + shared)
            return out + all_reduce(shared)
    ```

    ## Limits
    Runs with `--routes` alone, for frameworks whose profile knows routes (docs/routes.md). What the analysis cannot
    follow is counted as unknown and never reported here.
    """

    code = "MOE614"
    help = "add like to like, and sum each part once"
    part = "reduction"
