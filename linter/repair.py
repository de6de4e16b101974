"""What a rule would have changed, in terms of the syntax tree. How it is written is the business of `fixing`."""

from __future__ import annotations

import ast
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Replace:
    """Put the expression `text` in place of `node`."""

    node: ast.expr
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class GiveKeyword:
    """Give `call` one more keyword argument."""

    call: ast.Call
    name: str
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class InsertAfter:
    """Put the statement `text` on a line of its own after `statement`, in the same block."""

    statement: ast.stmt
    text: str


@dataclass(frozen=True, slots=True, eq=False)
class Remove:
    """Take `statement` out; a block that would be empty gets `pass`."""

    statement: ast.stmt


@dataclass(frozen=True, slots=True, eq=False)
class Guard:
    """Put `statement` below `if test:`, with the comment lines above it in front."""

    statement: ast.stmt
    test: str


@dataclass(frozen=True, slots=True)
class NeedName:
    """Let `name` of the module `module` be known at the top level of the file."""

    module: str
    name: str


Step = Replace | GiveKeyword | InsertAfter | Remove | Guard | NeedName


@dataclass(frozen=True, slots=True, eq=False)
class Repair:
    """All `steps`, or none. `safe` as in a fix."""

    title: str
    steps: tuple[Step, ...]
    safe: bool
