"""What a run does, worked out from defaults, configuration and command line. On the start-up path.

`settings`, with its dataclasses and validators, is imported only where there is something to read or to check.
"""

from __future__ import annotations

import os

from moelint.linter import config_file, defaults, registry
from moelint.linter.profile_choice import Chooser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from moelint.linter.model import Severity
    from moelint.linter.options import Options
    from moelint.linter.registry import RuleEntry
    from moelint.linter.settings import Settings

_OVERRIDES = (
    "select",
    "ignore",
    "extend_select",
    "extend_ignore",
    "exclude",
    "extend_exclude",
    "profile",
    "config",
    "isolated",
)
"""The options that only `settings` can judge."""


class Plan:
    """A run's orders. Plain and picklable, so that a worker process can be given it."""

    def __init__(self, root: str, settings: Settings | None = None) -> None:
        self.root = root
        self._here = os.getcwd()
        self._prefix = os.path.join(root, "")
        """Where project paths and patterns start."""
        self.settings = settings
        self.rules: tuple[RuleEntry, ...] = registry.entries()
        self.severity: dict[str, Severity] = {}
        """Rule code -> severity, where the configuration has another one than the rule."""
        self.profiles: Mapping[str, Mapping[str, Any]] = registry.profile_data()
        self.forced: str | None = None
        self.fallback = "generic"
        self.exclude: tuple[str, ...] = defaults.EXCLUDE
        self.force_exclude = False
        self.cache_dir: str | None = _default_cache(root)
        self.jobs = 0
        """Worker processes; 0 for as many as there are processors."""
        self.output: tuple[str, ...] = ()
        self.require_reason = False
        self.baseline: str | None = None
        self.routes = False
        """Whether blocks are analysed route by route too."""
        if settings is not None:
            self._adopt(settings)

    def _adopt(self, settings: Settings) -> None:
        from moelint.linter.profile_loader import profiles_for

        self.rules = tuple(rule for rule in self.rules if settings.is_enabled(rule))
        for rule in self.rules:
            severity = settings.severity_of(rule)
            if severity is not None:
                self.severity[rule.code] = severity
        profiles = profiles_for(settings)
        self.profiles, self.forced, self.fallback = profiles.data, profiles.forced, profiles.fallback
        self.exclude = settings.exclude
        if settings.cache_dir is None:
            self.cache_dir = None
        elif settings.config is not None:
            self.cache_dir = os.path.join(self.root, settings.cache_dir)
        self.jobs = settings.jobs
        self.output = settings.output
        self.require_reason = settings.require_reason
        self.baseline = settings.baseline

    @property
    def profile_file(self) -> str | None:
        """The profile file that was asked for."""
        from moelint.linter.settings import is_profile_file

        asked = self.settings.profile if self.settings is not None else ""
        return asked if is_profile_file(asked) else None

    def chooser(self) -> Chooser:
        return Chooser(self.profiles, self.forced, self.fallback)

    def rules_for(self, path: str, rules: Sequence[RuleEntry]) -> Sequence[RuleEntry]:
        """Those of `rules` that the configuration does not switch off in the file `path`."""
        selectors = self.settings.ignored_in(path) if self.settings is not None else ()
        if not selectors:
            return rules
        from moelint.linter.settings import specificity

        return [rule for rule in rules if specificity(rule, selectors) < 0]

    def severity_of(self, rule: RuleEntry) -> Severity:
        """The severity of a rule's findings, unless the rule thinks less of one."""
        return self.severity.get(rule.code, rule.severity)

    def project_path(self, path: str) -> str:
        """`path` as identities and the cache name it: from the root, with `/` between its parts."""
        full = path if os.path.isabs(path) else f"{self._here}{os.sep}{path}"
        if not full.startswith(self._prefix) or os.pardir in full:
            try:
                full = os.path.relpath(full, self.root)
            except ValueError:  # another drive
                full = os.path.abspath(full)
        else:
            full = full[len(self._prefix) :]
        return full.replace(os.sep, "/") if os.sep != "/" else full

    def fingerprint(self) -> str:
        """All that decides what a file yields, beside its bytes and the version of moelint."""
        settings = self.settings
        return repr(
            (
                self.root,
                [rule.code for rule in self.rules],
                sorted(self.severity.items()),
                sorted((name, sorted(data.items())) for name, data in self.profiles.items()),
                self.forced,
                self.fallback,
                self.require_reason,
                settings and sorted(settings.per_file_ignores.items()),
            )
        )


def plan_for(options: Options) -> Plan:
    """The plan of one command line. Raises ConfigError for a configuration that is wrong."""
    start = common_folder(options.paths)
    if any(options.says(name) for name in _OVERRIDES) or config_file.find(start) is not None:
        from moelint.linter.settings import Overrides, load

        given = {name: getattr(options, name) for name in _OVERRIDES}
        for name, value in given.items():
            if isinstance(value, list):
                given[name] = tuple(value) or (None if name in ("select", "exclude") else ())
        settings = load(start, Overrides(**given))
        plan = Plan(settings.root, settings)
    else:
        plan = Plan(config_file.project_root(start))
    plan.force_exclude = options.force_exclude
    plan.routes = options.routes
    if options.no_cache:
        plan.cache_dir = None
    elif options.cache_dir is not None:
        plan.cache_dir = os.path.abspath(options.cache_dir)
    if options.jobs is not None:
        plan.jobs = options.jobs
    plan.output = tuple(options.output) or plan.output
    plan.baseline = None if options.no_baseline else options.baseline or plan.baseline
    return plan


def _default_cache(root: str) -> str:
    """The cache of a project. Code outside the current folder is not ours to write to: its cache is the user's."""
    if root == os.getcwd():
        return os.path.join(root, defaults.CACHE)
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
    return os.path.join(base, "moelint", root.replace(os.sep, "%").replace(":", "%"))


def folder_of(paths: Sequence[str]) -> str:
    """The innermost folder that holds all of `paths`, a folder itself."""
    start = common_folder(paths)
    return start if os.path.isdir(start) else os.path.dirname(start) or "."


def common_folder(paths: Sequence[str]) -> str:
    """The innermost folder that holds all of `paths`; the current folder for standard input."""
    real = [path for path in paths if path != "-"]
    if len(real) == 1:
        return real[0]
    try:
        return os.path.commonpath([os.path.abspath(path) for path in real]) if real else "."
    except ValueError:  # several drives
        return "."
