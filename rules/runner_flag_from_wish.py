"""MOE550."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import FlagSet
from moelint.linter.analysis.guards import ANSWER, QUANT, WISH
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain, guards_of, helper_name

_DECIDING = frozenset({WISH, ANSWER, QUANT, "platform"})


class RunnerFlagFromWish(Rule):
    """Reports a runner that is told to apply the factor because the experts do not wish the router to fold it.

    ## What it does
    Reports a runner's apply flag that depends on the experts' wish, a platform or the type of a quantisation method, or
    that is the router's answer with the wrong sign.

    ## Why is this bad?
    The wish is not the act: a router that folds whatever it is told, or an epilogue that multiplies on the same route,
    makes it two multiplies.

    ## Example
    ```python
    # profile: sglang
    class Method:
        def apply(self, layer, x):
            return QuantInfo(apply_routed_scaling_factor=not layer.should_fuse_routed_scaling_factor_in_topk)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Method:
        def apply(self, layer, x, topk_config):
            return QuantInfo(apply_routed_scaling_factor=not is_routed_scaling_factor_fused_in_topk(topk_config))
    ```

    ## Limits
    Whether the epilogue of some route multiplies as well is for the route analysis to say.
    """

    code = "MOE550"
    family = "runner"
    tokens = (("@runner_flags",),)
    help = "decide by what the router did, not by what the experts wished"
    needs_helpers = True
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        guards = guards_of(module)
        for event in module.flow.events:
            if not isinstance(event, FlagSet) or event.name not in module.profile.runner_flags:
                continue
            node, _ = guards.decisive(guards.formula(event.value, event.function))
            kinds = guards.kinds(node)
            if kinds & _DECIDING and node != guards.diagrams.neg(guards.answer()):
                by = "the experts' wish" if WISH in kinds else "something else than the router's answer"
                yield Draft(
                    event.node,
                    f"`{event.name}` tells the runner to apply the factor by {by}. A router that folds all "
                    f"the same, or an epilogue of this route, then makes it two; ask `{helper_name(module)}`.",
                    event.qualname,
                    explain(event),
                    statement=event.statement,
                )
