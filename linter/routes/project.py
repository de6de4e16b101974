"""Modules of the analysed tree: found by dotted name, parsed once, with texts that are laid over the disk."""

from __future__ import annotations

import ast
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

Condition = tuple[ast.expr, bool]
Binding = ast.stmt | tuple[ast.Import | ast.ImportFrom, ast.alias]


@dataclass(slots=True, eq=False)
class SourceModule:
    """A parsed module and what its top level binds: name -> (conditions it stands under, statement)."""

    name: str
    path: str
    text: str
    tree: ast.Module
    is_package: bool
    bindings: dict[str, list[tuple[tuple[Condition, ...], Binding]]] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)
    """The modules of `from x import *`."""

    def __post_init__(self) -> None:
        self._index(self.tree.body, ())

    def _index(self, body: list[ast.stmt], conditions: tuple[Condition, ...]) -> None:
        for statement in body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                self._bind(statement.name, conditions, statement)
            elif isinstance(statement, ast.Assign):
                for target in statement.targets:
                    for node in ast.walk(target):
                        if isinstance(node, ast.Name):
                            self._bind(node.id, conditions, statement)
            elif isinstance(statement, ast.AnnAssign):
                if isinstance(statement.target, ast.Name) and statement.value is not None:
                    self._bind(statement.target.id, conditions, statement)
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    self._bind(alias.asname or alias.name.split(".")[0], conditions, (statement, alias))
            elif isinstance(statement, ast.ImportFrom):
                for alias in statement.names:
                    self._bind(alias.asname or alias.name, conditions, (statement, alias))
                    if alias.name == "*" and statement.module and not statement.level:
                        self.stars.append(statement.module)
            elif isinstance(statement, ast.If):
                test = statement.test
                if isinstance(test, ast.Name) and test.id == "TYPE_CHECKING":
                    self._index(statement.body, conditions)
                    self._index(statement.orelse, conditions)
                else:
                    self._index(statement.body, (*conditions, (test, True)))
                    self._index(statement.orelse, (*conditions, (test, False)))
            elif isinstance(statement, (ast.Try, ast.With)):
                self._index(statement.body, conditions)

    def _bind(self, name: str, conditions: tuple[Condition, ...], binding: Binding) -> None:
        self.bindings.setdefault(name, []).append((conditions, binding))


class Project:
    """The packages below `root`. `overlays` maps paths relative to `root` to texts that win over the disk.

    `reads` lists the files whose contents an analysis depends on: every file that was looked for, found or not.
    """

    def __init__(self, root: str, overlays: Mapping[str, str] | None = None) -> None:
        self.root = root
        self.overlays = dict(overlays or {})
        self.modules: dict[str, SourceModule | None] = {}
        self.reads: set[str] = set()

    def load(self, name: str) -> SourceModule | None:
        """The module `name`, or None if the tree has none or it does not parse."""
        if name in self.modules:
            return self.modules[name]
        module = None
        path = self._find(name)
        if path is not None:
            relative = os.path.relpath(path, self.root)
            self.reads.add(relative)
            module = self._parse(name, path, self.overlays.get(relative))
        self.modules[name] = module
        return module

    def add_text(self, name: str, path: str, text: str) -> SourceModule:
        """Register a module that does not lie below the root (the model functions of a profile)."""
        module = SourceModule(name, path, text, ast.parse(text), False)
        self.modules[name] = module
        return module

    def relative(self, path: str) -> str:
        return os.path.relpath(path, self.root) if os.path.isabs(path) else path

    def _find(self, name: str) -> str | None:
        base = os.path.join(self.root, *name.split("."))
        for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
            if os.path.isfile(candidate) or os.path.relpath(candidate, self.root) in self.overlays:
                return candidate
        return None

    @staticmethod
    def _parse(name: str, path: str, overlay: str | None) -> SourceModule | None:
        try:
            if overlay is None:
                with open(path, "rb") as file:
                    overlay = file.read().decode("utf-8-sig", "replace")
            tree = ast.parse(overlay)
        except (OSError, SyntaxError, ValueError, RecursionError):
            return None
        return SourceModule(name, path, overlay, tree, path.endswith("__init__.py"))
