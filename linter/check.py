"""The one core function, `check`: files and orders in, report out. On the start-up path.

discover -> (cache) -> search bytes -> (cache) -> analyse -> report. What a file yields depends on that file and the
plan alone. Facts about several files would be gathered between the search and the analysis, and their hash would
become part of the hash of an entry.
"""

from __future__ import annotations

import os

from moelint.linter import pool, reading, records, registry
from moelint.linter.discovery import Excludes, Found, discover
from moelint.linter.worker import Worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Container, Mapping, Sequence

    from moelint.linter.cache import Cache
    from moelint.linter.model import Report
    from moelint.linter.plan import Plan
    from moelint.linter.records import Record
    from moelint.linter.worker import Scan

    Progress = Callable[[int, int], object]
    """Called with the number of files whose analysis has begun, and of all that need one."""

_MANY = 64
"""From this number of files on, the cache is asked before any is read, and files are searched by stems."""
_WORTH_CACHING = 100_000
"""From this number of bytes to analyse on, the cache is asked in smaller runs too."""
_SEARCH_SHARE = 400
_ANALYSE_SHARE = 250_000
"""Files to search, and bytes to analyse, that are worth the start of one more process."""


class Outcome:
    """What a run found, as plain tuples by path."""

    def __init__(self) -> None:
        self.records: list[tuple[str, Record]] = []
        """The files that yielded anything, in order."""
        self.paths: Sequence[str] = ()
        """The files that were looked at."""
        self.parsed = 0
        self.cached = 0
        self.profiles: set[str] = set()
        self.remarks: list[str] = []
        """What there is to say beside findings."""

    @property
    def files(self) -> int:
        return len(self.paths)


def check(paths: Sequence[str], plan: Plan, texts: Mapping[str, bytes] | None = None) -> Report:
    """Check files and folders. `texts` holds the bytes of paths that are not to be read from disk. Raises UsageError
    for a path that is neither on disk nor in `texts`."""
    return report(run(paths, plan, texts))


def run(
    paths: Sequence[str], plan: Plan, texts: Mapping[str, bytes] | None = None, progress: Progress | None = None
) -> Outcome:
    """`check` without the report, whose classes take longer to import than a small run."""
    outcome = _Run(plan, texts or {}, progress).run(paths)
    if plan.routes:
        _add_routes(outcome, plan, {os.path.abspath(path): text for path, text in (texts or {}).items()})
    return outcome


def _add_routes(outcome: Outcome, plan: Plan, texts: Mapping[str, bytes]) -> None:
    """Join what whole routes yield with what the files yielded by themselves."""
    from moelint.linter.routes.stage import check_routes

    result = check_routes(outcome.paths, plan, texts)
    outcome.remarks += result.remarks
    known = dict(outcome.records)
    for path, (rows, hidden, _, _) in result.records.items():
        before = known.get(path, ((), (), (), False))
        known[path] = (tuple(sorted((*before[0], *rows))), tuple(sorted((*before[1], *hidden))), *before[2:])
    outcome.records = sorted(known.items(), key=lambda item: item[0])


def report(outcome: Outcome) -> Report:
    """The report of a run."""
    from moelint.linter.model import Report

    rules = {rule.code: rule for rule in registry.entries()}
    return Report(
        tuple(f for path, record in outcome.records for f in records.findings(path, record[0], rules)),
        tuple(d for path, record in outcome.records for d in records.diagnostics(path, record[2])),
        tuple(f for path, record in outcome.records for f in records.hidden(path, record[1], rules)),
        outcome.files,
        outcome.parsed,
        outcome.cached,
        tuple(sorted(outcome.profiles)),
    )


