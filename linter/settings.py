"""The settings of a run: defaults, then the nearest configuration file, then the command line.

Named tuples, because making dataclasses costs more than a small run; the validator is imported only where there is
something to validate.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from moelint.linter import config_file
from moelint.linter.defaults import CACHE, EXCLUDE
from moelint.linter.errors import ConfigError
from moelint.linter.globs import globs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Protocol

    from moelint.linter.model import Severity

    class RuleLike(Protocol):
        """What a selector can speak of."""

        @property
        def code(self) -> str: ...
        @property
        def name(self) -> str: ...
        @property
        def family(self) -> str: ...


ALL = "all"
"""The selector of every rule."""
AUTO = "auto"
"""The profile setting that chooses for each file."""
_NOTHING: Mapping[str, Any] = {}


class Known(NamedTuple):
    """What selectors and profile names may speak of. Profiles are plain data."""

    rules: Sequence[RuleLike]
    profiles: Mapping[str, Mapping[str, Any]]

    @classmethod
    def built_in(cls) -> Known:
        """All that moelint brings."""
        from moelint.linter.registry import entries, profile_data

        return cls(entries(), profile_data())


class Selection(NamedTuple):
    """One layer of rule selection. `select` None keeps what the layer below chose; the more particular selector wins
    (code or name over family over `all`), and of two equals the one that ignores."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()

    def decide(self, rule: RuleLike, before: bool) -> bool:
        wanted = specificity(rule, (*(self.select or ()), *self.extend_select))
        unwanted = specificity(rule, (*self.ignore, *self.extend_ignore))
        if wanted < 0 and unwanted < 0:
            return before if self.select is None else False
        return wanted > unwanted


class Settings(NamedTuple):
    """What a run is told. Paths are absolute or relative to the current folder, patterns relative to `root`."""

    root: str
    """The folder of the configuration file, else the current folder."""
    config: str | None = None
    """The configuration file."""
    layers: tuple[Selection, ...] = ()
    exclude: tuple[str, ...] = EXCLUDE
    per_file_ignores: Mapping[str, tuple[str, ...]] = _NOTHING
    severity: Mapping[str, Severity] = _NOTHING
    profile: str = AUTO
    """`auto`, the name of a built-in profile, or the path of a profile file."""
    profile_extension: Mapping[str, Any] | None = None
    """The table `[tool.moelint.profile]`, validated, names without their modules."""
    cache_dir: str | None = CACHE
    """None: no cache."""
    jobs: int = 0
    """Worker processes; 0 lets moelint choose."""
    output: tuple[str, ...] = ()
    """`FORMAT` or `FORMAT:FILE`, one for each report; nothing leaves the choice to the report."""
    require_reason: bool = False
    baseline: str | None = None
    """The file of findings that do not count."""

    def is_enabled(self, rule: RuleLike) -> bool:
        """Whether the run uses `rule` at all."""
        enabled = True
        for layer in self.layers:
            enabled = layer.decide(rule, enabled)
        return enabled

    def severity_of(self, rule: RuleLike) -> Severity | None:
        """The severity that the configuration gives to `rule`; None leaves the rule its own."""
        best, chosen = -1, None
        for selector, severity in self.severity.items():
            found = specificity(rule, (selector,))
            if found > best:
                best, chosen = found, severity
        return chosen

    def relative(self, path: str) -> str:
        """`path` as the patterns see it: from `root`, `/` between its parts; absolute where it lies elsewhere."""
        full = os.path.abspath(path).replace(os.sep, "/")
        root = self.root.replace(os.sep, "/").rstrip("/") + "/"
        return full[len(root) :] if full.startswith(root) else full.lstrip("/")

    def is_excluded(self, path: str) -> bool:
        """Whether a file or folder is left out of the run, itself or by a folder above it (up to `root`)."""
        return globs(self.exclude).matches(self.relative(path))

    def patterns_for(self, path: str) -> tuple[str, ...]:
        """The patterns of `per-file-ignores` that cover `path`."""
        if not self.per_file_ignores:
            return ()
        relative = self.relative(path)
        return tuple(pattern for pattern in self.per_file_ignores if globs((pattern,)).matches(relative))

    def ignored_in(self, path: str) -> tuple[str, ...]:
        """The selectors that `per-file-ignores` switches off in `path`."""
        return tuple(word for pattern in self.patterns_for(path) for word in self.per_file_ignores[pattern])


class Overrides(NamedTuple):
    """What the command line says. None, an empty tuple or False: nothing."""

    config: str | None = None
    isolated: bool = False
    """Look at no configuration file."""
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    extend_ignore: tuple[str, ...] = ()
    exclude: tuple[str, ...] | None = None
    extend_exclude: tuple[str, ...] = ()
    per_file_ignores: Mapping[str, tuple[str, ...]] = _NOTHING
    severity: Mapping[str, Severity] = _NOTHING
    profile: str | None = None
    cache_dir: str | None = None
    no_cache: bool = False
    jobs: int | None = None
    output: tuple[str, ...] | None = None
    require_reason: bool | None = None
    baseline: str | None = None


