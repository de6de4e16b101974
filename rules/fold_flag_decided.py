"""MOE403."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.analysis.events import FlagSet
from moelint.linter.analysis.guards import ANSWER, FLAG, OTHER, WISH
from moelint.linter.diagram import FALSE, TRUE
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain, guards_of, helper_name


class FoldFlagDecided(Rule):
    """Reports a fold flag whose value is decided by a platform, a back end or a quantisation type.

    ## What it does
    Reduces the value given to the router's fold flag to a boolean function and reports it if
    it is neither the experts' wish, nor the flag handed on, nor the helper's answer. On platforms where routers fold
    whatever the flag says, a value that is also true there stays silent.

    ## Why is this bad?
    The flag then says something else than what the experts and the epilogue assume: the factor acts twice on one
    platform and never on another.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(
                top_k=8,
                routed_scaling_factor=config.routed_scaling_factor,
                apply_routed_scaling_factor_on_output=_is_npu,
            )
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(
                top_k=8,
                routed_scaling_factor=config.routed_scaling_factor,
                apply_routed_scaling_factor_on_output=self.experts.should_fuse_routed_scaling_factor_in_topk,
            )
    ```

    ## Limits
    A value that only other names decide (a parameter, a config field) is taken for a flag handed on.
    """

    code = "MOE403"
    family = "guards"
    tokens = (("@flags",),)
    help = "hand on the experts' wish to the router, and the router's answer to the runner"
    needs_helpers = True
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if not isinstance(event, FlagSet) or event.name not in module.profile.flags:
                continue
            problem = self._problem(event, module)
            if problem is not None:
                yield Draft(
                    event.node,
                    f"`{event.name}` is decided here by {problem}. Router, runner and epilogue then disagree about who "
                    f"applies the factor; hand on the experts' wish, and ask `{helper_name(module)}` afterwards.",
                    event.qualname,
                    ((event.value, "this value"), *explain(event)),
                    statement=event.statement,
                )

    def _problem(self, event: FlagSet, module: Module) -> str | None:
        guards = guards_of(module)
        diagrams = guards.diagrams
        node = guards.formula(event.value, event.function)
        if node in (TRUE, FALSE):
            return None
        kinds = guards.kinds(node)
        deciding = kinds - {WISH, FLAG, ANSWER, OTHER}
        if not deciding:
            return None
        anyway = diagrams.literal("platform", module.profile.folds_anyway)
        elsewhere = diagrams.restrict(node, {"platform": None})
        tolerated = diagrams.disj(elsewhere, anyway)
        if deciding == {"platform"} and node == tolerated and guards.kinds(elsewhere) & {WISH, FLAG, ANSWER}:
            return None
        words = {"platform": "a platform flag", "quant": "the type of a quantisation method"}
        return " and ".join(sorted(words.get(kind, "the choice of a back end") for kind in deciding))
