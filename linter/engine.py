"""One file: parse it, run the rules, number the findings, apply the suppressions.

What a file yields depends on its bytes, its path and the plan alone. It travels as plain tuples (`Record`): through
the pool, into the cache and out of it.
"""

from __future__ import annotations

import ast
import os
import sys
import tokenize
import traceback
import warnings
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from moelint.linter import registry
from moelint.linter.analysis.module import Module
from moelint.linter.decoding import to_utf8
from moelint.linter.identity import Identities
from moelint.linter.source import Source
from moelint.linter.suppress import Suppressions, has_comments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from moelint.linter.model import Region, Severity
    from moelint.linter.plan import Plan
    from moelint.linter.profile import Profile
    from moelint.linter.records import FindingRow, HiddenRow, Problem, Record
    from moelint.linter.registry import RuleEntry
    from moelint.linter.repair import Repair
    from moelint.linter.rule import Draft, Rule

    _Crashes = dict[str, list[RuleEntry]]

    Parse = Callable[[str, bytes], ast.Module]
    """From the path and the bytes, in UTF-8, to the tree; may raise SyntaxError, RecursionError and MemoryError."""
    Repaired = tuple[str, Region, str, Repair]
    """Code, region and message of a finding, and its repair."""

_SEVERITIES = ("note", "warning", "error")
NOTHING: Record = ((), (), (), False)
_DEEP: Problem = ("MOE-E004", 1, "nested too deeply to be analysed: split the expression or exclude the file", False)
_SHALLOW = 30_000
"""So many characters cannot nest deeply enough to overflow a stack."""


