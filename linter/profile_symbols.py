"""Dead symbols: names and modules that a repository's own profile declares and its tree does not define.

Modules are read with `ast`, never imported. They are looked for below the configuration's folder, its `python/` and
its `src/`.
"""

from __future__ import annotations

import ast
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from moelint.linter.profile_fields import profile_fields
from moelint.linter.profile_validate import is_dotted, is_name
from moelint.linter.suggest import did_you_mean

ROOTS = ("", "python", "src")


def dead_symbols(data: Mapping[str, Any], where: str, root: str, foreign: Iterable[str] = ()) -> list[str]:
    """A problem for every declared name or module that the tree below `root` does not define.

    Values of a wrong shape are passed over. Packages in `foreign` (those of other frameworks) that the tree does not
    hold are taken on trust.
    """
    tree = _Tree(root, frozenset(foreign))
    problems: list[str] = []
    for place, declared in _declared(data):
        module, _, name = declared.partition(":")
        problem = tree.problem(module, name)
        if problem is not None:
            problems.append(f"{where}{place}: {problem}")
    return problems


def _declared(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(key path, `module` or `module:name`) of everything that can be looked up."""
    for key, field in profile_fields().items():
        value = data.get(key)
        if field.kind == "module":
            places = [(key, value)] if value else []
        elif field.is_list:
            places = [(f"{key}[{index}]", item) for index, item in enumerate(value if isinstance(value, list) else ())]
        else:
            places = [(f"{key}.{entry}", entry) for entry in (value if isinstance(value, Mapping) else ())]
        for place, item in places:
            if not isinstance(item, str):
                continue
            if (is_dotted(item.removesuffix(".*")) and "module" in field.kind) or (":" in item and is_name(item)):
                yield place, item


class _Tree:
    def __init__(self, root: str, foreign: frozenset[str]) -> None:
        self._roots = [os.path.join(root, part) for part in ROOTS]
        self._foreign = foreign
        self._modules: dict[str, _Definitions | str] = {}

    def problem(self, module: str, name: str) -> str | None:
        below = module.endswith(".*")
        parts = module.removesuffix(".*").split(".")
        missing = self._missing(parts)
        if missing is not None:
            if missing == 0 and parts[0] in self._foreign:
                return None
            return self._no_module(parts, missing)
        if below and not any(os.path.isdir(os.path.join(base, *parts)) for base in self._roots):
            return f"{'.'.join(parts)} is a module and has nothing below it; leave out '.*'"
        if not name or below:
            return None
        dotted = ".".join(parts)
        if dotted not in self._modules:
            self._modules[dotted] = self._read(parts)
        found = self._modules[dotted]
        return found if isinstance(found, str) else found.problem(dotted, name)

    def _missing(self, parts: list[str]) -> int | None:
        """The index of the first part that does not exist; None if all do."""
        depth = 0
        for base in self._roots:
            for count in range(len(parts), depth, -1):
                if _exists(os.path.join(base, *parts[:count])):
                    depth = count
                    break
        return None if depth == len(parts) else depth

    def _no_module(self, parts: list[str], missing: int) -> str:
        siblings: set[str] = set(self._foreign) if missing == 0 else set()
        for base in self._roots:
            siblings.update(_children(os.path.join(base, *parts[:missing])))
        prefix = "".join(f"{part}." for part in parts[:missing])
        kind = "module" if missing else "package"
        wanted = prefix + parts[missing]
        return f"there is no {kind} {wanted}" + did_you_mean(wanted, {prefix + sibling for sibling in siblings})

    def _read(self, parts: list[str]) -> _Definitions | str:
        for base in self._roots:
            path = os.path.join(base, *parts)
            for candidate in (path + ".py", os.path.join(path, "__init__.py")):
                if os.path.isfile(candidate):
                    try:
                        return _Definitions(_parse(candidate))
                    except (OSError, SyntaxError, ValueError, RecursionError) as error:
                        return f"{candidate} cannot be read: {error}"
        return _Definitions(ast.Module([], []))


def _parse(path: str) -> ast.Module:
    with open(path, "rb") as stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(stream.read())


class _Definitions:
    """What a module defines. Behind `import *`, a `__getattr__` or a base class of elsewhere anything may be."""

    def __init__(self, tree: ast.Module) -> None:
        self._names = _bound(tree.body)

    def problem(self, module: str, name: str) -> str | None:
        names, owner = self._names, module
        for part in name.split("."):
            if part not in names:
                if not _OPEN.isdisjoint(names):
                    return None
                return f"{owner} does not define {part!r}" + did_you_mean(part, names)
            node = names[part]
            if node is None:
                return None
            names, owner = _members(node, self._names), f"{owner}.{part}"
        return None


_OPEN = frozenset({"*", "__getattr__"})
_COMPREHENSIONS = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_PLAIN_BASES = frozenset({"object", "Module", "ABC", "Protocol", "Enum"})
"""Base classes from elsewhere of which no profile declares a member."""
Scope = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef

Names = dict[str, Scope | None]


def _bound(body: list[ast.stmt]) -> Names:
    """Names bound by statements, not entering functions and classes; the node where it has members of its own."""
    names: Names = {}
    queue: list[ast.AST] = list(body)
    while queue:
        node = queue.pop()
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            names[node.name] = node
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias in node.names:
                names.setdefault(alias.asname or alias.name.split(".")[0])
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                names.setdefault(node.id)
        elif not isinstance(node, _COMPREHENSIONS):
            queue.extend(ast.iter_child_nodes(node))
    return names


def _members(scope: Scope, module: Names) -> Names:
    """Function: parameters and locals. Class: methods, class variables, `self.x`, and those of its bases."""
    if isinstance(scope, ast.ClassDef):
        return _class_members(scope, module, set())
    names = _bound(scope.body)
    arguments = scope.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        names.setdefault(parameter.arg)
    return names


def _class_members(scope: ast.ClassDef, module: Names, seen: set[str]) -> Names:
    names = _bound(scope.body)
    for node in ast.walk(scope):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.setdefault(node.attr)
    for base in scope.bases:
        name = base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else "*"
        known = module.get(name) if isinstance(base, ast.Name) else None
        if name in _PLAIN_BASES or name in seen:
            continue
        seen.add(name)
        inherited = _class_members(known, module, seen) if isinstance(known, ast.ClassDef) else {"*": None}
        names = {**inherited, **names}
    return names


def _exists(path: str) -> bool:
    return os.path.isfile(path + ".py") or os.path.isdir(path)


def _children(folder: str) -> Iterator[str]:
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        name = entry.name.removesuffix(".py")
        if name.isidentifier() and (entry.is_dir() or entry.name.endswith(".py")):
            yield name
