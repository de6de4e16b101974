"""Find the classes of a tree that look like a mixture-of-experts block, by reading it; nothing is imported.

A block makes routed experts and a router, and has a way to be called. Classes that inherit the making of their experts
from such a class and change how they are made or called are blocks too.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

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
    methods: frozenset[str]
    own_init: bool


def blocks(root: Path, package: str = "", paths: Iterable[str] = (".",)) -> list[Unit]:
    """The blocks below `root`/`paths`, sorted by path and line. `package` is the import name of `root`."""
    files = {file for path in paths for file in _python_files(root / path)}
    classes: dict[str, list[_Class]] = {}
    for file in sorted(files):
        for found in _classes(file, root, package):
            classes.setdefault(found.unit.block, []).append(found)
    everything = [one for group in classes.values() for one in group]
    return sorted(
        (one.unit for one in everything if _is_block(one, classes, set())), key=lambda unit: (unit.path, unit.line)
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
        methods=frozenset(methods),
        own_init="__init__" in methods,
    )


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
        and (one.own_init or bool(one.methods & {"forward"}) or any(_CALLED.match(name) for name in one.methods))
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
