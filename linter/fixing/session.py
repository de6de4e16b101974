"""`--fix` and `--diff`: fixes applied to files, checked again, and only then written or shown."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import diff_bytes, unified_diff
from typing import TYPE_CHECKING

from moelint.linter import check
from moelint.linter.fixing.collect import fixes_for, possible_fixes
from moelint.linter.fixing.combine import combine
from moelint.linter.fixing.text import parses
from moelint.linter.suppress import MODULE, UNUSED
from moelint.linter.writing import rewrite

if TYPE_CHECKING:
    from moelint.linter.model import Finding, Fix, Report
    from moelint.linter.plan import Plan

_ROUNDS = 10
"""A fix may wait for another one that it overlaps; so often."""
_LINE = re.compile(rb"[^\n]*\n|[^\n]+")


@dataclass
class Session:
    """The fixes of one run, file by file; nothing is written before `write`."""

    old: dict[str, bytes] = field(default_factory=dict)
    new: dict[str, bytes] = field(default_factory=dict)
    """The files that changed."""
    fixed: Counter[str] = field(default_factory=Counter)
    """How many findings were fixed in each file."""
    unsafe: int = 0
    """How many more have an unsafe fix, which was not asked for."""
    missing: Counter[tuple[str, str]] = field(default_factory=Counter)
    """Names that the tree does not have, by module, with how many findings would be fixed with them."""
    refused: list[str] = field(default_factory=list)
    """What could not be done, a line each."""

    def write(self) -> None:
        """Write the changed files; what cannot be written is refused."""
        for path in sorted(self.new):
            try:
                rewrite(path, self.old[path], self.new[path])
            except OSError as error:
                self.refused.append(f"{path}: not changed: {error.strerror or error}")
                del self.new[path], self.fixed[path]

    def diff(self) -> bytes:
        """All changes as one unified diff, in the bytes of the files."""
        return b"".join(_diff(path, self.old[path], self.new[path]) for path in sorted(self.new))


def repaired(findings: Sequence[Finding], plan: Plan, texts: Mapping[str, bytes], *, unsafe: bool) -> Session:
    """Work out the fixes of `findings`, those that are `unsafe` only if asked to. `texts` holds what is not on disk."""
    session = Session()
    for path, own in _by_path(findings).items():
        try:
            session.old[path] = texts[path] if path in texts else _read(path)
        except OSError as error:
            session.refused.append(f"{path}: not changed: {error.strerror or error}")
            continue
        _File(path, plan, session, unsafe).repair(own)
    return session


def with_fixes(report: Report, plan: Plan, texts: Mapping[str, bytes], *, unsafe: bool) -> Report:
    """The report with the fixes of its findings, which nobody has applied yet."""
    found: list[Fix] = []
    for path, own in _by_path(report.findings).items():
        try:
            data = texts[path] if path in texts else _read(path)
        except OSError:
            continue
        found += (fix for fix in fixes_for(path, data, own, plan) if fix.safe or unsafe)
    return replace(report, fixes=tuple(found))


def _by_path(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    by_path: dict[str, list[Finding]] = {}
    for finding in findings:
        by_path.setdefault(finding.path, []).append(finding)
    return by_path


class _File:
    """One file on its way through rounds of fixes."""

    def __init__(self, path: str, plan: Plan, session: Session, unsafe: bool) -> None:
        self._path = path
        self._plan = plan
        self._session = session
        self._unsafe = unsafe
        self._data = session.old[path]
        self._findings: tuple[Finding, ...] = ()

    def repair(self, wanted: Sequence[Finding]) -> None:
        """Fix what can be fixed of `wanted`, in rounds, as one fix may be in the way of another."""
        kinds = {_kind(finding) for finding in wanted}
        failed: set[str] = set()
        todo = list(wanted)
        for number in range(_ROUNDS):
            possible = possible_fixes(self._path, self._data, todo, self._plan)
            fixes = tuple(fix for fix in possible.fixes if fix.safe or self._unsafe)
            if number == 0:
                self._session.unsafe += len(possible.fixes) - len(fixes)
                self._session.missing.update(possible.missing)
                self._findings = (fixes and self._check(self._data)) or ()
            if not fixes:
                break
            waiting = self._apply(fixes)
            if waiting is None:
                waiting = self._one_by_one(fixes, failed)
            if not waiting:
                break
            todo = [f for f in self._findings if _kind(f) in kinds and f.identity not in failed]
        else:
            self._session.refused.append(f"{self._path}: fixes that overlap are left, run again")
        if self._data != self._session.old[self._path]:
            self._session.new[self._path] = self._data

    def _apply(self, fixes: Sequence[Fix]) -> tuple[Fix, ...] | None:
        """Apply fixes together and return those that have to wait; None, and no change, if the result is not right."""
        try:
            done = combine(self._data, fixes)
        except UnicodeError:
            return None
        after = self._check(done.data)
        if after is None or not _better(self._findings, after, done.applied):
            return None
        self._data, self._findings = done.data, after
        self._session.fixed[self._path] += len(done.applied)
        return done.refused

    def _one_by_one(self, fixes: Sequence[Fix], failed: set[str]) -> tuple[Fix, ...]:
        """Try them alone, the first that is right; the others wait, and those that are not right are refused."""
        for position, fix in enumerate(fixes):
            if self._apply([fix]) is not None:
                return tuple(fixes[position + 1 :])
            failed.add(fix.identity)
            line = next(f.region.line for f in self._findings if f.identity == fix.identity)
            self._session.refused.append(
                f"{self._path}:{line}: {fix.code} not fixed: the file would have another finding or none less"
            )
        return ()

    def _check(self, data: bytes) -> tuple[Finding, ...] | None:
        """The findings of a text; None if it cannot be checked."""
        if not parses(data):  # a check does not parse a file in which nothing can be found
            return None
        report = check.check([self._path], self._plan, {self._path: data})
        return None if report.diagnostics else report.findings


def _better(before: Sequence[Finding], after: Sequence[Finding], fixes: Sequence[Fix]) -> bool:
    """Whether the findings that were fixed are gone and none has come. A comment that hid one of them may be left."""
    repaired = {fix.identity for fix in fixes}
    allowed = Counter(_kind(finding) for finding in before if finding.identity not in repaired)
    allowed[UNUSED, MODULE] += len(fixes)
    found = Counter(map(_kind, after))
    return all(found[kind] <= allowed[kind] for kind in found)


def _kind(finding: Finding) -> tuple[str, str]:
    """What a finding has in common with itself before an edit: the rule and the function."""
    return finding.code, finding.qualname


def _read(path: str) -> bytes:
    with open(path, "rb") as stream:
        return stream.read()


def _diff(path: str, before: bytes, after: bytes) -> bytes:
    name = os.fsencode(path.replace(os.sep, "/")).lstrip(b"/")
    lines = diff_bytes(unified_diff, _LINE.findall(before), _LINE.findall(after), b"a/" + name, b"b/" + name)
    return b"".join(line if line.endswith(b"\n") else line + b"\n\\ No newline at end of file\n" for line in lines)
