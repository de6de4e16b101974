"""The fixes of one file's findings."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from moelint.linter.decoding import to_utf8
from moelint.linter.fixing.rewrite import Rewriter
from moelint.linter.worker import Worker

if TYPE_CHECKING:
    from moelint.linter.model import Finding, Fix
    from moelint.linter.plan import Plan


def fixes_for(path: str, data: bytes, findings: Sequence[Finding], plan: Plan) -> tuple[Fix, ...]:
    """The fixes of `findings`, in their order, at most one for each; most findings have none.

    `data` are the bytes that `check` made the findings of, `path` is as they name it. The rules run once more over the
    file. A repair that cannot be written into this file is left out. Never raises for what the file holds.
    """
    wanted = {(f.code, f.region, f.message): f for f in findings if f.path == path}
    if not wanted:
        return ()
    worker = Worker(plan, {os.path.abspath(path): data}, hashing=False)
    profile, codes = worker.scan(path)[3:5]
    rules = [rule for rule in plan.rules if rule.code in codes and any(rule.code == key[0] for key in wanted)]
    try:
        rewriter = Rewriter(data)
        repairs = list(worker.engine.repairs(os.path.abspath(path), to_utf8(data), profile, rules))
    except (SyntaxError, UnicodeError, LookupError):
        return ()
    made: dict[str, Fix] = {}
    for code, region, message, repair in repairs:
        finding = wanted.get((code, region, message))
        fix = rewriter.fix(finding, repair) if finding is not None else None
        if fix is not None:
            made.setdefault(fix.identity, fix)
    return tuple(made[finding.identity] for finding in findings if finding.identity in made)
