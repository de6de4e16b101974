"""Whether the names that a repair needs exist in the tree that the file is part of."""

from __future__ import annotations

import ast
import os
import re
from functools import lru_cache


def defines(path: str, module: str, name: str) -> bool | None:
    """Whether `module` has `name` in the tree around the file `path`; None where there is no such module to look at."""
    source = _module_file(os.path.abspath(path), module)
    if source is None:
        return None
    try:
        stamp = os.stat(source).st_mtime_ns
        return name in _names(source, stamp)
    except (OSError, SyntaxError, ValueError):
        return None


def _module_file(path: str, module: str) -> str | None:
    """The file of a module of the package that `path` is in, or that lies beside one of its folders."""
    parts = module.split(".")
    folder = os.path.dirname(path)
    while True:
        base = os.path.join(folder, *parts)
        for source in (f"{base}.py", os.path.join(base, "__init__.py")):
            if os.path.isfile(source):
                return source
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


@lru_cache(maxsize=16)
def _names(source: str, stamp: int) -> frozenset[str]:
    """The names that a module binds at its top level, blocks of `if` and `try` included."""
    with open(source, "rb") as stream:
        tree = ast.parse(stream.read())
    found: set[str] = set()
    todo: list[ast.stmt] = list(tree.body)
    while todo:
        statement = todo.pop()
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(statement.name)
        elif isinstance(statement, (ast.Import, ast.ImportFrom)):
            found.update(alias.asname or alias.name.split(".")[0] for alias in statement.names)
        elif isinstance(statement, ast.Assign):
            found.update(re.findall(r"\w+", " ".join(map(ast.unparse, statement.targets))))
        else:
            for field in ("body", "orelse", "finalbody"):
                todo += getattr(statement, field, [])
            for handler in getattr(statement, "handlers", []):
                todo += handler.body
    return frozenset(found)
