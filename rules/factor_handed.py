"""MOE103."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import Decision, explain, handed_over, helper_name, only_validates, shares_out


class FactorHanded(Rule):
    """Reports the routed scaling factor handed to a call that the profile does not sanction.

    ## What it does
    Reports the factor as an argument of a kernel or function, positional or under a name that is no spelling of the
    factor. Router, experts and runner constructors and the central helpers may carry it. Code of this module may too,
    and is followed: what it hands on is reported where the factor enters it.

    ## Why is this bad?
    The callee cannot know whether routing folded the factor already, and the reader cannot see that a scale happens
    here.

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
        for event in handed_over(module):
            if event.followed or event.keyword in module.profile.factor or only_validates(event):
                continue
            decision = Decision(event.choice, module)
            if decision.equals_not_folded() or (decision.kinds and not decision.asked):
                continue
            if Decision(event.guards, module).equals_not_folded() or shares_out(event, module):
                continue
            entry = next((step.node for step in reversed(event.trace) if step.crossing), event.node)
            yield Draft(
                entry,
                f"The routed scaling factor goes into `{event.callee}` without the helper's answer. "
                f"If routing folded it already, it acts twice; ask `{helper_name(module)}` first.",
                event.qualname,
                ((event.node, f"`{event.callee}` gets it here"), *explain(event, decision)),
                statement=event.statement,
            )
