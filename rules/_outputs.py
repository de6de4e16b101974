"""The calls of a function that make expert outputs or routing weights, and the names they end up in."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property

from moelint.linter.analysis.module import Function
from moelint.linter.analysis.walk import walk
from moelint.rules._records import is_allocation

_WORDS = ("expert", "moe", "topk", "top_k", "gemm", "fused", "rout", "gate", "combine", "apply", "forward", "mlp")


class Outputs:
    """Which call makes what a function returns."""

    def __init__(self, function: Function) -> None:
        self.node = function.node
        self.parameters = {parameter.arg for parameter in function.parameters()}

    @cached_property
    def bound(self) -> dict[str, list[ast.expr]]:
        """Local name -> the expressions bound to it, as parts of tuples too."""
        found: dict[str, list[ast.expr]] = {}
        for node in walk(self.node):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for part in walk(target):
                        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                            found.setdefault(part.id, []).append(node.value)
        return found

    def maker(self, returned: ast.Return, body: Iterable[ast.stmt | ast.expr]) -> ast.Call | None:
        """The call in `body`, before or in `returned`, that makes what is returned; None if nothing makes it there."""
        inside = {id(node) for node in walk(returned)}
        calls = list(self._makers(body))
        names = self._names(returned.value)
        before = (c for c in calls if c.lineno < returned.lineno and (self._binds(c, names) or self._fills(c, names)))
        return next((call for call in calls if id(call) in inside), next(before, None))

    def is_repeated(self, call: ast.Call) -> bool:
        """Whether the function calls the same thing at another place too."""
        text = ast.unparse(call.func)
        return any(
            isinstance(node, ast.Call) and node is not call and ast.unparse(node.func) == text
            for node in walk(self.node)
        )

    def bound_to(self, call: ast.Call) -> set[str]:
        """The local names that `call` gives a value."""
        return {name for name, values in self.bound.items() if any(call is n for v in values for n in walk(v))}

    def _names(self, value: ast.expr | None) -> set[str]:
        names = {node.id for node in walk(value) if isinstance(node, ast.Name)} if value is not None else set()
        for name in list(names):
            for bound in self.bound.get(name, ()):
                if not isinstance(bound, ast.Call):
                    names.update(node.id for node in walk(bound) if isinstance(node, ast.Name))
        return names - self.parameters

    @staticmethod
    def _makers(body: Iterable[ast.stmt | ast.expr]) -> Iterator[ast.Call]:
        for statement in body:
            for node in walk(statement):
                if isinstance(node, ast.Call) and not is_allocation(node):
                    words = ast.unparse(node.func).lower()
                    if any(word in words for word in _WORDS):
                        yield node

    def _binds(self, call: ast.Call, names: set[str]) -> bool:
        return any(call is node for name in names for value in self.bound.get(name, ()) for node in walk(value))

    def _fills(self, call: ast.Call, names: set[str]) -> bool:
        """Whether the call is handed one of `names` that is a fresh tensor, to be filled."""
        handed = {n.id for n in [*call.args, *(k.value for k in call.keywords)] if isinstance(n, ast.Name)}
        return any(
            is_allocation(value) or (isinstance(value, ast.IfExp) and is_allocation(value.orelse))
            for name in handed & names
            for value in self.bound.get(name, ())
        )
