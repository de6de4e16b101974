"""MOE611."""

from __future__ import annotations

from moelint.linter.rule import RouteRule


class RouteRoutedExponent(RouteRule):
    """Reports routes on which the routed part carries the factor twice, never, or a wrong number of times.

    ## What it does
    Takes the cells of the route table whose routed part ends with another power of the routed scaling factor than the
    policy wants: 1 for a block whose code names the factor, else 0. A factor too many is reported at the last line
    that multiplies, preferably in the block's own file; a missing one at the return where it is missing. The message
    lists the configurations, the related places are the steps of one of them.

    ## Why is this bad?
    The output of every token is off by the factor, often 2.5, with no error and no NaN. Who applies it depends on the
    quantisation method, the runner, the dispatch format and the platform, so that a test in one configuration says
    nothing about the next.

    ## Example
    ```python
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold)
            self.folded = is_folded(self.topk.topk_config)

        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            if not self.folded:
                out *= self.routed_scaling_factor  # on CUDA without all-to-all the runner has done it
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

        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            return out
    ```

    ## Limits
    Runs with `--routes` alone, for frameworks whose profile knows routes (docs/routes.md). What the analysis cannot
    follow is counted as unknown and never reported here.
    """

    code = "MOE611"
    help = "let exactly one of router, runner and epilogue apply the factor in each configuration"
    part = "routed"
