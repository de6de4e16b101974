"""What is done to one file: search its bytes, then analyse it. On the start-up path, and picklable for `pool`."""

from __future__ import annotations

import os

from moelint.linter import reading, registry
from moelint.linter.prefilter import Leads, Prefilter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moelint.linter.engine import Engine
    from moelint.linter.plan import Plan
    from moelint.linter.reading import Stamp
    from moelint.linter.records import Problem, Record

    Scan = tuple[str, Stamp, bytes, str, tuple[str, ...], Problem | None]
    """Path, stamp, hash of the bytes, profile, codes of the rules that may fire (none for most files), problem."""


class Worker:
    """Searches and analyses files. `texts` are those that are not to be read from disk, by absolute path."""

    def __init__(self, plan: Plan, texts: Mapping[str, bytes], *, hashing: bool) -> None:
        self.plan = plan
        self._texts = texts
        self._hashing = hashing
        self._prefilter = Prefilter(plan.rules, plan.profiles, plan.chooser())
        self._prefilter.learn(self._leads)
        self._rules = {rule.code: rule for rule in plan.rules}
        self._engine: Engine | None = None

    def __getstate__(self) -> tuple[Any, ...]:
        return self.plan, self._texts, self._hashing

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        plan, texts, hashing = state
        self.__init__(plan, texts, hashing=hashing)  # type: ignore[misc]

    @property
    def engine(self) -> Engine:
        if self._engine is None:
            from moelint.linter.engine import Engine

            self._engine = Engine(self.plan)
        return self._engine

    def prepare_analysis(self) -> None:
        """Import all that an analysis may need; to be done before processes are forked."""
        self.engine.prepare(self.plan.rules)

    def scan(self, path: str) -> Scan:
        """Search a file for the tokens of the rules."""
        return self._scan(path, in_bulk=False)

    def scan_in_bulk(self, path: str) -> Scan:
        """The same, with a search for a few stems first, which pays from some dozens of files on."""
        return self._scan(path, in_bulk=True)

    def analyse(self, scan: Scan) -> tuple[Scan, Record]:
        """Run the rules over a file that was searched. One that has changed since is searched again."""
        path, stamp, _, profile, codes, _ = scan
        try:
            data, now = self._read(path)
        except OSError as error:
            problem = reading.problem_of(path, error)
            return _failed(path, problem), ((), (), (problem,), False)
        if now != stamp:
            scan = self._examine(path, data, now)
            profile, codes = scan[3], scan[4]
        rules = [self._rules[code] for code in codes]
        return scan, self.engine.check(os.path.abspath(path), data, profile, rules)

    def _leads(self, profile: str) -> Leads:
        found, shares = registry.token_cover(profile), registry.token_shares()
        if self.plan.profiles != registry.profile_data() or len(self.plan.rules) < len(registry.entries()):
            from moelint.linter.token_cover import cover, restricted

            conjunctions = set(self._prefilter.conjunctions(profile))
            found = cover(conjunctions, shares, restricted(found, conjunctions))
        return Leads(found, shares)

    def _scan(self, path: str, *, in_bulk: bool) -> Scan:
        try:
            data, stamp = self._read(path)
        except OSError as error:
            return _failed(path, reading.problem_of(path, error))
        return self._examine(path, data, stamp, in_bulk=in_bulk)

    def _examine(self, path: str, data: bytes, stamp: Stamp, *, in_bulk: bool = False) -> Scan:
        select = self._prefilter.select_in_bulk if in_bulk else self._prefilter.select
        profile, rules = select(path, data)
        hashed = b""
        if rules and self._hashing:
            from moelint.linter.cache import digest

            hashed = digest(data)
        return (path, stamp, hashed, profile, tuple(rule.code for rule in rules), None)

    def _read(self, path: str) -> tuple[bytes, Stamp]:
        text = self._texts.get(os.path.abspath(path)) if self._texts else None
        return reading.read(path) if text is None else (text, (0, 0, len(text)))


def _failed(path: str, problem: Problem) -> Scan:
    return (path, (0, 0, 0), b"", "", (), problem)
