"""Run rules over a snippet without the pipeline."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
from abc import ABCMeta
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import moelint.rules
from moelint.linter.analysis.module import Module
from moelint.linter.profile import Profile, profile_from_dict
from moelint.linter.rule import Draft, Rule
from moelint.linter.source import Source

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

PROFILES = Path(moelint.rules.__file__).parent / "profiles"
_HEADER = re.compile(r"^# profile: ([a-z]+)$", re.MULTILINE)


@cache
def profile(name: str) -> Profile:
    return profile_from_dict(tomllib.loads((PROFILES / f"{name}.toml").read_text()))


def profile_for(text: str) -> Profile:
    """The profile a snippet names in a `# profile: NAME` line, or the one its words point to."""
    named = _HEADER.search(text)
    if named:
        return profile(named[1])
    for candidate in sorted(p.stem for p in PROFILES.glob("*.toml")):
        if any(symbol in text for symbol in profile(candidate).symbols):
            return profile(candidate)
    return profile("generic")


@cache
def all_rules() -> tuple[type[Rule], ...]:
    found: list[type[Rule]] = []
    for info in pkgutil.iter_modules(moelint.rules.__path__):
        if not info.name.startswith("_") and not info.ispkg:
            module = importlib.import_module(f"moelint.rules.{info.name}")
            found += [
                value
                for value in vars(module).values()
                if isinstance(value, ABCMeta)
                and issubclass(value, Rule)
                and value is not Rule
                and value.__module__ == module.__name__
            ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def parse(text: str, path: str = "example.py") -> Module:
    return Module(Source(path, text.encode()), ast.parse(text), profile_for(text))


def run(rules: Iterable[type[Rule]], text: str, path: str = "example.py") -> list[tuple[int, str, Draft]]:
    """(line, rule name, draft) of every finding."""
    module = parse(text, path)
    return [
        (draft.node.lineno, rule.name(), draft)  # type: ignore[attr-defined]
        for rule in rules
        if module.role in rule.roles and (module.profile.has_helpers or not rule.needs_helpers)
        for draft in rule().check(module)
    ]
