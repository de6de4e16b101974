"""Checks documents, one after the other, in a thread: what a document yields is worked out once, and given up as soon
as the document changes."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from moelint.linter import baseline, records
from moelint.linter.model import Diagnostic, Finding, Report
from moelint.linter.ratchet import Run
from moelint.linter.server.documents import Document
from moelint.linter.server.projects import Project

_log = logging.getLogger(__name__)
CRASH = "MOE-E001"


class Cancelled(Exception):
    """Nobody waits for this analysis any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """What one state of a document yielded. `findings` count; `hidden` are excused by a comment or the baseline."""

    document: Document
    project: Project
    findings: tuple[Finding, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    hidden: tuple[Finding, ...] = ()
    profile: str = ""


class _Job:
    """The analysis of one state of a document."""

    def __init__(self, document: Document, project: Project) -> None:
        self.document = document
        self.project = project
        self.waiting = 0
        self.future: asyncio.Future[Checked] | None = None
        self._given_up = threading.Event()

    def give_up(self) -> None:
        self._given_up.set()

    def checkpoint(self) -> None:
        """Raises Cancelled if nobody waits."""
        if self._given_up.is_set():
            raise Cancelled

    def run(self) -> Checked:
        """Check the document. Raises Cancelled, and nothing else."""
        self.checkpoint()
        gc.disable()  # what an analysis makes dies with it, without cycles
        try:
            return _checked(self.document, self.project, self.checkpoint)
        except Cancelled:
            raise
        except Exception as error:
            _log.error("the analysis of %s crashed\n%s", self.document.path, traceback.format_exc())
            text = f"moelint failed on this file ({type(error).__name__}: {error}): please report it"
            return Checked(
                self.document, self.project, problems=(Diagnostic(CRASH, self.document.path, 1, text, True),)
            )
        finally:
            gc.enable()


class Analyst:
    """Hands out what documents yield. To be used on the event loop's thread alone."""

    def __init__(self, notice: Callable[[Checked], None]) -> None:
        self._notice = notice
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="moelint-analysis")
        self._jobs: dict[str, _Job] = {}

    async def warm_up(self, project: Project) -> None:
        """Import what an analysis may need, before the first one is asked for."""
        await asyncio.get_running_loop().run_in_executor(self._pool, project.engine.prepare, project.plan.rules)

    async def checked(self, document: Document, project: Project) -> Checked:
        """What `document` yields. Raises Cancelled if the document changes in the meantime."""
        job = self._jobs.get(document.uri)
        if job is None or job.document.serial != document.serial or job.project is not project:
            self.forget(document.uri)
            job = self._jobs[document.uri] = _Job(document, project)
            job.future = asyncio.get_running_loop().run_in_executor(self._pool, self._run, job)
        future = job.future
        assert future is not None
        first = not job.waiting and not future.done()
        job.waiting += 1
        try:
            result = await asyncio.shield(future)
        finally:
            job.waiting -= 1
            if not job.waiting and not future.done():
                job.give_up()
                if self._jobs.get(document.uri) is job:
                    del self._jobs[document.uri]
        if first:
            self._notice(result)
        return result

    def known(self, uri: str) -> Checked | None:
        """What is known of a document's present state without any work."""
        job = self._jobs.get(uri)
        if job is None or job.future is None or not job.future.done() or job.future.exception() is not None:
            return None
        return job.future.result()

    def forget(self, uri: str) -> None:
        """Drop what is known of a document, and stop working on it."""
        job = self._jobs.pop(uri, None)
        if job is not None:
            job.give_up()
            if job.future is not None:
                job.future.add_done_callback(_look_at)

    def close(self) -> None:
        for uri in tuple(self._jobs):
            self.forget(uri)
        self._pool.shutdown(wait=False, cancel_futures=True)

    @staticmethod
    def _run(job: _Job) -> Checked:
        return job.run()


def _look_at(future: asyncio.Future[Checked]) -> None:
    """Take note of an exception that nobody waits for."""
    if not future.cancelled():
        future.exception()


def _checked(document: Document, project: Project, checkpoint: Callable[[], None]) -> Checked:
    path, plan = document.path, project.plan
    if not document.is_python or project.leaves_out(path):
        return Checked(document, project)
    data = document.data
    profile, rules = project.prefilter.select(path, data, project.words.of(path, data))
    if not rules:
        return Checked(document, project, profile=profile)
    rows, hidden_rows, problem_rows, _ = project.engine.check(path, data, profile, rules, checkpoint)
    findings = tuple(records.findings(path, rows, project.rules))
    problems = tuple(records.diagnostics(path, problem_rows))
    hidden = tuple(records.hidden(path, hidden_rows, project.rules))
    checked = Checked(document, project, findings, problems, hidden, profile)
    return checked if plan.baseline is None else _counted(checked, plan.baseline, project.entries)


def _counted(checked: Checked, file: str, entries: Sequence[baseline.Entry]) -> Checked:
    """Without the findings that the baseline covers."""
    path = checked.document.path
    report = Report(checked.findings, checked.problems, (), 1, 1, 0)
    verdict = Run(checked.project.plan, (path,), (path,), report).against(file, entries)
    return replace(checked, findings=verdict.new, hidden=(*checked.hidden, *verdict.excused))
