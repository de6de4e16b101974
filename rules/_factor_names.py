"""Reads of the factor that matter: what is left after neutral defaults, messages and renamings are taken out."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.mentions import mentions, walk_mentions
from moelint.linter.analysis.module import FunctionNode, Module, terminal_name
from moelint.linter.analysis.walk import children, walk

_TALK = frozenset({"print", "debug", "info", "warning", "warn", "error", "warning_once", "info_once", "format", "repr"})
_SCALAR_CALLS = frozenset({"float", "int"})


class FactorNames:
    """The names under which one function knows the factor: a parameter or an own attribute, and locals made of it."""

    def __init__(self, module: Module, node: FunctionNode, names: Iterable[str], receiver: str = "") -> None:
        self.module = module
        self.names = set() if receiver else set(names)
        self.receiver = receiver
        self.attributes = set(names) if receiver else set()
        self.node = node

    def follow(self) -> FactorNames:
        """Add the locals that hold the factor, and return these names."""
        for _ in range(2):
            for statement in walk_mentions(self.module, self.node, frozenset(self.names | self.attributes)):
                if isinstance(statement, (ast.Assign, ast.AnnAssign)) and self.renames(statement):
                    self.names.update(_targets(statement))
        return self

    def is_read(self, node: ast.AST) -> bool:
        """Whether this very node reads the factor."""
        if isinstance(node, ast.Name):
            return node.id in self.names and isinstance(node.ctx, ast.Load)
        return (
            isinstance(node, ast.Attribute)
            and node.attr in self.attributes
            and isinstance(node.ctx, ast.Load)
            and isinstance(node.value, ast.Name)
            and node.value.id == self.receiver
        )

    def renames(self, statement: ast.stmt) -> bool:
        """Whether a statement only gives the factor another name, or a neutral value where there is none."""
        if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
            return False
        targets = _targets(statement)
        if not targets:
            return False
        if isinstance(statement.value, ast.Constant):
            return any(name in self.names for name in targets)
        return self._is_scalar(statement.value) and any(map(self.is_read, walk(statement.value)))

    def used_in(self, node: ast.AST) -> bool:
        """Whether the factor is used somewhere below `node`, by more than a renaming, a message or an error."""
        known = frozenset(self.names | self.attributes)
        if isinstance(node, (ast.stmt, ast.expr)) and not mentions(self.module, node, known):
            return False
        stack = [node]
        while stack:
            current = stack.pop()
            if isinstance(current, ast.stmt):
                if (
                    isinstance(current, ast.Raise)
                    or (isinstance(current, (ast.Assign, ast.AnnAssign)) and self.renames(current))
                    or (isinstance(current, ast.If) and self.only_renames(current))
                ):
                    continue
            elif isinstance(current, ast.Call):
                if terminal_name(current.func) in _TALK:
                    continue
            elif self.is_read(current):
                return True
            stack.extend(children(current))
        return False

    def only_renames(self, node: ast.If) -> bool:
        """Whether an `if` does nothing but give the factor a name or a neutral value."""
        return all(
            self.renames(inner) or (isinstance(inner, ast.If) and self.only_renames(inner))
            for inner in [*node.body, *node.orelse]
        )

    def _is_scalar(self, node: ast.expr) -> bool:
        if self.is_read(node):
            return True
        if isinstance(node, ast.Constant):
            return node.value is None or isinstance(node.value, (int, float))
        if isinstance(node, ast.IfExp):
            return self._is_scalar(node.body) and self._is_scalar(node.orelse)
        if isinstance(node, ast.BoolOp):
            return all(map(self._is_scalar, node.values))
        if isinstance(node, ast.BinOp):
            return self._is_scalar(node.left) and self._is_scalar(node.right)
        if isinstance(node, ast.UnaryOp):
            return self._is_scalar(node.operand)
        if isinstance(node, ast.Call):
            return terminal_name(node.func) in _SCALAR_CALLS and all(map(self._is_scalar, node.args))
        return False


def _targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id for target in targets if isinstance(target, ast.Name)]
