"""Scopes and frames of the interpreter."""

from __future__ import annotations

from dataclasses import dataclass, field

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes.project import SourceModule
from moelint.linter.routes.values import ClassValue, Guarded, Value


@dataclass(slots=True, eq=False)
class Scope:
    """Local variables, with the scope they close over."""

    parent: Scope | None = None
    variables: dict[str, Guarded] = field(default_factory=dict)
    nonlocals: set[str] = field(default_factory=set)
    captured: bool = False
    """Whether a function closes over it, which may outlive the activation."""

    def find(self, name: str) -> Guarded | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.variables:
                return scope.variables[name]
            scope = scope.parent
        return None

    def for_write(self, name: str) -> Scope:
        """The scope that an assignment to `name` changes."""
        if name in self.nonlocals:
            scope = self.parent
            while scope is not None:
                if name in scope.variables:
                    return scope
                scope = scope.parent
        return self


@dataclass(slots=True, eq=False)
class Frame:
    """One activation: where control is, under which condition, and what was returned so far."""

    module: SourceModule
    scope: Scope
    pc: Node
    qualname: str = ""
    cls: ClassValue | None = None
    receiver: Value | None = None
    returns: list[tuple[Node, Guarded]] = field(default_factory=list)
    entry: Node = TRUE
    """The condition of the call: local variables mean nothing outside of it."""
    mark: int = 1 << 60
    """What was made later than this heap cell was made during this activation."""
    broken: Node = FALSE
    """The condition under which the innermost loop was left."""
