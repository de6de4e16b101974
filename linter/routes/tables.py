"""From a path to route tables: find the package, find its blocks, analyse those that the store does not know."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field

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


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """One package to analyse. `texts` are the bytes of absolute paths that win over the disk."""

    root: str
    known: Knowledge
    store: str | None = None
    jobs: int = 1
    texts: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def overlays(self) -> dict[str, str]:
        """The texts by path relative to the root."""
        return {os.path.relpath(path, self.root): data.decode("utf-8", "replace") for path, data in self.texts.items()}


def route_tables(request: Request, progress: Progress | None = None) -> list[RouteTable]:
    """The tables of every block asked for, in order of path and line. Raises UsageError for a path without a package
    of the framework and for class names that no block has."""
    known = knowledge(request.framework)
    root = package_root(request.path, known.profile.packages)
    blocks = list(_blocks(_python_files(request.path, root, known.profile.packages), Job(root, known)))
    if request.classes:
        missing = set(request.classes) - {block.name for block in blocks}
        if missing:
            raise UsageError(f"no MoE block is called {', '.join(sorted(missing))} below {request.path}")
        blocks = [block for block in blocks if block.name in request.classes]
    return _tables(Job(root, known, request.store, request.jobs), blocks, progress)


def tables_of(job: Job, files: Iterable[str], progress: Progress | None = None) -> list[RouteTable]:
    """The tables of the blocks in some files below the root of one package."""
    return _tables(job, list(_blocks(files, job)), progress)


def _tables(job: Job, blocks: list[Block], progress: Progress | None) -> list[RouteTable]:
    store = Store(None if job.texts else job.store, job.root, job.known)
    tables: dict[Block, RouteTable] = {}
    for block in blocks:
        found = store.load(block.path, block.name)
        if found is not None:
            tables[block] = found
    pending = [block for block in blocks if block not in tables]
    for done, (block, (result, reads)) in enumerate(_analysed(job, pending), 1):
        tables[block] = result
        store.save(result, reads)
        if progress is not None:
            progress(done, len(pending), block.name)
    return [tables[block] for block in blocks]


def root_of(path: str, packages: Sequence[str]) -> str | None:
    """The folder that holds the framework's top-level package above `path`; for a framework without packages, the
    folder that the file is in."""
    if not packages:
        return os.path.dirname(path)
    parts = path.split(os.sep)
    for index in range(len(parts) - 1, 0, -1):
        if parts[index] in packages and os.path.isfile(os.sep.join([*parts[: index + 1], "__init__.py"])):
            return os.sep.join(parts[:index]) or os.sep
    return None


def package_root(path: str, packages: Sequence[str]) -> str:
    """The folder that holds the framework's top-level package: above `path`, or a few levels below it."""
    absolute = os.path.abspath(path)
    if not os.path.exists(absolute):
        raise UsageError(f"{path} does not exist")
    above = root_of(absolute, packages)
    if above is not None:
        return above
    for folder, names, _ in os.walk(absolute):
        depth = os.path.relpath(folder, absolute).count(os.sep)
        for package in packages:
            if package in names and os.path.isfile(os.path.join(folder, package, "__init__.py")):
                return folder
        names[:] = sorted(name for name in names if name not in EXCLUDE) if depth < _DEPTH else []
    raise UsageError(f"no package {' or '.join(packages)} at or below {path}")


def _blocks(files: Iterable[str], job: Job) -> Iterable[Block]:
    project = Project(job.root, job.overlays)
    for file in files:
        data = job.texts.get(file)
        if data is None:
            with open(file, "rb") as stream:
                data = stream.read()
        if not may_hold_blocks(data.decode("utf-8", "replace"), job.known):
            continue
        relative = os.path.relpath(file, job.root)
        name = relative.removesuffix(".py").replace(os.sep, ".").removesuffix(".__init__")
        if job.known.profile.role(name) in ("leaf", "method", "owner"):
            continue
        module = project.load(name)
        if module is not None:
            yield from find_blocks(module, job.known.facts, relative.replace(os.sep, "/"))


def may_hold_blocks(text: str, known: Knowledge) -> bool:
    """A cheap test whether a module can hold a block."""
    return mentions_factory(text, known.facts)


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


def _one(job: Job, block: Block) -> _Analysed:
    analysis = analyse(job.root, block, job.known, job.overlays)
    return table(analysis), analysis.reads


def _analysed(job: Job, blocks: list[Block]) -> Iterable[tuple[Block, _Analysed]]:
    if job.jobs <= 1 or len(blocks) <= 1:
        for block in blocks:
            yield block, _one(job, block)
        return
    ordered = sorted(blocks, key=lambda block: block.node.lineno - (block.node.end_lineno or 0))
    with ProcessPoolExecutor(job.jobs) as pool:
        futures = [(block, pool.submit(_one, job, block)) for block in ordered]
        for block, future in futures:
            yield block, future.result()