class _Run:
    def __init__(self, plan: Plan, texts: Mapping[str, bytes], progress: Progress | None) -> None:
        self._plan = plan
        self._texts = {os.path.abspath(path): text for path, text in texts.items()}
        self._progress = progress
        self._jobs = plan.jobs or pool.processors()
        self._worker = Worker(plan, self._texts, hashing=plan.cache_dir is not None)
        self._cache: Cache | None = None
        self._started = 0
        self._outcome = Outcome()
        self._yielded: dict[str, Record] = {}

    def run(self, paths: Sequence[str]) -> Outcome:
        excludes = Excludes(self._plan.exclude, self._plan.root)
        found = discover(paths, excludes, force_exclude=self._plan.force_exclude, texts=self._texts)
        many = len(found.files) >= _MANY
        if many:
            self._open_cache()
        hits = self._search(self._changed(found.files), found.may_be_gone, many)
        if sum(hit[1][2] for hit in hits) >= _WORTH_CACHING:
            self._open_cache()
        self._analyse(self._unknown(hits))
        if self._cache is not None:
            self._cache.save()
        return self._finish(found)

    def _open_cache(self) -> None:
        if self._cache is None and self._plan.cache_dir is not None:
            import time

            from moelint.linter.cache import Cache, key_of

            self._started = time.time_ns()
            self._cache = Cache(self._plan.cache_dir, self._plan.root, key_of(self._plan.fingerprint()))

    def _changed(self, files: Sequence[str]) -> Sequence[str]:
        """The files that something has touched since their result was noted."""
        if self._cache is None:
            return files
        todo: list[str] = []
        for path in files:
            try:
                stamp = reading.stamp_of(os.stat(path))
            except OSError:
                todo.append(path)
                continue
            entry = self._cache.by_stamp(self._plan.project_path(path), stamp)
            if entry is None or (self._texts and os.path.abspath(path) in self._texts):
                todo.append(path)
            else:
                self._reuse(path, entry[2], entry[3])
        return todo

    def _search(self, paths: Sequence[str], may_be_gone: Container[str], many: bool) -> list[Scan]:
        """The files in which a rule may fire, biggest first."""
        scan = self._worker.scan_in_bulk if many else self._worker.scan
        hits: list[Scan] = []
        processes = min(self._jobs, len(paths) // _SEARCH_SHARE)
        for found in pool.share(scan, paths, processes, self._worker.prepare_analysis):
            path, _, _, _, codes, problem = found
            if problem is not None:
                if problem[0] != reading.VANISHED or path not in may_be_gone:
                    self._yielded[path] = ((), (), (problem,), False)
            elif codes:
                hits.append(found)
            else:
                self._note(found, None)
        return sorted(hits, key=lambda hit: -hit[1][2])

    def _unknown(self, hits: list[Scan]) -> list[Scan]:
        """Those of `hits` whose bytes the cache does not know."""
        if self._cache is None:
            return hits
        unknown: list[Scan] = []
        for hit in hits:
            entry = self._cache.by_content(self._plan.project_path(hit[0]), hit[2])
            if entry is None:
                unknown.append(hit)
            else:
                self._reuse(hit[0], entry[2], entry[3])
                self._note(hit, entry[3])
        return unknown

    def _analyse(self, hits: list[Scan]) -> None:
        processes = min(self._jobs, sum(hit[1][2] for hit in hits) // _ANALYSE_SHARE)
        if processes > 1:
            self._worker.prepare_analysis()
        for hit, record in pool.share(self._worker.analyse, hits, processes, tick=self._progress):
            self._outcome.parsed += record[3]
            self._keep(hit[0], hit[3], record)
            if hit[5] is None:
                self._note(hit, record)

    def _reuse(self, path: str, profile: str, record: Record | None) -> None:
        self._outcome.cached += 1
        if record is not None:
            self._keep(path, profile, record)

    def _keep(self, path: str, profile: str, record: Record) -> None:
        if profile:
            self._outcome.profiles.add(profile)
        if any(record[:3]):
            self._yielded[path] = record

    def _note(self, scan: Scan, record: Record | None) -> None:
        """Put a result into the cache, with the file's stamp only if a later change must show in it."""
        path, stamp, hashed, profile, _, _ = scan
        if self._cache is None or not stamp[0]:
            return
        trusted = stamp if reading.is_settled(stamp, self._started) else None
        if trusted or record is not None:
            self._cache.store(self._plan.project_path(path), (trusted, hashed, profile, record))

    def _finish(self, found: Found) -> Outcome:
        outcome = self._outcome
        outcome.paths = found.files
        for folder, reason in found.unreadable:
            problem = "MOE-E010", 1, f"the folder cannot be listed ({reason}): change its permissions", False
            outcome.records.append((folder, ((), (), (problem,), False)))
        outcome.records += [(path, self._yielded[path]) for path in found.files if path in self._yielded]
        return outcome
