"""What the configuration says of a file: plan, prefilter, engine and baseline, kept until their files change."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Sequence
from functools import cached_property

from moelint.linter import baseline, config_file, registry, settings
from moelint.linter.discovery import Excludes
from moelint.linter.engine import Engine, parse
from moelint.linter.errors import MoelintError
from moelint.linter.plan import Plan
from moelint.linter.prefilter import Prefilter
from moelint.linter.server.reparse import Reparser
from moelint.linter.server.words import WordsOfFiles

NAMES = (config_file.OWN_NAME, config_file.SHARED_NAME)
Stamps = tuple[tuple[str, int, int], ...]
_KEPT = 64


class Project:
    """One configuration at work."""

    def __init__(self, plan: Plan, parse: Callable[[str, bytes], ast.Module]) -> None:
        self.plan = plan
        self.prefilter = Prefilter(plan.rules, plan.profiles, plan.chooser())
        self.words = WordsOfFiles()
        self.engine = Engine(plan, parse)
        self._excludes = Excludes(plan.exclude, plan.root)
        self.rules = {rule.code: rule for rule in registry.entries()} | {rule.code: rule for rule in plan.rules}
        profile = plan.settings.profile if plan.settings is not None else ""
        self.files = tuple(
            file for file in (plan.baseline, profile if settings.is_profile_file(profile) else None) if file is not None
        )
        """The files beside the configuration that decide about a result."""

    def leaves_out(self, path: str) -> bool:
        """Whether the configuration excludes a file."""
        return self._excludes.covers_asked(path)

    @cached_property
    def entries(self) -> Sequence[baseline.Entry]:
        """The baseline; nothing where none is configured. Raises ConfigError."""
        return baseline.read(self.plan.baseline) if self.plan.baseline is not None else ()


class Projects:
    """Finds the project of a file. `roots` are the workspace folders, which are roots where nothing is configured."""

    def __init__(self, complain: Callable[[str], None]) -> None:
        self.roots: tuple[str, ...] = ()
        self._complain = complain
        self._by_folder: dict[str, tuple[Stamps, Project]] = {}
        self._reparser = Reparser(parse)

    def of(self, path: str) -> Project:
        """The project of a file, read anew if a file that decides about it was touched. A wrong configuration is
        complained about once, and the last right one stays."""
        folder = os.path.dirname(path)
        known = self._by_folder.get(folder)
        if known is not None and known[0] == _stamps(folder, known[1]):
            return known[1]
        try:
            project = self._shared(path) or self._made(path)
        except MoelintError as error:
            self._complain(str(error))
            project = known[1] if known is not None else self._project(Plan(self.root_of(path)))
        if len(self._by_folder) >= _KEPT:
            self._by_folder.clear()
        self._by_folder[folder] = (_stamps(folder, project), project)
        return project

    def root_of(self, path: str) -> str:
        """The innermost workspace folder that holds a file, or its own folder."""
        inside = [root for root in self.roots if config_file.is_below(path, root)]
        return max(inside, key=len, default=os.path.dirname(path))

    def _project(self, plan: Plan) -> Project:
        return Project(plan, self._reparser.parse)

    def _shared(self, path: str) -> Project | None:
        """The project that another folder has for the same reasons."""
        folder = os.path.dirname(path)
        for stamps, project in self._by_folder.values():
            own = project.plan.settings is not None or project.plan.root == self.root_of(path)
            if own and stamps == _stamps(folder, project):
                return project
        return None

    def _made(self, path: str) -> Project:
        if config_file.find(path) is None:
            return self._project(Plan(self.root_of(path)))
        found = settings.load(path)
        project = self._project(Plan(found.root, found))
        _ = project.entries
        return project


def _stamps(folder: str, project: Project) -> Stamps:
    """What is there of the files that decide about `folder`."""
    found = list(project.files)
    while True:
        found += [os.path.join(folder, name) for name in NAMES]
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above
    stamps = []
    for path in found:
        try:
            stat = os.stat(path)
        except OSError:
            continue
        stamps.append((path, stat.st_mtime_ns, stat.st_size))
    return tuple(stamps)
