"""MOE404."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import AnswerGiven
from moelint.linter.analysis.guards import ANSWER, QUANT, WISH
from moelint.linter.diagram import FALSE, TRUE
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain, guards_of, helper_name

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class AnswerDecided(Rule):
    """Reports something that is stored or handed on as the central helper's answer and is not.

    ## What it does
    Reduces what is given as the answer (`self.fused_in_topk = ...`, `helper(fused_in_topk=...)`) to a boolean function,
    and reports it if it is a literal, depends on a platform, a back end, the type of a quantisation method or the
    experts' wish, or is the answer with the wrong sign.

    ## Why is this bad?
    Whoever reads the answer trusts its name: the epilogue multiplies by it, and a shared slot compensates by it. A
    made-up answer makes both wrong without a line that looks wrong.

    ## Example
    ```python
    # profile: sglang
    def slot(topk_weights, config):
        topk_weights[:, -1] = fused_shared_expert_weight(
            routed_scaling_factor=config.routed_scaling_factor,
            fused_in_topk=_use_aiter,
        )
        return topk_weights
    ```

    ## Use instead
    ```python
    # profile: sglang
    def slot(topk_weights, config):
        topk_weights[:, -1] = fused_shared_expert_weight(
            routed_scaling_factor=config.routed_scaling_factor,
            fused_in_topk=is_routed_scaling_factor_fused_in_topk(config),
        )
        return topk_weights
    ```

    ## Limits
    A router's own flag counts as the answer for that router. What only other names decide is taken for handed on.
    """

    code = "MOE404"
    family = "guards"
    tokens = (("@answer_names",),)
    help = "give what the central helper answers"
    needs_helpers = True
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if isinstance(event, AnswerGiven):
                problem = _problem(event, module)
                if problem is not None:
                    yield Draft(
                        event.node,
                        f"`{event.name}` is decided here by {problem}, and whoever reads it takes it for the answer of "
                        f"`{helper_name(module)}`. Give that answer.",
                        event.qualname,
                        ((event.value, "this value"), *explain(event)),
                        statement=event.statement,
                        repair=partial(_repair, event, module),
                    )


def _problem(event: AnswerGiven, module: Module) -> str | None:
    guards = guards_of(module)
    node = guards.formula(event.value, event.function)
    if node in (TRUE, FALSE):
        literal = guards.literal(event.value, event.function)
        return "a literal" if literal is not None and not _is_default(event, module) else None
    _, narrowed = guards.decisive(guards.diagrams.neg(node))
    node, weakened = guards.decisive(node)
    if guards.says_folded(node):
        return "more than the answer" if narrowed or weakened else None
    kinds = guards.kinds(node)
    words = {WISH: "the experts' wish to fold", "platform": "a platform flag", QUANT: "the quantisation method's type"}
    named = [words[kind] for kind in sorted(kinds) if kind in words]
    groups = {*module.profile.backend_sources.values(), *module.profile.backend_predicates.values()}
    if kinds & groups:
        named.append("the choice of a back end")
    if not named and ANSWER in kinds:
        named.append("the answer with the wrong sign")
    return " and ".join(named) or None


def _is_default(event: AnswerGiven, module: Module) -> bool:
    """The class asks elsewhere and stores the answer in the same attribute."""
    if event.callee or event.function is None or event.function.cls is None:
        return False
    guards = guards_of(module)
    return any(
        guards.says_folded(guards.formula(value, cls.methods.get("__init__")))
        for cls in module.ancestry(event.function.cls)
        for value in cls.attributes.get(event.name, ())
    )


def _repair(event: AnswerGiven, module: Module) -> Repair | None:
    from moelint.rules._slot_repairs import answer_from_helper

    return answer_from_helper(event, module)
