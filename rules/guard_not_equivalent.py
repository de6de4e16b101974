"""MOE402."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import Event, Guard, Handed
from moelint.linter.analysis.guards import ANSWER
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import Decision, explain, handed_over, helper_name, scales, shares_out


class GuardNotEquivalent(Rule):
    """Reports a guard that mentions the helper's answer and is not equivalent to it.

    ## What it does
    Compares the guard of a scale with "not folded" as boolean functions over exclusive platforms, quantisation types
    and the helper's answer. Back end tests that only choose the route are left out. A test that decides no scale may
    narrow the guard (`enabled and not folded`), but not weaken it (`enabled or not folded`). Branches of one function
    may share the multiply out.

    ## Why is this bad?
    A mention is not a discharge: `not _is_cuda and not (_use_aiter and folded)` names the answer and still multiplies
    twice on HIP without aiter.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def forward(self, x):
            folded = is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)
            y = self.experts(x, self.topk(x))
            if not _is_cuda and not (_use_aiter and folded):
                y *= self.routed_scaling_factor
            return y
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def forward(self, x):
            folded = is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)
            y = self.experts(x, self.topk(x))
            if not folded:
                y *= self.routed_scaling_factor
            return y
    ```

    ## Limits
    A route whose runner applies the factor needs a platform test besides the answer until the runner can be asked;
    such a guard is reported, and the route analysis says which configurations are wrong.
    """

    code = "MOE402"
    family = "guards"
    tokens = (("@factor",),)
    help = "make the guard exactly the central helper's answer"
    needs_helpers = True
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        sites: list[tuple[Event, tuple[Guard, ...]]] = [(event, event.guards) for event in scales(module)]
        sites += [(event, event.choice) for event in handed_over(module) if event.choice]
        for event, guards in sites:
            decision = Decision(guards, module)
            if not decision.asked or decision.equals_not_folded() or decision.undecided:
                continue
            if isinstance(event, Handed) and event.keyword in module.profile.factor and decision.kinds == {ANSWER}:
                continue
            if shares_out(event, module):
                continue
            yield Draft(
                event.node,
                "This guard names the helper's answer but is not equivalent to it: it also depends on "
                f"{decision.deciders() or 'the answer with the wrong sign'}. "
                f"Multiply exactly when `{helper_name(module)}` says no.",
                event.qualname,
                explain(event, decision),
                statement=event.statement,
            )
