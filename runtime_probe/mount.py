"""Import a target's modules without running the `__init__` files that pull its whole stack in."""

from __future__ import annotations

import ast
import importlib
import importlib.abc
import importlib.machinery
import os
import sys
import types
from pathlib import Path
from typing import Any

Exports = dict[str, tuple[str, str | None]]
"""Name -> the module it comes from, and the name there (None: the module itself)."""


def mount(package: str, folder: str) -> None:
    """Make `package` importable from `folder` without its own `__init__`; its subpackages load their exports lazily."""
    module = types.ModuleType(package)
    module.__path__ = [folder]
    module.__package__ = package
    module.__file__ = os.path.join(folder, "__init__.py")
    spec = importlib.machinery.ModuleSpec(package, None, is_package=True)
    spec.submodule_search_locations = [folder]
    module.__spec__ = spec
    sys.modules[package] = module
    sys.meta_path.insert(0, _LazyPackages(package))


class _LazyPackage(types.ModuleType):
    """A package whose `__init__` only re-exports: each name is imported when it is asked for."""

    _exports: Exports

    def __getattr__(self, name: str) -> Any:
        exports = self.__dict__.get("_exports", {})
        if name not in exports:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        home, attribute = exports[name]
        module = importlib.import_module(home)
        if attribute is None:
            value: Any = module
        elif hasattr(module, attribute):
            value = getattr(module, attribute)
        else:
            value = importlib.import_module(f"{home}.{attribute}")
        self.__dict__[name] = value
        return value


class _LazyPackages(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the packages below one root whose `__init__` does nothing but re-export."""

    def __init__(self, root: str) -> None:
        self._root = root
        self._known: dict[str, tuple[Exports, ast.Module]] = {}

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        """A spec for a package that can be loaded lazily, None for every other module."""
        if fullname.partition(".")[0] != self._root:
            return None
        for base in path or ():
            folder = os.path.join(base, fullname.rpartition(".")[2])
            init = os.path.join(folder, "__init__.py")
            if not os.path.isfile(init):
                continue
            tree = ast.parse(Path(init).read_text(encoding="utf-8"))
            exports = reexports(fullname, tree)
            if exports is None:
                return None
            self._known[fullname] = (exports, tree)
            spec = importlib.machinery.ModuleSpec(fullname, self, origin=init, is_package=True)
            spec.submodule_search_locations = [folder]
            spec.has_location = True
            return spec
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        """A package that imports on demand."""
        module = _LazyPackage(spec.name)
        module._exports = self._known[spec.name][0]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the assignments of dunder names, which are all that is left."""
        tree = self._known[module.__name__][1]
        body: list[ast.stmt] = [node for node in tree.body if isinstance(node, ast.Assign)]
        exec(compile(ast.Module(body, []), str(module.__file__), "exec"), module.__dict__)


def reexports(package: str, tree: ast.Module) -> Exports | None:
    """What an `__init__` re-exports, or None if it does anything else."""
    exports: Exports = {}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom):
            if node.module == "__future__":
                continue
            if any(alias.name == "*" for alias in node.names):
                return None
            home = _absolute(package, node)
            exports.update({alias.asname or alias.name: (home, alias.name) for alias in node.names})
        elif isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                exports[alias.asname or top] = (alias.name if alias.asname else top, None)
        elif not _is_inert(node):
            return None
    return exports


def _absolute(package: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - (node.level - 1)]
    return ".".join([*parts, node.module] if node.module else parts)


def _is_inert(node: ast.stmt) -> bool:
    """A docstring, a dunder assignment, an import for type checkers."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets)
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
