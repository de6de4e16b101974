"""What a class's source says about it, over its whole ancestry: what makes its parts, which routes it has."""

from __future__ import annotations

import ast
import functools
import inspect
import re
import sys
import textwrap
import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

PIPELINE = "op chain"
_FOREIGN = ("torch", "builtins", "abc", "typing", "collections")
_BUILDERS = re.compile(r"^(__init__|_?(build|init|make|create|setup)\w*)$")
_FACTOR = re.compile(
    r"^((moe_)?rout\w*_scal\w*|(moe_)?route_scale|(moe_)?router_scal\w*|routed_scaling|score_scale|experts?_scale|moe_scale)$"
)
_ROUTE = re.compile(r"^_?forward(_\w+)?$")


@dataclass(frozen=True)
class Factory:
    """What is called to make a part."""

    name: str
    curried: bool = False
    """Whether calling it gives the class, which is then called: `factory(config)(...)`."""


def is_factor(name: str) -> bool:
    """Whether a configuration field or parameter is the routed scaling factor under one of its spellings."""
    return bool(_FACTOR.match(name))


def is_route(name: str) -> bool:
    """Whether a method is, by its name, a way through a block or a part of one."""
    return bool(_ROUTE.match(name))


def lineage(cls: type) -> list[type]:
    """The class and its bases as far as they belong to the target."""
    return [one for one in cls.__mro__ if one.__module__.partition(".")[0] not in _FOREIGN]


def modules(cls: type) -> list[types.ModuleType]:
    """The modules of the class and its bases, nearest first."""
    found = [sys.modules[one.__module__] for one in lineage(cls) if one.__module__ in sys.modules]
    return list(dict.fromkeys(found))


@functools.cache
def class_tree(cls: type) -> ast.ClassDef | None:
    """The class's syntax, None where there is no source."""
    try:
        node = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    except (OSError, TypeError, SyntaxError):
        return None
    return node if isinstance(node, ast.ClassDef) else None


def factories(cls: type) -> dict[str, set[Factory]]:
    """Attribute -> what makes it, from every building method of the ancestry."""
    found: dict[str, set[Factory]] = {}
    for one in lineage(cls):
        tree = class_tree(one)
        for method in tree.body if tree else ():
            if isinstance(method, ast.FunctionDef) and _BUILDERS.match(method.name):
                for attribute, factory in _made(method):
                    found.setdefault(attribute, set()).add(factory)
    return found


def routes(cls: type) -> list[str]:
    """Names of the ways through the block that its classes define, `forward` first, then the op pipeline."""
    names: dict[str, None] = {}
    for one in lineage(cls):
        names.update(dict.fromkeys(name for name in vars(one) if is_route(name) and callable(vars(one)[name])))
    found = sorted(names, key=lambda name: (name != "forward", name))
    return [*found, PIPELINE] if len(operations(cls)) > 1 else found


def operations(cls: type) -> list[str]:
    """The block's `op_*` methods in the order in which its source has them, which is the order of the pipeline."""
    ordered: dict[str, int] = {}
    for one in reversed(lineage(cls)):
        tree = class_tree(one)
        for method in tree.body if tree else ():
            if isinstance(method, ast.FunctionDef) and method.name.startswith("op_"):
                ordered[method.name] = method.lineno
    return sorted(ordered, key=ordered.__getitem__)


def _made(method: ast.FunctionDef) -> Iterator[tuple[str, Factory]]:
    aliases: dict[str, ast.expr] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            targets, value = [node.target], node.value
        else:
            continue
        for target in targets:
            if isinstance(target, ast.Name):
                aliases[target.id] = value
            elif isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self":
                for call in ast.walk(value):
                    if isinstance(call, ast.Call):
                        yield from ((target.attr, factory) for factory in _callees(call.func, aliases, False))


def _callees(function: ast.expr, aliases: dict[str, ast.expr], curried: bool) -> Iterator[Factory]:
    if isinstance(function, ast.Call):
        yield from _callees(function.func, aliases, True)
    elif isinstance(function, ast.IfExp):
        yield from _callees(function.body, aliases, curried)
        yield from _callees(function.orelse, aliases, curried)
    elif isinstance(function, ast.Name) and function.id in aliases:
        value = aliases[function.id]
        if value is not function and not (isinstance(value, ast.Name) and value.id == function.id):
            yield from _callees(value, {key: item for key, item in aliases.items() if key != function.id}, curried)
    elif isinstance(function, ast.Name):
        yield Factory(function.id, curried)
    elif isinstance(function, ast.Attribute):
        yield Factory(function.attr, curried)


def callee_at(error: BaseException, cls: type) -> str | None:
    """The plain name called on the deepest line of the class's own modules that the error passed through."""
    import traceback

    homes = {getattr(module, "__file__", None) for module in modules(cls)}
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in homes]
    if not frames or frames[-1].lineno is None:
        return None
    last = frames[-1]
    tree = _file_tree(last.filename)
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.lineno <= (last.lineno or 0) <= (node.end_lineno or node.lineno)
    ]
    innermost: Any = max(calls, key=lambda node: node.lineno, default=None)
    return innermost.func.id if innermost is not None else None


@functools.cache
def _file_tree(path: str) -> ast.Module:
    with open(path, encoding="utf-8") as source:
        return ast.parse(source.read())
