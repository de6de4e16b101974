"""From a path to route tables: find the package, find its blocks, analyse those that the store does not know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from moelint.linter.defaults import EXCLUDE
from moelint.linter.errors import UsageError
from moelint.linter.routes.blocks import Block, find_blocks, mentions_factory
from moelint.linter.routes.driver import Knowledge, analyse
from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.project import Project
from moelint.linter.routes.store import Store
from moelint.linter.routes.table import RouteTable, table

Progress = Callable[[int, int, str], None]
_DEPTH = 3


@dataclass(frozen=True, slots=True)
class Request:
    """What to analyse: a file or folder, optionally only classes of these names."""

    path: str
    classes: tuple[str, ...] = ()
    framework: str = "sglang"
    store: str | None = None
    """Folder of the store; None: neither read nor written."""
    jobs: int = 1


def route_tables(request: Request, progress: Progress | None = None) -> list[RouteTable]:
    """The tables of every block asked for, in order of path and line. Raises UsageError for a path without a package
    of the framework and for class names that no block has."""
    known = knowledge(request.framework)
    root = package_root(request.path, known.profile.packages)
    blocks = list(_blocks(request.path, root, known))
    if request.classes:
        missing = set(request.classes) - {block.name for block in blocks}
        if missing:
            raise UsageError(f"no MoE block is called {', '.join(sorted(missing))} below {request.path}")
        blocks = [block for block in blocks if block.name in request.classes]
    store = Store(request.store, root, known)
    tables: dict[Block, RouteTable] = {}
    for block in blocks:
        found = store.load(block.path, block.name)
        if found is not None:
            tables[block] = found
    pending = [block for block in blocks if block not in tables]
    for done, (block, (result, reads)) in enumerate(_analysed(root, pending, request), 1):
        tables[block] = result
        store.save(result, reads)
        if progress is not None:
            progress(done, len(pending), block.name)
    return [tables[block] for block in blocks]


def package_root(path: str, packages: Sequence[str]) -> str:
    """The folder that holds the framework's top-level package: above `path`, or a few levels below it."""
    absolute = os.path.abspath(path)
    if not os.path.exists(absolute):
        raise UsageError(f"{path} does not exist")
    parts = absolute.split(os.sep)
    for index in range(len(parts) - 1, 0, -1):
        if parts[index] in packages and os.path.isfile(os.sep.join([*parts[: index + 1], "__init__.py"])):
            return os.sep.join(parts[:index]) or os.sep
    for folder, names, _ in os.walk(absolute):
        depth = os.path.relpath(folder, absolute).count(os.sep)
        for package in packages:
            if package in names and os.path.isfile(os.path.join(folder, package, "__init__.py")):
                return folder
        names[:] = sorted(name for name in names if name not in EXCLUDE) if depth < _DEPTH else []
    raise UsageError(f"no package {' or '.join(packages)} at or below {path}")


def _blocks(path: str, root: str, known: Knowledge) -> Iterable[Block]:
    project = Project(root)
    for file in _python_files(path, root, known.profile.packages):
        with open(file, "rb") as stream:
            text = stream.read().decode("utf-8", "replace")
        if not mentions_factory(text, known.facts):
            continue
        relative = os.path.relpath(file, root)
        name = relative.removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
        if known.profile.role(name) in ("leaf", "method", "owner"):
            continue
        module = project.load(name)
        if module is not None:
            yield from find_blocks(module, known.facts, relative.replace(os.sep, "/"))


def _python_files(path: str, root: str, packages: Sequence[str]) -> list[str]:
    absolute = os.path.abspath(path)
    if os.path.isfile(absolute):
        return [absolute]
    below = [absolute] if absolute != root and absolute.startswith(root + os.sep) else []
    starts = below or [os.path.join(root, package) for package in packages]
    found = []
    for start in starts:
        for folder, names, files in os.walk(start):
            names[:] = sorted(name for name in names if name not in EXCLUDE)
            found += [os.path.join(folder, file) for file in sorted(files) if file.endswith(".py")]
    return found


_Analysed = tuple[RouteTable, frozenset[str]]


def _one(root: str, block: Block, framework: str) -> _Analysed:
    analysis = analyse(root, block, knowledge(framework))
    return table(analysis), analysis.reads


def _analysed(root: str, blocks: list[Block], request: Request) -> Iterable[tuple[Block, _Analysed]]:
    if request.jobs <= 1 or len(blocks) <= 1:
        for block in blocks:
            yield block, _one(root, block, request.framework)
        return
    ordered = sorted(blocks, key=lambda block: block.node.lineno - (block.node.end_lineno or 0))
    with ProcessPoolExecutor(request.jobs) as pool:
        futures = [(block, pool.submit(_one, root, block, request.framework)) for block in ordered]
        for block, future in futures:
            yield block, future.result()
