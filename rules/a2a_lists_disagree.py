"""MOE602."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import partial

from moelint.linter.analysis.guards import Guards
from moelint.linter.analysis.module import Class, Function
from moelint.linter.analysis.walk import remembered, walk
from moelint.linter.diagram import FALSE, TRUE
from moelint.linter.rule import Draft, Module, Profile, Rule, Source
from moelint.rules._a2a import back_ends, in_words, names_back_end, route_tests
from moelint.rules._sites import guards_of

_REPLICATION = re.compile(rb"""["']replicated["']|tp_size["']?[\s\\]*[=:][\s\\]*1""")


class A2aListsDisagree(Rule):
    """Reports a block that takes its all-to-all route for other back ends than it replicates its shared expert for.

    ## What it does
    Compares, as sets of all-to-all back ends, the test under which `forward` takes a route of its own with the test
    under which the shared expert is built replicated (`tp_size=1`, `parallel_group="replicated"`).

    ## Why is this bad?
    On an all-to-all route the routed output is complete and belongs to this rank's tokens. A shared expert that is
    still sharded there adds partial sums of different tokens.

    ## Example
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            replicated = get_moe_a2a_backend().is_deepep()
            self.shared_experts = MLP(**(dict(tp_rank=0, tp_size=1) if replicated else {}))

        def forward(self, x):
            if get_moe_a2a_backend().is_deepep() or get_moe_a2a_backend().is_mooncake():
                return self.forward_deepep(x)
            return self.forward_normal(x)
    ```

    ## Use instead
    ```python
    # profile: sglang
    class Block:
        def __init__(self, config):
            self.all_to_all = get_moe_a2a_backend().is_deepep() or get_moe_a2a_backend().is_mooncake()
            self.shared_experts = MLP(**(dict(tp_rank=0, tp_size=1) if self.all_to_all else {}))

        def forward(self, x):
            if self.all_to_all:
                return self.forward_deepep(x)
            return self.forward_normal(x)
    ```

    ## Limits
    A shared expert that is replicated for more back ends is not reported: their combine may complete the routed output
    too. Lists that are kept in other modules are compared by name only, and tests that name no back end are left out.
    """

    code = "MOE602"
    family = "routes"
    tokens = (
        ("@shared_experts", "@backend_sources", "replicated"),
        ("@shared_experts", "@backend_sources", "tp_size=1"),
    )
    help = "compute the list once and use it for both"
    needs_helpers = True
    roles = ("client",)

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        return names_back_end(source, profile) and _REPLICATION.search(source.data) is not None

    def check(self, module: Module) -> Iterable[Draft]:
        guards = guards_of(module)
        for cls in module.classes.values():
            init, forward = cls.methods.get("__init__"), cls.methods.get("forward")
            if init is None or forward is None or not _mentions_replication(module, init):
                continue
            routes = list(route_tests(forward, cls))
            replicas = remembered(init.node, "replication tests", partial(_replication_tests, init))
            if not routes or not replicas:
                continue
            yield from _compare(guards, cls, forward, init, routes, replicas)


def _compare(
    guards: Guards, cls: Class, forward: Function, init: Function, routes: list[ast.expr], replicas: list[ast.expr]
) -> Iterator[Draft]:
    taken = back_ends(guards, routes, forward)
    replicated = back_ends(guards, replicas, init)
    uncovered = guards.diagrams.conj(taken, guards.diagrams.neg(replicated))
    if taken in (TRUE, FALSE) or replicated in (TRUE, FALSE) or uncovered == FALSE:
        return
    decisive = next(test for test in routes if back_ends(guards, [test], forward) != FALSE)
    yield Draft(
        decisive,
        f"The all-to-all route is taken for {in_words(guards, taken)}, the shared expert is replicated for "
        f"{in_words(guards, replicated)}. For {in_words(guards, uncovered)} partial sums of different tokens are "
        "added to complete rows.",
        forward.qualname,
        tuple((test, "the shared expert is replicated under this test") for test in replicas),
        statement=decisive,
    )


def _mentions_replication(module: Module, init: Function) -> bool:
    segment = module.source.segment(init.node)
    return b"replicated" in segment or b"tp_size=1" in segment


def _replication_tests(init: Function) -> list[ast.expr]:
    return list(_tests_of_replicas(init))


def _tests_of_replicas(init: Function) -> Iterator[ast.expr]:
    for node in walk(init.node):
        if isinstance(node, ast.IfExp):
            if _replicates(node.body) != _replicates(node.orelse):
                yield node.test
        elif isinstance(node, ast.If) and any(map(_replicates_directly, (*node.body, *node.orelse))):
            yield node.test


def _replicates_directly(statement: ast.stmt) -> bool:
    return isinstance(statement, (ast.Assign, ast.Expr)) and _replicates(statement.value)


def _replicates(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value == "replicated"
    if isinstance(node, ast.Call):
        return any(_replication_keyword(keyword.arg, keyword.value) for keyword in node.keywords)
    if isinstance(node, ast.Dict):
        return any(
            isinstance(key, ast.Constant) and _replication_keyword(key.value, value)
            for key, value in zip(node.keys, node.values, strict=True)
        )
    return False


def _replication_keyword(name: object, value: ast.expr) -> bool:
    if not isinstance(value, ast.Constant):
        return False
    return (name == "parallel_group" and value.value == "replicated") or (name == "tp_size" and value.value == 1)
