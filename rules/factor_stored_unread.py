"""MOE701."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Class, Function, FunctionNode, Module, terminal_name
from moelint.linter.analysis.walk import remembered, walk
from moelint.linter.model import Severity
from moelint.linter.rule import Draft, Rule
from moelint.rules._reads import attribute_reads, family_of, is_plumbing, key_read, receiver_name
from moelint.rules._records import bases_are_known, is_record


class FactorStoredUnread(Rule):
    """Reports a routed scaling factor that an object keeps and that nothing reads.

    ## What it does
    Looks for `self.x = ...` where `x` is a spelling of the factor or the value is the factor, and reports it if no
    method of the class, of its bases and subclasses in the module, and nobody else in the module reads `x`. Reads in
    messages, in `__repr__` and in `raise` do not count.

    ## Why is this bad?
    The store says that this object owns the scale. Whoever believes it does not multiply, and the routed part then
    has no factor at all; whoever does not believe it multiplies, and the next edit makes it two.

    ## Example
    ```python
    class Router:
        def __init__(self, config):
            self.top_k = config.top_k
            self.routed_scaling_factor = config.routed_scaling_factor

        def forward(self, logits):
            weights = logits.sigmoid().topk(self.top_k, -1).values
            return weights / weights.sum(-1, keepdim=True)
    ```

    ## Use instead
    ```python
    class Router:
        def __init__(self, config):
            self.top_k = config.top_k
            self.routed_scaling_factor = config.routed_scaling_factor

        def forward(self, logits):
            weights = logits.sigmoid().topk(self.top_k, -1).values
            return weights / weights.sum(-1, keepdim=True) * self.routed_scaling_factor
    ```

    ## Limits
    Silent for classes that only store (configurations, records), for classes with a base from another module, and
    for objects that hand themselves out. A reader in another module is not seen.
    """

    code = "MOE701"
    family = "dead-factor"
    tokens = (("@factor", "self."),)
    help = "read the stored factor where the output is made, or do not store it"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        stores = [store for cls in module.classes.values() for store in _unread_in_class(module, cls)]
        if not stores:
            return
        reads = attribute_reads(module, frozenset(store.target.attr for store in stores))
        for store in stores:
            attribute = store.target.attr
            if reads.of(attribute, family_of(module, store.cls)):
                continue
            severity: Severity = "error"
            consequence = "whoever counts on this object to scale gets no factor"
            if _uses_factor_otherwise(module, store):
                severity = "warning"
                consequence = "the class takes the factor another way, so there are two owners on paper"
            yield Draft(
                store.target,
                f"The routed scaling factor is stored in `self.{attribute}` and nothing reads it: {consequence}. "
                "Apply it where the output is made, or remove the attribute.",
                store.method.qualname,
                severity=severity,
                statement=store.statement,
            )


@dataclass(frozen=True, slots=True)
class _Store:
    cls: Class
    method: Function
    target: ast.Attribute
    statement: ast.Assign | ast.AnnAssign


def _unread_in_class(module: Module, cls: Class) -> list[_Store]:
    """The stores of a class that the class itself does not read: a cheap first look."""
    stores = list(_stores(module, cls))
    if not stores:
        return []
    reads = attribute_reads(module, frozenset(store.target.attr for store in stores), cls)
    return [store for store in stores if not reads.of(store.target.attr, (cls,))]


def _stores(module: Module, cls: Class) -> Iterator[_Store]:
    spelled = module.profile.factor
    if not mentions(module, cls.node, spelled) or is_record(module, cls) or not bases_are_known(module, cls):
        return
    names = frozenset(spelled | module.flow.aliases.get(cls.qualname, {}).keys())
    for method in cls.methods.values():
        if not mentions(module, method.node, names):
            continue
        stores = remembered(method.node, ("stores", names), partial(_stores_in, method.node, names))
        for target, statement in stores:
            yield _Store(cls, method, target, statement)


def _stores_in(method: FunctionNode, names: frozenset[str]) -> list[tuple[ast.Attribute, ast.Assign | ast.AnnAssign]]:
    receiver = receiver_name(method)
    return [
        (part, statement)
        for statement in walk(method)
        if isinstance(statement, (ast.Assign, ast.AnnAssign)) and not _is_neutral(statement.value)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
        for part in walk(target)
        if isinstance(part, ast.Attribute)
        and part.attr in names
        and isinstance(part.ctx, ast.Store)
        and terminal_name(part.value) == receiver
    ]


def _is_neutral(value: ast.expr | None) -> bool:
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, 0, 1))


def _uses_factor_otherwise(module: Module, store: _Store) -> bool:
    """Whether the class reads the factor anywhere but in what it stores."""
    stored = set(map(id, walk(store.statement)))
    spelled = module.profile.factor
    for node in walk(store.cls.node):
        if id(node) in stored:
            continue
        if isinstance(node, ast.Name) and node.id in spelled and isinstance(node.ctx, ast.Load):
            return True
        found = key_read(node, spelled) if isinstance(node, ast.expr) else None
        if found is not None and is_plumbing(found[0]) and isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
            return True
    return False
