"""MOE601."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.events import Scale, flattened
from moelint.linter.analysis.module import Class
from moelint.linter.diagram import FALSE, Node
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._a2a import all_to_all_methods
from moelint.rules._sites import Decision, guards_of, is_router_value, scales


class SiblingRoutesDisagree(Rule):
    """Reports routes of one class that multiply by the factor under different conditions.

    ## What it does
    Computes for each route method the condition under which it multiplies its output by the factor, as a boolean
    function over platforms, quantisation types, the experts' wish and the helper's answer, and reports the methods that
    disagree with the one that asks the helper (or with the first, if none does).

    ## Why is this bad?
    Router and runner are the same for all routes of a class. Where two routes disagree, at least one of them is wrong
    in some configuration; this is how two-batch overlap shipped the factor squared.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def forward_normal(self, x):
            y = self.experts(x)
            if not (self.experts.should_fuse_routed_scaling_factor_in_topk or _use_aiter):
                y *= self.routed_scaling_factor
            return y

        def op_output(self, state):
            y = state.pop("y")
            if not _use_aiter:
                y *= self.routed_scaling_factor
            state.out = y
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def forward_normal(self, x):
            y = self.experts(x)
            if not self.fused_in_topk:
                y *= self.routed_scaling_factor
            return y

        def op_output(self, state):
            y = state.pop("y")
            if not self.fused_in_topk:
                y *= self.routed_scaling_factor
            state.out = y
    ```

    ## Limits
    Only methods that multiply at all are compared: a route that never multiplies has no line, and its runner may do it.
    Back end tests are left out, as they choose the route. Routes that `forward` takes for all-to-all back ends only
    are compared with each other, and the rest with each other: their runners differ in what they apply. In a class
    with a `forward`, `op_*` stages count as all-to-all routes.
    """

    code = "MOE601"
    family = "routes"
    tokens = (("@factor",),)
    help = "let all routes of the class ask the same question"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        by_class: dict[Class, dict[str, list[Scale]]] = {}
        for event in scales(module):
            function = event.function
            if function is None or function.cls is None or is_router_value(event.scaled, module):
                continue
            route = function.qualname.removeprefix(f"{function.cls.qualname}.").split(".")[0]
            by_class.setdefault(function.cls, {}).setdefault(route, []).append(event)
        for cls, routes in by_class.items():
            apart = all_to_all_methods(cls, guards_of(module)) if len(routes) > 1 else set()
            for group in (routes.keys() & apart, routes.keys() - apart):
                siblings = {name: events for name, events in routes.items() if name in group}
                if len(siblings) > 1:
                    yield from _disagreements(siblings, module)


def _disagreements(routes: dict[str, list[Scale]], module: Module) -> Iterable[Draft]:
    diagrams = guards_of(module).diagrams
    conditions: dict[str, Node] = {}
    asking: list[str] = []
    for route, events in routes.items():
        total = FALSE
        for event in events:
            decision = Decision(event.guards, module)
            total = diagrams.disj(total, decision.scaling)
            if decision.asked and decision.equals_not_folded():
                asking.append(route)
        conditions[route] = total
    reference = asking[0] if asking else next(iter(routes))
    for route, events in routes.items():
        if conditions[route] == conditions[reference]:
            continue
        site, other = events[0], routes[reference][0]
        related: list[tuple[ast.AST, str]] = [(other.node, f"`{reference}` multiplies here")]
        related += [(guard.test, f"the test in `{route}`") for guard in flattened(site.guards)]
        related += [(guard.test, f"the test in `{reference}`") for guard in flattened(other.guards)]
        yield Draft(
            site.node,
            f"`{route}` multiplies by the routed scaling factor under another condition than its sibling "
            f"`{reference}`, for the same router and experts. Where they differ one of them is wrong.",
            site.qualname,
            tuple(related),
            statement=site.statement,
        )
