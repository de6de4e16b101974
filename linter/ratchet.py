"""A run against the baseline: what is new counts, what was there before does not."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from moelint.linter import baseline

if TYPE_CHECKING:
    from moelint.linter.baseline import Entry, Key, Verdict
    from moelint.linter.model import Report
    from moelint.linter.plan import Plan

    Compare = Callable[[Report], Verdict]


class Run:
    """What a run looked at: enough to say whether a baseline entry of which nothing was found is stale.

    `asked` are the paths of the command line, `files` those that were checked.
    """

    def __init__(self, plan: Plan, asked: Sequence[str], files: Sequence[str], report: Report) -> None:
        self._asked = asked
        self._files = files
        self._codes = frozenset(rule.code for rule in plan.rules)
        self._failed = _whole(item.path for item in report.diagnostics)
        self.report = report

    def compare(self, file: str) -> Verdict:
        """The findings against the baseline in `file`. Raises ConfigError for a file that is none."""
        return self.against(file, baseline.read(file))

    def against(self, file: str, entries: Sequence[Entry]) -> Verdict:
        """The findings against what was read from `file`."""
        folder = os.path.dirname(os.path.abspath(file))
        return baseline.compare(self.report.findings, entries, folder, lambda key: self._is_judged(key, folder))

    def _is_judged(self, key: Key, folder: str) -> bool:
        """Whether the run would have found what `key` stands for: its rule was used, and its file was checked without
        a failure, or is gone, or would have been checked if it were not excluded by now."""
        path = os.path.normpath(os.path.join(folder, key.path))
        if key.code not in self._codes or _is_below(path, self._failed):
            return False
        return path in self._checked or _is_below(path, self._folders) or not os.path.lexists(path)

    @cached_property
    def _checked(self) -> frozenset[str]:
        return _whole(self._files)

    @cached_property
    def _folders(self) -> frozenset[str]:
        return _whole(path for path in self._asked if os.path.isdir(path))


def counted(report: Report, verdict: Verdict) -> Report:
    """The report of what the baseline does not cover; the rest is among the suppressed findings."""
    return replace(report, findings=verdict.new, suppressed=(*report.suppressed, *verdict.excused))


def remarks(verdict: Verdict, file: str) -> list[str]:
    """What a user should know of the state of the baseline, in lines; none if it says no more than is there."""
    lines = []
    if verdict.stale:
        count = sum(entry.allowed for entry in verdict.stale)
        gone = f"{count} of its findings {'are' if count > 1 else 'is'} gone"
        lines.append(f"{file}: {gone}; `moelint baseline prune` takes {'them' if count > 1 else 'it'} out")
    if verdict.moved:
        count = len(verdict.moved)
        lines.append(f"{file}: {count} of its findings moved; `moelint baseline prune` follows")
    return lines


def _whole(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(os.path.abspath(path) for path in paths)


def _is_below(path: str, folders: frozenset[str]) -> bool:
    """Whether `path` is one of `folders` or lies in one."""
    while path not in folders:
        above = os.path.dirname(path)
        if above == path:
            return False
        path = above
    return True
