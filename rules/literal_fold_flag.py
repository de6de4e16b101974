"""MOE501."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import FlagSet
from moelint.linter.analysis.guards import WISH
from moelint.linter.diagram import TRUE
from moelint.linter.model import Severity
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._self_applied import keeps_factor_to_itself
from moelint.rules._sites import Decision, explain, guards_of

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class LiteralFoldFlag(Rule):
    """Reports a fold flag that is a literal where the experts know the answer.

    ## What it does
    Reports `apply_..._on_output=True` (or False, None) given to a router, and the same for a runner's apply flag.

    ## Why is this bad?
    Whether the router must fold depends on the runner and the quantisation method that the experts chose. A literal is
    right for one of them.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.topk = TopK(
                top_k=8,
                routed_scaling_factor=config.routed_scaling_factor,
                apply_routed_scaling_factor_on_output=True,
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
    A literal False in a block that keeps the factor from router and experts is a note.
    """

    code = "MOE501"
    family = "literals"
    tokens = (("@flags",), ("@runner_flags",))
    help = "hand on the experts' answer"
    needs_helpers = True
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if not isinstance(event, FlagSet):
                continue
            literal = guards_of(module).literal(event.value, event.function)
            if literal is None or _under_wish(event, module):
                continue
            alone = literal == "False" and keeps_factor_to_itself(module, event.function)
            severity: Severity = "note" if alone else "error"
            yield Draft(
                event.value,
                f"`{event.name}` is the literal {literal} here, whatever the experts chose. With another runner or "
                "quantisation method the factor acts twice or never; hand on the experts' answer.",
                event.qualname,
                explain(event),
                severity,
                event.statement,
                partial(_repair, event, module),
            )


def _under_wish(event: FlagSet, module: Module) -> bool:
    """`if experts.wish: flag = True` hands the answer on in another form."""
    guards = guards_of(module)
    decision = Decision(event.guards, module)
    return decision.node != TRUE and guards.diagrams.implies(decision.node, guards.diagrams.literal(WISH))


def _repair(event: FlagSet, module: Module) -> Repair | None:
    from moelint.rules._wish import wish_for_literal

    return wish_for_literal(event, module)
