"""MOE103."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import Decision, explain, handed_over, helper_name, only_validates


class FactorHanded(Rule):
    """Reports the routed scaling factor handed to a call that the profile does not sanction.

    ## What it does
    Reports the factor as an argument of a kernel or function, positional or under a name that is no spelling of the
    factor. Router, experts and runner constructors and the central helpers may carry it, and so may code of this module,
    whose own uses are checked.

    ## Why is this bad?
    The callee cannot know whether routing folded the factor already, and the reader cannot see that a scale happens here.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def forward_cpu(self, x):
            return torch.ops.kernels.shared_expert(x, self.experts(x), self.routed_scaling_factor)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def forward_cpu(self, x):
            scale = 1.0 if is_routed_scaling_factor_fused_in_topk(self.topk.topk_config) else self.routed_scaling_factor
            return torch.ops.kernels.shared_expert(x, self.experts(x), scale)
    ```

    ## Limits
    An argument that keeps the factor's name (`routed_scaling_factor=`) is taken for plumbing.
    """

    code = "MOE103"
    family = "factor-flow"
    tokens = (("@factor",),)
    help = "ask the helper and hand over 1.0 or the factor accordingly"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        local = {function.name for function in module.functions} | set(module.classes)
        for event in handed_over(module):
            if event.keyword in module.profile.factor or only_validates(event):
                continue
            if any(step.crossing for step in event.trace) or (event.callee in local and event.keyword is None):
                continue
            decision = Decision(event.choice, module)
            if decision.equals_not_folded() or (decision.kinds and not decision.asked):
                continue
            if Decision(event.guards, module).spares_folded():
                continue
            yield Draft(
                event.node,
                f"The routed scaling factor goes into `{event.callee}` without the helper's answer. "
                f"If routing folded it already, it acts twice; ask `{helper_name(module)}` first.",
                event.qualname,
                explain(event, decision),
                statement=event.statement,
            )
