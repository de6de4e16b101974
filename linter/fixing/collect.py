"""The fixes of one file's findings."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from tokenize import TokenError
from typing import TYPE_CHECKING

from moelint.linter.decoding import to_utf8
from moelint.linter.fixing.comments import comment_fixes
from moelint.linter.fixing.helpers import defines
from moelint.linter.repair import NeedName
from moelint.linter.worker import Worker

if TYPE_CHECKING:
    from moelint.linter.model import Finding, Fix
    from moelint.linter.plan import Plan
    from moelint.linter.repair import Repair


@dataclass(slots=True)
class Possible:
    """The fixes of one file's findings, and what others would need: names that the tree does not have, by module."""

    fixes: tuple[Fix, ...] = ()
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)


def fixes_for(path: str, data: bytes, findings: Sequence[Finding], plan: Plan) -> tuple[Fix, ...]:
    """The fixes of `findings`, in their order, at most one for each; most findings have none.

    `data` are the bytes that `check` made the findings of, `path` is as they name it. The rules run once more over the
    file. A repair that cannot be written into this file is left out, and so is one that imports what the tree does not
    have. Never raises for what the file holds.
    """
    return possible_fixes(path, data, findings, plan).fixes


def possible_fixes(path: str, data: bytes, findings: Sequence[Finding], plan: Plan) -> Possible:
    """`fixes_for`, and why there are not more of them."""
    possible = Possible()
    wanted = {(f.code, f.region, f.message): f for f in findings if f.path == path}
    if not wanted:
        return possible
    worker = Worker(plan, {os.path.abspath(path): data}, hashing=False)
    profile, codes = worker.scan(path)[3:5]
    rules = [rule for rule in plan.rules if rule.code in codes and any(rule.code == key[0] for key in wanted)]
    from moelint.linter.fixing.rewrite import Rewriter

    made: dict[str, Fix] = {}
    rewriter: Rewriter | None = None
    try:
        for code, region, message, repair in worker.engine.repairs(
            os.path.abspath(path), to_utf8(data), profile, rules
        ):
            finding = wanted.get((code, region, message))
            if finding is None:
                continue
            within = _within_reach(path, repair, possible.missing)
            if within is not None:
                rewriter = rewriter or Rewriter(data)
                fix = rewriter.fix(finding, within)
                if fix is not None:
                    made.setdefault(fix.identity, fix)
        for fix in comment_fixes(data, findings, plan):
            made.setdefault(fix.identity, fix)
    except (SyntaxError, UnicodeError, LookupError, TokenError):
        return Possible()
    possible.fixes = tuple(made[finding.identity] for finding in findings if finding.identity in made)
    return possible


def _within_reach(path: str, repair: Repair, missing: Counter[tuple[str, str]]) -> Repair | None:
    """The repair if what it imports exists; unsafe where that cannot be seen, None where it is known to be missing."""
    for step in repair.steps:
        if isinstance(step, NeedName):
            known = defines(path, step.module, step.name)
            if known is False:
                missing[step.module, step.name] += 1
                return None
            if known is None:
                repair = replace(repair, safe=False)
    return repair
