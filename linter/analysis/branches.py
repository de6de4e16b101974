"""What a name holds, or a function returns, as one expression over the branches that lead there.

`x = a` followed by `if c: x = b` reads as `b if c else a`. The synthesised nodes reuse the source's own nodes, so that
a name inside them is evaluated where it stands. Whatever depends on a loop, a handler or a pattern is unknown (None).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from moelint.linter.analysis.module import TRIES, FunctionNode, bindings, dotted_name
from moelint.linter.analysis.walk import children, remembered, walk

_Position = tuple[int, int]
_END: _Position = (1 << 60, 0)
_BIT = {ast.BitAnd: ast.And, ast.BitOr: ast.Or}


def value_of(function: FunctionNode, target: str, at: ast.AST | None = None, walrus: bool = True) -> ast.expr | None:
    """What `target` (`name` or `self.name`, as source text) holds at `at`, or where the function ends.

    None where it is bound on no way, or where a way cannot be followed. `walrus=False` says that the function binds
    nothing inside expressions, which saves looking for it.
    """

    def held() -> ast.expr | None:
        return _Holder(target, _END if at is None else _start(at), walrus).block(function.body, None)

    # With the line in the key, because positions of synthesised nodes do not move with the function.
    found = remembered(function, ("value", target, at, walrus, function.lineno), held)
    return None if found is _UNKNOWN else found


def result_of(function: FunctionNode) -> ast.expr | None:
    """What a call of the function returns; a way off its end returns the constant None."""
    returned = _returned(function.body, ast.Constant(None))
    return None if returned is _UNKNOWN else returned


_UNKNOWN = ast.Constant("unknown")
_NEVER = ast.Constant("never")


class _Holder:
    """A walk over statements in order, with what the target holds so far; None while it is unbound."""

    def __init__(self, target: str, stop: _Position, walrus: bool) -> None:
        self.target = target
        self.stop = stop
        self.walrus = walrus
        self.stopped = False

    def block(self, body: Sequence[ast.stmt], held: ast.expr | None) -> ast.expr | None:
        for statement in body:
            if _start(statement) > self.stop:
                self.stopped = True
            if self.stopped or held is _NEVER:
                break
            held = self._statement(statement, held)
        return held

    def _statement(self, statement: ast.stmt, held: ast.expr | None) -> ast.expr | None:
        inside = _contains(statement, self.stop)
        if self.walrus:
            held = self._walrus(statement, held)
        if isinstance(statement, ast.If):
            return self._if(statement, held)
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            return self.block(statement.body, held)
        if isinstance(statement, (ast.For, ast.AsyncFor, ast.While, ast.Match, *TRIES)):
            if self._binds(statement):
                held = _UNKNOWN
            for part in _parts(statement):
                if part and _start(part[0]) <= self.stop <= _end(part[-1]):
                    return self.block(part, held)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return _UNKNOWN if self._declares(statement) else held
        elif inside:
            self.stopped = True
        elif isinstance(statement, ast.Return) and self.stop == _END:
            return held
        elif isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
            return _NEVER
        elif isinstance(statement, ast.AugAssign) and self._is_target(statement.target):
            return _augmented(statement) if held not in (None, _UNKNOWN) else _UNKNOWN
        else:
            for target, value in bindings(statement):
                if self._is_target(target):
                    held = value
        return held

    def _if(self, statement: ast.If, held: ast.expr | None) -> ast.expr | None:
        if _contains(statement.test, self.stop):
            self.stopped = True
            return held
        for branch in (statement.body, statement.orelse):
            if branch and _start(branch[0]) <= self.stop <= _end(branch[-1]):
                return self.block(branch, held)
        then, other = self.block(statement.body, held), self.block(statement.orelse, held)
        return _merged(statement.test, then, other)

    def _walrus(self, statement: ast.stmt, held: ast.expr | None) -> ast.expr | None:
        for node in children(statement):
            if isinstance(node, ast.expr):
                for part in walk(node):
                    if isinstance(part, ast.NamedExpr) and part.target.id == self.target and _end(part) <= self.stop:
                        held = part.value
        return held

    def _binds(self, statement: ast.stmt) -> bool:
        return any(
            isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load) and self._is_target(node)
            for node in walk(statement)
        )

    def _is_target(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Name):
            return node.id == self.target
        return isinstance(node, ast.Attribute) and dotted_name(node) == self.target

    def _declares(self, statement: ast.stmt) -> bool:
        return any(
            isinstance(node, ast.Nonlocal) and self.target in node.names for node in walk(statement)
        ) and self._binds(statement)


def _returned(body: Sequence[ast.stmt], after: ast.expr) -> ast.expr:
    """What is returned from `body` on, where `after` is returned if control leaves it at its end."""
    for statement in reversed(body):
        if isinstance(statement, ast.Return):
            after = statement.value or ast.Constant(None)
        elif isinstance(statement, ast.Raise):
            after = _NEVER
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            after = _returned(statement.body, after)
        elif _leaves(statement):
            if not isinstance(statement, ast.If):
                return _UNKNOWN
            then, other = _returned(statement.body, after), _returned(statement.orelse, after)
            after = _merged(statement.test, then, other) or _UNKNOWN
    return after


def _merged(test: ast.expr, then: ast.expr | None, other: ast.expr | None) -> ast.expr | None:
    if then is _NEVER or then is other:
        return other
    if other is _NEVER:
        return then
    if then is None or other is None:
        return other if then is None else then
    if _UNKNOWN in (then, other):
        return _UNKNOWN
    return ast.copy_location(ast.IfExp(test, then, other), test)


def _augmented(statement: ast.AugAssign) -> ast.expr:
    """`x &= y` and `x |= y`; the target stands for what it held before."""
    combine = _BIT.get(type(statement.op))
    if combine is None:
        return _UNKNOWN
    return ast.copy_location(ast.BoolOp(combine(), [statement.target, statement.value]), statement)


def _leaves(statement: ast.stmt) -> bool:
    """Whether the function may be left inside a statement, not counting nested functions."""
    if isinstance(statement, (ast.Return, ast.Raise)):
        return True
    return not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and any(
        _leaves(inner) for part in _parts(statement) for inner in part
    )


def _parts(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for name in ("body", "orelse", "finalbody"):
        part = getattr(statement, name, None)
        if isinstance(part, list):
            yield part
    for group in ("handlers", "cases"):
        for entry in getattr(statement, group, ()):
            yield entry.body


def _start(node: ast.AST) -> _Position:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> _Position:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


def _contains(node: ast.AST, position: _Position) -> bool:
    return _start(node) <= position < _end(node)