NO_OVERRIDES = Overrides()


def specificity(rule: RuleLike, selectors: Iterable[str]) -> int:
    """How particularly the selectors speak of `rule`: 2 code or name, 1 family, 0 `all`, -1 not at all."""
    best = -1
    for selector in selectors:
        if selector in (rule.code, rule.name):
            return 2
        if selector == rule.family:
            best = 1
        elif selector == ALL and best < 0:
            best = 0
    return best


def load(start: str, overrides: Overrides = NO_OVERRIDES, known: Known | None = None) -> Settings:
    """The settings for a file or folder `start`; `known` is what moelint brings unless a test says otherwise.

    Raises ConfigError with all that is wrong in the configuration file, or on the command line.
    """
    found: tuple[str, Mapping[str, Any]] | None = None
    if overrides.config is not None:
        found = overrides.config, config_file.read(overrides.config)
    elif not overrides.isolated:
        found = config_file.find(start)
    settings = Settings(config_file.project_root(start)) if found is None else from_table(found[1], found[0], known)
    if overrides.config is not None and not config_file.is_below(start, settings.root):
        settings = settings._replace(root=config_file.project_root(start))
    return settings if overrides == NO_OVERRIDES else apply(settings, overrides, known)


def from_table(table: Mapping[str, Any], path: str, known: Known | None = None) -> Settings:
    """The settings of the configuration table in `path`. Raises ConfigError."""
    from moelint.linter.validate import settings_problems

    folder = os.path.dirname(os.path.abspath(path))
    problems = settings_problems(table, config_file.prefix(path), folder, known or Known.built_in())
    if problems:
        raise ConfigError(path, problems)
    return _build(table, path, folder)


def apply(settings: Settings, overrides: Overrides, known: Known | None = None) -> Settings:
    """`settings` with the command line on top. Raises ConfigError for names and patterns that are wrong."""
    from moelint.linter.validate import override_problems

    problems = override_problems(overrides, known or Known.built_in())
    if problems:
        raise ConfigError("command line", problems)
    layer = Selection(overrides.select, overrides.ignore, overrides.extend_select, overrides.extend_ignore)
    changes: dict[str, Any] = {}
    if layer != Selection():
        changes["layers"] = (*settings.layers, layer)
    if overrides.exclude is not None or overrides.extend_exclude:
        base = settings.exclude if overrides.exclude is None else overrides.exclude
        changes["exclude"] = (*base, *overrides.extend_exclude)
    if overrides.per_file_ignores:
        changes["per_file_ignores"] = {**settings.per_file_ignores, **overrides.per_file_ignores}
    if overrides.severity:
        changes["severity"] = {**settings.severity, **overrides.severity}
    if overrides.cache_dir is not None:
        changes["cache_dir"] = overrides.cache_dir
    if overrides.no_cache:
        changes["cache_dir"] = None
    for name in ("profile", "jobs", "output", "require_reason", "baseline"):
        value = getattr(overrides, name)
        if value is not None:
            changes[name] = value
    return settings._replace(**changes)


def _build(table: Mapping[str, Any], path: str, root: str) -> Settings:
    profile = table.get("profile", AUTO)
    extension = None
    if isinstance(profile, dict):
        from moelint.linter.profile_extend import bare_names

        extension, profile = bare_names(profile), AUTO
    elif is_profile_file(profile):
        profile = os.path.join(root, profile)
    layer = Selection(
        tuple(table["select"]) if "select" in table else None,
        tuple(table.get("ignore", ())),
        tuple(table.get("extend-select", ())),
        tuple(table.get("extend-ignore", ())),
    )
    return Settings(
        root=root,
        config=path,
        layers=(layer,) if layer != Selection() else (),
        exclude=(*table.get("exclude", EXCLUDE), *table.get("extend-exclude", ())),
        per_file_ignores={pattern: tuple(names) for pattern, names in table.get("per-file-ignores", {}).items()},
        severity=dict(table.get("severity", {})),
        profile=profile,
        profile_extension=extension,
        cache_dir=os.path.join(root, table.get("cache-dir", CACHE)),
        jobs=table.get("jobs", 0),
        output=_outputs(table.get("output", ())),
        require_reason=table.get("require-reason", False),
        baseline=os.path.join(root, table["baseline"]) if "baseline" in table else None,
    )


def _outputs(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def is_profile_file(profile: str) -> bool:
    """Whether a profile is named by a file."""
    return profile.endswith(".toml") or "/" in profile or os.sep in profile
