"""MOE401."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import Event, Guard
from moelint.linter.analysis.guards import QUANT, WISH
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import Decision, decided_at, explain, handed_over, helper_name, is_router_value, scales

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class GuardNotAsking(Rule):
    """Reports a scale whose guard is answered by something else than the central helper.

    ## What it does
    Reduces everything that guards a multiplication by the factor (tests, early returns, local names, attributes set in
    `__init__`, properties, `factor if test else 1.0`) to a boolean function, and reports it if it depends on a platform
    flag, a back end, the type of a quantisation method, the experts' wish or the bare fold flag, and nowhere on the
    helper's answer.

    ## Why is this bad?
    None of these says whether this router folded the factor. `on aiter` is not `folded`: some of its routers do not
    fold; and the experts' wish is not the router's act.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def forward(self, x):
            y = self.experts(x, self.topk(x))
            if not self.experts.should_fuse_routed_scaling_factor_in_topk:
                y *= self.routed_scaling_factor
            return y
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def forward(self, x):
            y = self.experts(x, self.topk(x))
            if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):
                y *= self.routed_scaling_factor
            return y
    ```

    ## Limits
    Guards of callers are seen only in the same module. In modules of quantisation methods only the wish and type tests
    are reported, as platform and back end choose the kernel there.
    """

    code = "MOE401"
    family = "guards"
    tokens = (("@factor",),)
    help = "replace the test by the central helper's answer"
    needs_helpers = True
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event, guards, what in _sites(module):
            decision = Decision(guards, module)
            if decision.undecided or decision.asked or decision.equals_not_folded():
                continue
            if module.role == "method" and not decision.kinds & {WISH, QUANT}:
                continue
            if is_router_value(getattr(event, "scaled", None), module):
                continue
            yield Draft(
                decided_at(event, guards),
                f"Whether {what} is decided here by {decision.deciders()}, which does not say whether "
                f"routing folded the factor. Ask `{helper_name(module)}`.",
                event.qualname,
                explain(event, decision),
                statement=event.statement,
                repair=partial(_repair, guards, module),
            )


def _sites(module: Module) -> Iterable[tuple[Event, tuple[Guard, ...], str]]:
    for scale in scales(module):
        yield scale, scale.guards, "the routed scaling factor is multiplied in"
    for handed in handed_over(module):
        if handed.choice:
            yield handed, handed.choice, f"`{handed.callee}` gets the routed scaling factor"


def _repair(guards: tuple[Guard, ...], module: Module) -> Repair | None:
    from moelint.rules._repairs import ask_in_guards

    return ask_in_guards(guards, module)
