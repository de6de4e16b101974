"""MOE301."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import Scale
from moelint.linter.model import Severity
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._self_applied import keeps_factor_to_itself
from moelint.rules._sites import Decision, explain, helper_name, is_router_value, scales

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class EpilogueUnguarded(Rule):
    """Reports an epilogue that multiplies by the routed scaling factor and asks nobody.

    ## What it does
    Reports `*=`, `mul_`, `torch.mul`, `x * factor`, `add_(alpha=factor)` and the like on a block's output where no
    test on the way decides whether the factor is still owed.

    ## Why is this bad?
    On every route whose router folds the factor, or whose runner applies it, the routed experts then count with its
    square.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)

        def forward(self, x):
            y = self.experts(x, self.topk(x))
            y *= self.routed_scaling_factor
            return y
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)

        def forward(self, x):
            y = self.experts(x, self.topk(x))
            if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):
                y *= self.routed_scaling_factor
            return y
    ```

    ## Limits
    A block that keeps the factor from its router and experts and multiplies by itself is reported as a note: it is
    right today, and decided locally.
    """

    code = "MOE301"
    family = "epilogue"
    tokens = (("@factor",),)
    help = "multiply only if the central helper says that the factor is not folded"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        for event in scales(module):
            decision = Decision(event.guards, module)
            if is_router_value(event.scaled, module) or not decision.undecided:
                continue
            alone = keeps_factor_to_itself(module, event.function)
            severity: Severity = "note" if alone else "error"
            consequence = (
                "Router and experts are built without it, so it acts once today; the day one of them gets it, it acts "
                "twice."
                if alone
                else "Where the router folded it or the runner applied it, the routed experts count with its square."
            )
            yield Draft(
                event.node,
                f"This epilogue multiplies by the routed scaling factor and asks nobody. {consequence} "
                f"Ask `{helper_name(module)}`.",
                event.qualname,
                explain(event, decision),
                severity,
                event.statement,
                None if alone else partial(_repair, event, module),
            )


def _repair(event: Scale, module: Module) -> Repair | None:
    from moelint.rules._repairs import ask_before

    return ask_before(event, module)
