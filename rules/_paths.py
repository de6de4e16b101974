"""The ways through a function: which returns are reached without a read of something."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Skip:
    """A `return` that is reached without a read: by every way to it, or by way of `branch`, which is one side of a
    decision whose other side reads."""

    statement: ast.Return
    branch: tuple[ast.stmt | ast.expr, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class _Branch:
    body: tuple[ast.stmt | ast.expr, ...]


_Way = _Branch | bool
_State = frozenset[_Way]
"""The kinds of ways that lead to a point: True for those that read, False for those that do not, a branch for those
that passed it instead of one that reads. Empty where no way leads."""

_START: _State = frozenset({False})
_READ: _State = frozenset({True})
_DEAD: _State = frozenset()


def skips(
    body: list[ast.stmt], reads: Callable[[ast.AST], bool], entitled: Callable[[ast.expr], bool]
) -> Iterator[Skip]:
    """Returns that are reached without `reads`. A test that is `entitled` to make the difference excuses what is
    below it and counts as a read behind it."""
    walk = _Walk(reads, entitled)
    walk.block(body, _START)
    yield from walk.found


class _Walk:
    def __init__(self, reads: Callable[[ast.AST], bool], entitled: Callable[[ast.expr], bool]) -> None:
        self.reads = reads
        self.entitled = entitled
        self.excused = False
        self.found: list[Skip] = []

    def block(self, body: list[ast.stmt], state: _State) -> _State:
        for statement in body:
            if not state:
                break
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: _State) -> _State:
        if isinstance(node, ast.Return):
            if node.value is not None and not self.excused:
                self._note(node, state if not self.reads(node.value) else self._chosen(node.value, state))
            return _DEAD
        if isinstance(node, (ast.Raise, ast.Continue, ast.Break)):
            return _DEAD
        if isinstance(node, ast.If):
            return self._if(node, state)
        if isinstance(node, ast.Match):
            state = _READ if self.reads(node.subject) else state
            return state | self._sides(state, [case.body for case in node.cases])
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            state = _READ if self.reads(node.test if isinstance(node, ast.While) else node.iter) else state
            return self.block(node.orelse, state | self.block(node.body, state))
        if isinstance(node, (ast.With, ast.AsyncWith)):
            return self.block(node.body, _READ if any(map(self.reads, node.items)) else state)
        if isinstance(node, ast.Try):
            after = self.block(node.orelse, self.block(node.body, state))
            for handler in node.handlers:
                after |= self.block(handler.body, state)
            return self.block(node.finalbody, after)
        if not self.reads(node):
            return state
        return _READ | self._chosen(node.value, state) if isinstance(node, ast.Assign) else _READ

    def _chosen(self, value: ast.expr, state: _State) -> _State:
        """The ways through `a if test else b` on which only the other side reads."""
        if not isinstance(value, ast.IfExp) or True in state or self.reads(value.test) or self.entitled(value.test):
            return _DEAD
        sides = (value.body, value.orelse)
        return frozenset(_Branch((side,)) for side in sides if not self.reads(side))

    def _if(self, node: ast.If, state: _State) -> _State:
        if self.reads(node.test) and self.reads(node):
            state = _READ
        kept = self.excused
        excused = self.entitled(node.test)
        self.excused = kept or excused
        after = self._sides(state, [node.body, node.orelse])
        self.excused = kept
        return _READ if excused and after and (True in after or self.reads(node)) else after

    def _sides(self, state: _State, sides: list[list[ast.stmt]]) -> _State:
        ends = [self.block(body, state) for body in sides]
        result = _DEAD
        for index, (body, end) in enumerate(zip(sides, ends, strict=True)):
            beside = any(True in other for position, other in enumerate(ends) if position != index)
            if body and beside and False in end and True not in end and True not in state:
                end = (end - {False}) | {_Branch(tuple(body))}
            result |= end
        return result

    def _note(self, node: ast.Return, state: _State) -> None:
        if state == _START:
            self.found.append(Skip(node))
        self.found.extend(Skip(node, way.body) for way in state if isinstance(way, _Branch))
