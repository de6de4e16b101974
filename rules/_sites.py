"""What the factor rules share: kinds of sites, who guards them, and which places explain them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import lru_cache

from moelint.linter.analysis.events import Event, Guard, Handed, Scale, flattened
from moelint.linter.analysis.guards import ANSWER, FLAG, QUANT, TOLD, WISH, Guards
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.diagram import FALSE, TRUE, Node

Related = tuple[tuple[ast.AST, str], ...]

_ROUTER_WORDS = ("weight", "score", "prob", "gate_out", "logit")
_HARMLESS = frozenset(
    {"isfinite", "isnan", "isinstance", "len", "str", "type", "hasattr", "dict", "update", "id", "bool"}
)


@lru_cache(maxsize=4)
def guards_of(module: Module) -> Guards:
    """The one universe of conditions of a module."""
    return Guards(module)


def is_router_value(node: ast.expr | None, module: Module) -> bool:
    """Whether the scaled value is a tensor of router scores or top-k weights, by its name."""
    for part in walk(node) if node is not None else ():
        name = part.attr if isinstance(part, ast.Attribute) else part.id if isinstance(part, ast.Name) else ""
        if name in module.profile.topk_weights or any(word in name.lower() for word in _ROUTER_WORDS):
            return True
    return False


def scales(module: Module) -> Iterator[Scale]:
    """Multiplications of a tensor by the factor; quotients and bare inverses are the slot rules' business."""
    for event in module.flow.events:
        if isinstance(event, Scale) and event.power > 0 and guards_of(module).possible(event.guards):
            yield event


def handed_over(module: Module) -> Iterator[Handed]:
    """Arguments that carry the factor to a callee the profile does not sanction."""
    profile = module.profile
    sanctioned = profile.constructors | profile.epilogue_calls | profile.answer_calls | profile.weight_calls
    for event in module.flow.events:
        if isinstance(event, Handed) and event.callee not in sanctioned and event.callee not in _HARMLESS:
            yield event


class Decision:
    """The condition under which a site acts, seen as a function of what decides a scale."""

    def __init__(self, guards: tuple[Guard, ...], module: Module) -> None:
        self.guards = guards_of(module)
        diagrams = self.guards.diagrams
        condition = self.guards.condition(guards)
        self.origins = tuple(self.guards.origins)
        self.node: Node
        self.node, self._weakened = self.guards.decisive(condition)
        self.kinds = self.guards.kinds(self.node)
        groups = {*module.profile.backend_sources.values(), *module.profile.backend_predicates.values()}
        self.backends = self.kinds & groups
        self.scaling = diagrams.exists(self.node, lambda variable: variable.split(":")[0] in groups)

    @property
    def asked(self) -> bool:
        """The helper's answer occurs in the condition."""
        return ANSWER in self.kinds

    @property
    def undecided(self) -> bool:
        """Nothing that could decide a scale occurs in the condition."""
        return not self.kinds

    def equals_not_folded(self) -> bool:
        """The condition is "not folded", or "the router is told not to fold", whatever the back end of the route."""
        diagrams = self.guards.diagrams
        owed = (diagrams.neg(self.guards.answer()), diagrams.neg(diagrams.literal(TOLD)))
        return not self._weakened and self.scaling in owed

    def spares_folded(self) -> bool:
        """The site never acts where the answer is "folded"."""
        diagrams = self.guards.diagrams
        return self.asked and not self._weakened and diagrams.implies(self.node, diagrams.neg(self.guards.answer()))

    def obeys_flag(self) -> bool:
        """The condition implies the router's own flag: the router does what it was ordered."""
        diagrams = self.guards.diagrams
        flags = diagrams.disj(diagrams.literal(FLAG), diagrams.literal(TOLD))
        return self.node != TRUE and diagrams.implies(self.node, flags)

    def deciders(self) -> str:
        """What decides instead of the helper, in words."""
        words = []
        if WISH in self.kinds:
            words.append("the experts' wish to fold")
        if "platform" in self.kinds:
            words.append("a platform flag")
        if QUANT in self.kinds:
            words.append("the type of the quantisation method")
        if self.backends:
            words.append("the choice of a back end")
        if FLAG in self.kinds:
            words.append("the router's flag")
        return " and ".join(words)