class Engine:
    """Checks files one after the other. Holds what the files share: rule classes and profiles."""

    def __init__(self, plan: Plan, parse: Parse | None = None) -> None:
        self._plan = plan
        self._parse = parse or _parse_whole
        self._profiles: dict[str, Profile] = {}
        self._classes: dict[str, type[Rule]] = {}

    def prepare(self, rules: Iterable[RuleEntry]) -> None:
        """Import `rules` now, before processes are forked."""
        for rule in rules:
            if not rule.by_routes:
                self._class(rule)

    def check(
        self,
        path: str,
        data: bytes,
        profile: str,
        rules: Sequence[RuleEntry],
        checkpoint: Callable[[], object] | None = None,
    ) -> Record:
        """Run those of `rules` that are meant for the file over its bytes. `path` is absolute. Never raises for what
        the file holds, but passes on what `checkpoint`, called before each rule, raises."""
        facts = self.profile(profile)
        role = facts.role(facts.module_name(path))
        allowed = self._plan.rules_for(path, rules)
        rules = [r for r in allowed if role in r.roles and (facts.has_helpers or not r.needs_helpers)]
        if not rules:
            return NOTHING
        try:
            source = Source(path, to_utf8(data))
            rules, crashes = self._promising(rules, source, facts)
            if not rules and not crashes:
                return NOTHING
            module = Module(source, self._parse(path, source.data), facts)
        except SyntaxError as error:
            problem = "MOE-E002", error.lineno or 1, f"the file does not parse: {error.msg}", False
            return ((), (), (problem,), True)
        except (RecursionError, MemoryError):
            return ((), (), (_DEEP,), True)
        try:
            return self._run(module, rules, crashes, checkpoint)
        finally:
            _release(module)

    def repairs(self, path: str, data: bytes, profile: str, rules: Sequence[RuleEntry]) -> Iterator[Repaired]:
        """What `rules` would repair in the file, with the rule and the place of each finding; of a file that cannot be
        analysed, nothing. `data` is in UTF-8."""
        try:
            module = Module(Source(path, data), parse(data), self.profile(profile))
        except (SyntaxError, RecursionError, MemoryError):
            return
        for rule in rules:
            for draft in self._class(rule)().check(module):
                repair = draft.repair() if draft.repair is not None else None
                if repair is not None:
                    yield rule.code, module.source.region(draft.node), draft.message, repair

    def _promising(
        self, rules: Iterable[RuleEntry], source: Source, facts: Profile
    ) -> tuple[list[RuleEntry], _Crashes]:
        """The rules that may find something in these bytes, and those that failed to say so, by cause."""
        promising: list[RuleEntry] = []
        crashes: _Crashes = {}
        for rule in rules:
            try:
                if self._class(rule).may_find(source, facts):
                    promising.append(rule)
            except (RecursionError, MemoryError):
                raise
            except Exception as error:  # a rule may fail in any way, and the others must still run
                crashes.setdefault(_cause(error), []).append(rule)
        return promising, crashes

    def _run(
        self,
        module: Module,
        rules: Sequence[RuleEntry],
        crashes: _Crashes,
        checkpoint: Callable[[], object] | None,
    ) -> Record:
        rows: list[FindingRow] = []
        problems: list[Problem] = []
        failed = {rule.code for victims in crashes.values() for rule in victims}
        identities = Identities(self._plan.project_path(module.path), module.tree)
        for rule in rules:
            if checkpoint is not None:
                checkpoint()
            try:
                rows += self._rows(rule, module, identities)
            except (RecursionError, MemoryError):
                failed.add(rule.code)
                problems.append(_DEEP)
            except Exception as error:  # a rule may fail in any way, and the others must still run
                failed.add(rule.code)
                crashes.setdefault(_cause(error), []).append(rule)
        problems += [_crash(cause, victims) for cause, victims in crashes.items()]
        rows.sort()
        hidden: list[HiddenRow] = []
        if has_comments(module.source.data):
            try:
                suppressions = Suppressions(module.source.text, self._plan, identities)
            except (tokenize.TokenError, SyntaxError) as error:
                problems.append(("MOE-E009", 1, f"the comments cannot be read, nothing is suppressed: {error}", False))
            else:
                told = self._plan.rules_for(module.path, self._plan.rules)
                active = {rule.code for rule in told if not rule.by_routes} - failed
                rows, hidden = suppressions.apply(rows, active)
        return (tuple(rows), tuple(hidden), tuple(dict.fromkeys(problems)), True)

    def _rows(self, rule: RuleEntry, module: Module, identities: Identities) -> list[FindingRow]:
        """The findings of one rule in source order, each once."""
        source = module.source
        drafts = {(source.region(draft.node), draft.message): draft for draft in self._class(rule)().check(module)}
        rows: list[FindingRow] = []
        for (region, message), draft in sorted(drafts.items(), key=lambda item: item[0]):
            related = []
            for node, text in draft.related:
                place = source.region(node)
                related.append((place.line, place.col, place.end_line, place.end_col, text))
            identity = identities.of_node(rule.code, draft.qualname, draft.statement or draft.node)
            severity = self._severity(rule, draft)
            where = (region.line, region.col, region.end_line, region.end_col)
            rows.append((*where, rule.code, message, draft.qualname, severity, tuple(related), identity))
        return rows

    def _severity(self, rule: RuleEntry, draft: Draft) -> Severity:
        """The configured severity, unless the rule itself thinks less of this one finding."""
        usual = self._plan.severity_of(rule)
        if draft.severity is None or draft.severity == rule.severity:
            return usual
        return min(draft.severity, usual, key=_SEVERITIES.index)

    def _class(self, rule: RuleEntry) -> type[Rule]:
        found = self._classes.get(rule.code)
        if found is None:
            found = self._classes[rule.code] = rule.load()
        return found

    def profile(self, name: str) -> Profile:
        found = self._profiles.get(name)
        if found is None:
            found = self._profiles[name] = registry.build_profile(self._plan.profiles[name])
        return found


def _parse_whole(path: str, data: bytes) -> ast.Module:
    return parse(data)


def parse(data: bytes) -> ast.Module:
    """The syntax tree of a file in UTF-8; what the compiler warns about is none of our business. Raises SyntaxError."""
    text = data.decode("utf-8-sig")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if sys.version_info < (3, 11) and len(text) > _SHALLOW:
            _refuse_depth(text)
        try:
            return ast.parse(text)
        except ValueError as error:  # null bytes, before Python 3.12
            raise SyntaxError(str(error), ("", 1, None, None)) from None


def _refuse_depth(text: str) -> None:
    """Raises RecursionError, as newer Pythons do by themselves, where Python 3.10 would overflow the C stack."""
    from symtable import symtable

    with suppress(SyntaxError):
        symtable(text, "<text>", "exec")


def _release(module: Module) -> None:
    """Cut the cycles among the facts, so that the tree dies with its last use although the collector is off."""
    for cls in module.classes.values():
        cls.methods.clear()
    module.__dict__.clear()


def _cause(error: Exception) -> str:
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error}; {os.path.basename(frame.filename)}:{frame.lineno}"


def _crash(cause: str, rules: Sequence[RuleEntry]) -> Problem:
    names = ", ".join(rule.name for rule in rules)
    codes = ",".join(rule.code for rule in rules)
    text = f"{names} failed on this file ({cause}): please report it; --ignore {codes} leaves out what failed"
    return ("MOE-E001", 1, text, True)
