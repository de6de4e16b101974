"""MOE604."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.module import Class, terminal_name
from moelint.linter.diagram import FALSE
from moelint.linter.rule import Draft, Module, Profile, Rule, Source
from moelint.rules._a2a import back_ends, in_words, names_back_end, route_tests
from moelint.rules._sites import guards_of

_UNREDUCED = re.compile(rb"reduce_results[\s\\]*=[\s\\]*False")
_PLACEMENT = frozenset({"parallel_group", "tp_size", "tp_rank", None})


class SharedExpertShardedOnA2a(Rule):
    """Reports a shared expert that stays sharded although its block has an all-to-all route.

    ## What it does
    Reports a shared expert built with `reduce_results=False` and with no word about its parallel group, in a class that
    takes an all-to-all route itself or builds a block that does.

    ## Why is this bad?
    On the all-to-all route every rank holds complete routed rows of its own tokens. The partial sums of the sharded
    expert belong to different tokens, so adding and reducing them mixes tokens and counts the routed part once for
    each rank.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.shared_experts = MLP(config, reduce_results=False)

        def forward(self, x):
            if get_moe_a2a_backend().is_deepep():
                return self.forward_deepep(x)
            return self.forward_normal(x)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.all_to_all = get_moe_a2a_backend().is_deepep()
            self.shared_experts = MLP(
                config, reduce_results=False, parallel_group="replicated" if self.all_to_all else "tp"
            )

        def forward(self, x):
            if self.all_to_all:
                return self.forward_deepep(x)
            return self.forward_normal(x)
    ```

    ## Limits
    Only blocks of the same module are looked into.
    """

    code = "MOE604"
    family = "routes"
    tokens = (("@backend_sources", "@shared_experts", "reduce_results"),)
    help = "replicate the shared expert for the back ends of the all-to-all route"
    needs_helpers = True
    roles = ("client",)

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        return names_back_end(source, profile) and _UNREDUCED.search(source.data) is not None

    def check(self, module: Module) -> Iterable[Draft]:
        for cls in module.classes.values():
            built = list(_sharded(cls, module))
            if not built:
                continue
            route = next(_all_to_all(cls, module), None)
            if route is None:
                continue
            test, words = route
            for call in built:
                yield Draft(
                    call,
                    f"This shared expert stays sharded, and the block takes an all-to-all route for {words}. There the "
                    "routed rows are complete and the partial shared sums are of different tokens; replicate it.",
                    f"{cls.qualname}.__init__",
                    ((test, "the all-to-all route is taken under this test"),),
                )


def _sharded(cls: Class, module: Module) -> Iterator[ast.Call]:
    for name, values in cls.attributes.items():
        if name in module.profile.shared_experts:
            for value in values:
                if isinstance(value, ast.Call) and _left_sharded(value):
                    yield value


def _left_sharded(call: ast.Call) -> bool:
    names = {keyword.arg for keyword in call.keywords}
    unreduced = any(
        keyword.arg == "reduce_results" and isinstance(keyword.value, ast.Constant) and keyword.value.value is False
        for keyword in call.keywords
    )
    return unreduced and not names & _PLACEMENT


def _all_to_all(cls: Class, module: Module) -> Iterator[tuple[ast.expr, str]]:
    """The tests for an all-to-all route of the class and of the blocks it builds."""
    guards = guards_of(module)
    built = {terminal_name(value) for values in cls.attributes.values() for value in values}
    for block in [cls, *(module.classes[name] for name in sorted(built & set(module.classes)))]:
        forward = block.methods.get("forward")
        for test in route_tests(forward, block) if forward is not None else ():
            taken = back_ends(guards, [test], forward)  # type: ignore[arg-type]
            if taken != FALSE:
                yield test, in_words(guards, taken)
