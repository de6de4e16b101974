"""Find the classes of a tree that look like a mixture-of-experts block, by reading it; nothing is imported.

A block makes routed experts and a router, and has a way to be called. Classes that inherit the making of their experts
from such a class and change how they are made or called are blocks too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeGuard

from moelint.runtime_probe.reading import PIPELINE, is_factor, is_route
from moelint.runtime_probe.records import Unit

_TOKEN = b"experts"
_EXPERTS = re.compile(r"^(?!shared|.*(num|_per|top))\w*experts$")
_ROUTER = re.compile(r"gate|router|topk|top_k|route")
_CALLED = re.compile(r"^(forward\w*|op_\w+|__call__)$")


@dataclass(frozen=True)
class _Class:
    unit: Unit
    bases: tuple[str, ...]
    makes_experts: bool
    has_router: bool
    methods: Mapping[str, frozenset[str]]
    """Each method with the attributes of `self` that it names."""
    own_init: bool
    names_factor: bool


def blocks(root: Path, package: str = "", paths: Iterable[str] = (".",)) -> list[Unit]:
    """The blocks below `root`/`paths`, sorted by path and line. `package` is the import name of `root`."""
    files = {file for path in paths for file in _python_files(root / path)}
    classes: dict[str, list[_Class]] = {}
    for file in sorted(files):
        for found in _classes(file, root, package):
            classes.setdefault(found.unit.block, []).append(found)
    everything = [one for group in classes.values() for one in group]
    units = [_surveyed(one, classes) for one in everything if _is_block(one, classes, set())]
    return sorted(units, key=lambda unit: (unit.path, unit.line))


def _surveyed(one: _Class, classes: dict[str, list[_Class]]) -> Unit:
    """The unit with its routes and whether it asks for the factor, over its ancestry."""
    line = list(_ancestry(one, classes, set()))
    methods: dict[str, frozenset[str]] = {}
    for item in reversed(line):
        methods.update(item.methods)
    routes = [name for name in methods if is_route(name) and (name == "forward" or _to_experts(name, methods, set()))]
    routes.sort(key=lambda name: (name != "forward", name))
    if sum(name.startswith("op_") for name in methods) > 1:
        routes.append(PIPELINE)
    return replace(one.unit, routes=tuple(routes), reads_factor=any(item.names_factor for item in line))


def _to_experts(name: str, methods: Mapping[str, frozenset[str]], seen: set[str]) -> bool:
    """Whether a method names the routed experts, itself or in a method that it names."""
    seen.add(name)
    return any(
        _EXPERTS.match(attribute)
        or (attribute in methods and attribute not in seen and _to_experts(attribute, methods, seen))
        for attribute in methods[name]
    )


def _python_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from path.rglob("*.py")


def _classes(file: Path, root: Path, package: str) -> Iterator[_Class]:
    source = file.read_bytes()
    if _TOKEN not in source and b"MoE" not in source and b"Moe" not in source:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    path = file.relative_to(root)
    module = ".".join((*([package] if package else []), *path.with_suffix("").parts))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield _read(node, Unit(path.as_posix(), node.name, module, node.lineno))


def _read(node: ast.ClassDef, unit: Unit) -> _Class:
    methods = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef | ast.AsyncFunctionDef)}
    made = {name for method in methods.values() for name in _made_attributes(method)}
    return _Class(
        unit=unit,
        bases=tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases),
        makes_experts=any(_EXPERTS.match(name) for name in made),
        has_router=any(_ROUTER.search(name) for name in made),
        methods={name: frozenset(_own_names(method)) for name, method in methods.items()},
        own_init="__init__" in methods,
        names_factor=any(map(_asks_for_factor, ast.walk(node))),
    )


def _own_names(method: ast.AST) -> Iterator[str]:
    """The attributes of `self` that a method names."""
    return (node.attr for node in ast.walk(method) if isinstance(node, ast.expr) and _is_own(node))


def _asks_for_factor(node: ast.AST) -> bool:
    """Whether a node reads the factor: as an attribute, by `getattr`, or as a parameter."""
    if isinstance(node, ast.Attribute):
        return isinstance(node.ctx, ast.Load) and is_factor(node.attr)
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and is_factor(node.value)
    return isinstance(node, ast.arg) and is_factor(node.arg)


def _made_attributes(method: ast.AST) -> Iterator[str]:
    """Names of `self` that a method assigns the result of a call to."""
    for node in ast.walk(method):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            yield from (target.attr for target in node.targets if _is_own(target))


def _is_own(target: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"


def _is_block(one: _Class, classes: dict[str, list[_Class]], seen: set[str]) -> bool:
    """Whether the class makes experts and a router, itself or through bases of this tree, and can be called."""
    line = list(_ancestry(one, classes, seen))
    return (
        any(item.makes_experts for item in line)
        and any(item.has_router for item in line)
        and any(_CALLED.match(name) for item in line for name in item.methods)
        and (one.own_init or any(map(_CALLED.match, one.methods)))
    )


def _ancestry(one: _Class, classes: dict[str, list[_Class]], seen: set[str]) -> Iterator[_Class]:
    if one.unit.key in seen:
        return
    seen.add(one.unit.key)
    yield one
    for base in one.bases:
        near = sorted(classes.get(base, ()), key=lambda item: item.unit.path != one.unit.path)
        if near:
            yield from _ancestry(near[0], classes, seen)