def shares_out(event: Event, module: Module) -> bool:
    """Whether the event's function shares the multiply out among exclusive branches, exactly where it is owed."""
    sites: tuple[Event, ...] = (*scales(module), *handed_over(module))
    group = [site for site in sites if site.function is event.function]
    guards = guards_of(module)
    total = FALSE
    for site in group:
        decision = Decision(site.guards, module)
        if not decision.spares_folded() or guards.diagrams.conj(total, decision.scaling) != FALSE:
            return False
        total = guards.diagrams.disj(total, decision.scaling)
    return len(group) > 1 and total == guards.diagrams.neg(guards.answer())


def explain(event: Event, decision: Decision | None = None) -> Related:
    """The places that explain a site: its guards, what they look into, the branch beside it, the factor's way."""
    places: list[tuple[ast.AST, str]] = []
    for guard in flattened(event.guards):
        places.append((guard.test, "under this test" if guard.positive else "unless this test"))
        places.extend(_sibling(event, guard))
    if decision is not None:
        places.extend(decision.origins)
    places.extend((step.node, step.text) for step in event.trace)
    seen: set[tuple[int, int, str]] = set()
    unique = []
    for node, text in places:
        key = (node.lineno, node.col_offset, text)  # type: ignore[attr-defined]
        if key not in seen:
            seen.add(key)
            unique.append((node, text))
    return tuple(unique)


def decided_at(event: Event, guards: tuple[Guard, ...]) -> ast.AST:
    """The site itself, or the `factor if test else 1.0` in an earlier statement that decides for it."""
    last = guards[-1] if guards else None
    if last is not None and last.kind == "ternary":
        start, end = event.statement.lineno, event.statement.end_lineno or event.statement.lineno
        if not start <= last.test.lineno <= end:
            return last.test
    return event.node


def _sibling(event: Event, guard: Guard) -> Iterator[tuple[ast.AST, str]]:
    """The other branch of an `if`, where it does the same thing without the factor."""
    if guard.origin is None:
        return
    branch = guard.origin.orelse if guard.positive else guard.origin.body
    if len(branch) == 1 and isinstance(branch[0], (ast.Expr, ast.Assign, ast.AugAssign, ast.Return)):
        yield branch[0], "the other branch leaves the factor out"


def provenance(
    module: Module, function: Function | None, node: ast.expr, depth: int = 4
) -> Iterator[tuple[ast.AST, str]]:
    """Where the names and local calls of an expression get their value."""
    if depth == 0 or function is None:
        return
    for part in walk(node):
        if isinstance(part, ast.Name):
            for value in module.definitions(function).get(part.id, ()):
                yield value, f"`{part.id}` comes from here"
                yield from provenance(module, function, value, depth - 1)
        elif isinstance(part, ast.Call):
            callee = None
            if isinstance(part.func, ast.Name):
                callee = module.function(part.func.id)
            elif isinstance(part.func, ast.Attribute) and terminal_name(part.func.value) == "self" and function.cls:
                callee = module.function(part.func.attr, function.cls)
            if callee is not None:
                yield callee.node, f"computed by `{callee.name}`"


def helper_name(module: Module) -> str:
    """The helper to ask, for messages."""
    return sorted(module.profile.answer_calls)[0]


def weight_helper_name(module: Module) -> str:
    """The helper that answers a shared slot's weight, for messages."""
    return sorted(module.profile.weight_calls)[0]


def only_validates(event: Event) -> bool:
    """The statement does nothing but refuse bad values, or makes up a name that serves for nothing else."""
    statement = event.statement
    if isinstance(statement, (ast.Assert, ast.If)):
        return _refuses(statement)
    if not isinstance(statement, ast.Assign) or event.function is None:
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    body = event.function.node
    uses = [node for node in walk(body) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)]
    refusing = {id(part) for node in walk(body) if _refuses(node) for part in walk(node.test)}  # type: ignore[attr-defined]
    uses = [node for node in uses if node.id in names]
    return bool(uses) and len(names) == len(statement.targets) and all(id(node) in refusing for node in uses)


def _refuses(node: ast.AST) -> bool:
    """`assert test`, and an `if` of which one branch raises and the other does nothing."""
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.If):
        return False
    branches = [[inner for inner in branch if not isinstance(inner, ast.Pass)] for branch in (node.body, node.orelse)]
    return any(
        other == [] and branch and all(isinstance(inner, ast.Raise) for inner in branch)
        for branch, other in (branches, branches[::-1])
    )
