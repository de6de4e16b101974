"""The one core function: files and settings in, report out."""

from __future__ import annotations

import os

from moelint.linter import defaults, discovery, records, registry
from moelint.linter.prefilter import MARK, Prefilter, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moelint.linter.model import Report
    from moelint.linter.options import Options
    from moelint.linter.records import Record

MAX_BYTES = 10_000_000


class Outcome:
    """What a run found, in plain tuples."""

    def __init__(self) -> None:
        self.records: list[tuple[str, Record]] = []
        self.files = 0
        self.parsed = 0
        self.cached = 0
        self.profiles: set[str] = set()


def run(paths: Sequence[str], options: Options) -> Outcome:
    """Check `paths`. Raises UsageError for a path that does not exist."""
    rules = _selected(options)
    profiles = registry.profile_data()
    prefilter = Prefilter(rules, profiles, options.profile)
    outcome = Outcome()
    engine = None
    built = {}

    def profile(name: str):
        if name not in built:
            built[name] = registry.build_profile(profiles[name])
        return built[name]

    for path in discovery.discover(paths, frozenset(defaults.EXCLUDE)):
        outcome.files += 1
        data = read(path, MAX_BYTES)
        if data is None or not prefilter.survives(data):
            continue
        name, chosen = prefilter.select(path, data)
        outcome.profiles.add(name)
        if not chosen:
            continue
        if engine is None:
            from moelint.linter.engine import Engine

            engine = Engine(profile, lambda rule: None)
        record = engine.check(path, path, data, name, chosen)
        outcome.parsed += record[3]
        if record[0] or record[1] or record[2]:
            outcome.records.append((path, record))
    return outcome


def check(paths: Sequence[str], options: Options) -> Report:
    return to_report(run(paths, options))


def to_report(outcome: Outcome) -> Report:
    from moelint.linter.model import Report

    rules = {rule.code: rule for rule in registry.entries()}
    return Report(
        tuple(f for path, record in outcome.records for f in records.findings(path, record[0], rules)),
        tuple(d for path, record in outcome.records for d in records.diagnostics(path, record[2])),
        tuple(f for path, record in outcome.records for f in records.findings(path, record[1], rules)),
        outcome.files,
        outcome.parsed,
        outcome.cached,
        tuple(sorted(outcome.profiles)),
    )


def _selected(options: Options) -> list[registry.RuleEntry]:
    from moelint.linter.settings import Known, Selection

    layer = Selection(
        tuple(options.select) or None, tuple(options.ignore), tuple(options.extend_select), tuple(options.extend_ignore)
    )
    return [rule for rule in registry.entries() if layer.decide(rule, True)]
