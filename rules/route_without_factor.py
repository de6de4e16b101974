"""MOE603."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.events import Scale
from moelint.linter.analysis.module import Class, Function
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._self_applied import keeps_factor_to_itself


class RouteWithoutFactor(Rule):
    """Reports a route that never applies the factor in a block that keeps it to itself.

    ## What it does
    In a class whose router and experts are built without the factor and which multiplies by it on one route, reports
    the routes that run the experts and multiply nowhere.

    ## Why is this bad?
    Nobody else has the factor, so on that route the routed experts count without it. Nothing in the route's code looks
    wrong; only the sibling shows it.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.factor = config.routed_scaling_factor
            self.topk = TopK(top_k=8)

        def forward_normal(self, x):
            return self.experts(x, self.topk(x)) * self.factor

        def forward_deepep(self, x):
            return self.experts(x, self.topk(x))
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.factor = config.routed_scaling_factor
            self.topk = TopK(top_k=8)

        def forward_normal(self, x):
            return self.experts(x, self.topk(x)) * self.factor

        def forward_deepep(self, x):
            return self.experts(x, self.topk(x)) * self.factor
    ```

    ## Limits
    Only classes that keep the factor from router and experts are judged; elsewhere the runner may apply it.
    """

    code = "MOE603"
    family = "routes"
    tokens = (("@factor", "@experts"),)
    help = "multiply here as the sibling route does, or give the factor to the router"
    needs_helpers = True
    roles = ("client",)

    def check(self, module: Module) -> Iterable[Draft]:
        multiplying: dict[Class, dict[str, Scale]] = {}
        for event in module.flow.events:
            if isinstance(event, Scale) and event.power > 0 and event.function and event.function.cls:
                multiplying.setdefault(event.function.cls, {}).setdefault(event.function.outermost.name, event)
        for cls, sites in multiplying.items():
            any_site = next(iter(sites.values()))
            if not keeps_factor_to_itself(module, any_site.function):
                continue
            for method in cls.methods.values():
                run = next(_runs_experts(method, module), None)
                if run is not None and not _reaches(method, cls, set(sites)):
                    yield Draft(
                        run,
                        f"`{method.name}` runs the experts and never multiplies by the routed scaling factor, which "
                        f"router and experts of this class are not given. Its sibling `{next(iter(sites))}` "
                        "multiplies; on this route the routed part lacks the factor.",
                        method.qualname,
                        ((any_site.node, "the sibling multiplies here"), *((s.node, s.text) for s in any_site.trace)),
                    )


def _runs_experts(method: Function, module: Module) -> Iterator[ast.Call]:
    for node in walk(method.node):
        if isinstance(node, ast.Call):
            target = node.func
            if isinstance(target, ast.Attribute) and target.attr not in module.profile.experts:
                target = target.value
            if isinstance(target, ast.Attribute) and target.attr in module.profile.experts and _is_run(node):
                yield node


def _is_run(call: ast.Call) -> bool:
    """`self.experts(x, ...)` and `self.experts.forward_x(...)`, `.dispatch`, `.run_...`: not a query."""
    if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Attribute):
        inner = call.func.attr
        return inner.startswith(("forward", "run_", "combine")) or not isinstance(call.func.value.value, ast.Name)
    return bool(call.args or call.keywords)


def _reaches(method: Function, cls: Class, sites: set[str]) -> bool:
    """Whether the method multiplies itself, or in a method of the class that it calls or that calls it, at any
    distance."""
    calls = {name: _called(other) & cls.methods.keys() for name, other in cls.methods.items()}
    for step in (calls, {name: {caller for caller in calls if name in calls[caller]} for name in calls}):
        pending, seen = [method.name], {method.name}
        while pending:
            for name in step.get(pending.pop(), set()) - seen:
                seen.add(name)
                pending.append(name)
        if seen & sites:
            return True
    return False


def _called(method: Function) -> set[str]:
    return {
        node.func.attr
        for node in walk(method.node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    }
