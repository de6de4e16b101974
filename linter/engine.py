"""One file: parse it, run the rules, number the findings, apply the suppressions.

What a file yields travels as plain tuples (`Record`): through the pool, into the cache and out of it.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from moelint.linter.analysis.module import Module
from moelint.linter.identity import Identities
from moelint.linter.source import Source

if TYPE_CHECKING:
    from moelint.linter.profile import Profile
    from moelint.linter.records import FindingRow, Problem, Record, RelatedRow
    from moelint.linter.registry import RuleEntry
    from moelint.linter.rule import Draft

_DEEP = "nested too deeply to be analysed: split the expression or leave the file out"


class Engine:
    """Checks files one after the other. Holds what the files share: rule classes and profiles."""

    def __init__(self, profile: Callable[[str], Profile], severity: Callable[[RuleEntry], str | None]) -> None:
        self._profile = profile
        self._severity = severity

    def check(self, path: str, project_path: str, data: bytes, profile: str, rules: Sequence[RuleEntry]) -> Record:
        """Run `rules` over the bytes of one file. Never raises for what the file holds."""
        facts = self._profile(profile)
        role = facts.role(facts.module_name(path))
        rules = [rule for rule in rules if role in rule.roles and (facts.has_helpers or not rule.needs_helpers)]
        if not rules:
            return ((), (), (), False)
        try:
            tree = parse(data)
        except (SyntaxError, ValueError) as error:
            return ((), (), (_syntax_problem(error),), True)
        except (RecursionError, MemoryError):
            return ((), (), (("MOE-E004", 1, _DEEP, False),), True)
        return self._run(Module(Source(path, data), tree, facts), project_path, rules)

    def _run(self, module: Module, project_path: str, rules: Sequence[RuleEntry]) -> Record:
        drafts: list[tuple[RuleEntry, Draft]] = []
        problems: list[Problem] = []
        for rule in rules:
            try:
                found = [(rule, draft) for draft in rule.load()().check(module)]
            except Exception as error:  # a rule may fail in any way; the others must still run
                problems.append(_crash(rule, error))
            else:
                drafts += found
        identities = Identities(project_path, module.tree)
        rows: list[FindingRow] = []
        for rule, draft in drafts:
            region = module.source.region(draft.node)
            related: list[RelatedRow] = []
            for node, message in draft.related:
                place = module.source.region(node)
                related.append((place.line, place.col, place.end_line, place.end_col, message))
            rows.append(
                (
                    region.line,
                    region.col,
                    region.end_line,
                    region.end_col,
                    rule.code,
                    draft.message,
                    draft.qualname,
                    draft.severity or self._severity(rule) or rule.severity,
                    tuple(related),
                    identities.of(rule.name, draft.qualname, draft.statement or draft.node),
                )
            )
        rows.sort()
        return (tuple(rows), (), tuple(problems), True)


def parse(data: bytes) -> ast.Module:
    """The syntax tree of a file; what the compiler warns about is none of our business."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(data)


def _syntax_problem(error: SyntaxError | ValueError) -> Problem:
    line = getattr(error, "lineno", None) or 1
    return ("MOE-E001", line, f"does not parse: {getattr(error, 'msg', None) or error}", False)


def _crash(rule: RuleEntry, error: Exception) -> Problem:
    text = f"rule {rule.name} failed: {type(error).__name__}: {error}"
    return ("MOE-E000", 1, text, True)
