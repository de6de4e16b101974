"""Run rules over a snippet without the pipeline."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import sys
import tempfile
from abc import ABCMeta
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import moelint.rules
from moelint.linter.analysis.module import Module
from moelint.linter.profile import Profile, profile_from_dict
from moelint.linter.routes import findings
from moelint.linter.routes.knowledge import knowledge_of_file
from moelint.linter.routes.tables import Job, tables_of
from moelint.linter.rule import Draft, RouteRule, Rule
from moelint.linter.source import Source

try:
    import tomllib
except ModuleNotFoundError:
    import tomli as tomllib

sys.path.insert(0, str(Path(__file__).parents[1] / "routes"))
import toy

BENCH = Path(__file__).parents[2] / "fixtures" / "cases.toml"
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
                and value not in (Rule, RouteRule)
                and value.__module__ == module.__name__
            ]
    return tuple(sorted(found, key=lambda rule: rule.code))


def parse(text: str, path: str = "example.py") -> Module:
    return Module(Source(path, text.encode()), ast.parse(text), profile_for(text))


def run(rules: Iterable[type[Rule]], text: str, path: str = "example.py") -> list[tuple[int, str, Draft]]:
    """(line, rule name, draft) of every finding."""
    rules = tuple(rules)
    module = parse(text, path)
    return [
        *_by_routes([rule for rule in rules if issubclass(rule, RouteRule)], text),
        *(
            (draft.node.lineno, rule.name(), draft)  # type: ignore[attr-defined]
            for rule in rules
            if module.role in rule.roles and (module.profile.has_helpers or not rule.needs_helpers)
            if rule.may_find(module.source, module.profile)
            for draft in rule().check(module)
        ),
    ]


def _by_routes(rules: list[type[RouteRule]], text: str) -> list[tuple[int, str, Draft]]:
    """What the rules say of a snippet for the bench of fixtures/cases.toml, or of `class Block` in one for the toy
    framework of tests/routes/toy.py."""
    if not rules:
        return []
    if "from _probe import *" in text:
        return _on_bench(rules, text)
    if "class Block" not in text or " = Router(" not in text:
        return []
    with tempfile.TemporaryDirectory() as folder:
        table = toy.analyse_code(Path(folder), text)
        module = Path(folder, "toy", "models", "block.py")
        files = findings.SourceFiles(folder, {})
        return [
            (site.statement.lineno - toy.HEADER.count("\n"), site.rule.name(), Draft(site.statement, "", site.qualname))
            for site in findings.wrong_sites([table], rules, files, [str(module)])
        ]


def _on_bench(rules: list[type[RouteRule]], text: str) -> list[tuple[int, str, Draft]]:
    profile = profile_from_dict(tomllib.loads(BENCH.read_text()))
    known = knowledge_of_file(str(BENCH), profile)
    assert known is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "example.py")
        path.write_text(text)
        found = findings.wrong_sites(
            tables_of(Job(folder, known), [str(path)]), rules, findings.SourceFiles(folder, {}), [str(path)]
        )
        return [(site.statement.lineno, site.rule.name(), Draft(site.statement, "", site.qualname)) for site in found]
