"""Route analysis in the background: a child process for one file at a time, started when typing has stopped."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from lsprotocol import types

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.children import ChildError, lines_of
from moelint.linter.server.documents import Document

_log = logging.getLogger(__name__)
_QUIET = 2.0
"""Seconds without an edit before routes are analysed anew."""


@dataclass(frozen=True, slots=True, eq=False)
class Routes:
    """The route tables of one state of a document, as `moelint routes --json` prints them."""

    serial: int
    lines: Sequence[str]
    cells: Sequence[dict[str, Any]]
    blocks: Sequence[dict[str, Any]]

    def analysed_line(self, lines: Sequence[str], line: int) -> int | None:
        """The line, from 1, of the analysed text that line `line` of the present text was; None for a new one."""
        start = next((n for n, (old, new) in enumerate(zip(self.lines, lines, strict=False)) if old != new), None)
        if start is None or line <= start:
            return line if line <= len(self.lines) else None
        shift = len(lines) - len(self.lines)
        was = line - shift
        return was if was > start and list(lines[line - 1 :]) == list(self.lines[was - 1 :]) else None


class RouteService:
    """Keeps route tables of open documents. `told` is called when there are new ones."""

    def __init__(self, server: MoelintServer, told: Callable[[], None]) -> None:
        self._server = server
        self._told = told
        self._known: dict[str, Routes] = {}
        self._running: dict[str, tuple[int, asyncio.Task[None]]] = {}
        self._turn = asyncio.Lock()
        self._tokens = 0

    def known(self, uri: str) -> Routes | None:
        """The newest tables of a document, which may be those of an older state of it."""
        return self._known.get(uri)

    def want(self, uri: str) -> None:
        """See to it that there are tables of a document's present state before long."""
        document = self._server.documents.get(uri)
        if document is None or not self._server.user.routes:
            return
        known, running = self._known.get(uri), self._running.get(uri)
        if (known and known.serial == document.serial) or (running and running[0] == document.serial):
            return
        if running is not None:
            running[1].cancel()
        quiet = 0.0 if known is None else _QUIET
        task = asyncio.get_running_loop().create_task(self._analyse(document, quiet))
        self._running[uri] = (document.serial, task)

    def forget(self, uri: str) -> None:
        self._known.pop(uri, None)
        running = self._running.pop(uri, None)
        if running is not None:
            running[1].cancel()

    def outdated(self) -> None:
        """Something on disk changed that other files' routes may go through."""
        for uri in tuple(self._known):
            known = self._known[uri]
            self._known[uri] = Routes(0, known.lines, known.cells, known.blocks)

    def close(self) -> None:
        for _, task in self._running.values():
            task.cancel()

    async def _analyse(self, document: Document, quiet: float) -> None:
        try:
            await asyncio.sleep(quiet)
            checked = await self._server.checked(document.uri)
            if checked is None or checked.document.serial != document.serial or not checked.profile:
                return
            request = {
                "path": document.path,
                "text": document.text,
                "framework": checked.profile,
                "store": os.path.join(checked.project.plan.cache_dir or "", "routes") or None,
            }
            async with self._turn:
                tables = await self._ask(request)
            if tables is None:
                tables = {"cells": [], "blocks": []}
            self._known[document.uri] = Routes(document.serial, document.lines, tables["cells"], tables["blocks"])
            self._told()
        except ChildError as error:
            _log.error("the routes of %s were not analysed: %s", document.path, error)
            self._server.show_status("crashed", f"{document.path}: {error}")
        finally:
            running = self._running.get(document.uri)
            if running is not None and running[0] == document.serial:
                del self._running[document.uri]

    async def _ask(self, request: dict[str, Any]) -> dict[str, Any] | None:
        """The answer of a child, with progress on the way once it turns out that there is something to do."""
        token = ""
        try:
            async for line in lines_of("server.route_child", os.path.dirname(request["path"]), json.dumps(request)):
                message = json.loads(line)
                if "tables" in message:
                    tables: dict[str, Any] | None = message["tables"]
                    return tables
                token = token or await self._begin(os.path.basename(request["path"]))
                self._report(token, message)
        finally:
            if token:
                self._server.work_done_progress.end(token, types.WorkDoneProgressEnd())
        raise ChildError("the analysis gave no answer")

    async def _begin(self, name: str) -> str:
        if not self._server.abilities.progress:
            return ""
        self._tokens += 1
        token = f"moelint-routes-{self._tokens}"
        await self._server.work_done_progress.create_async(token)
        begin = types.WorkDoneProgressBegin(f"moelint: routes of {name}", percentage=0, cancellable=False)
        self._server.work_done_progress.begin(token, begin)
        return token

    def _report(self, token: str, message: dict[str, Any]) -> None:
        if token:
            percentage = 100 * message["done"] // max(1, message["total"])
            report = types.WorkDoneProgressReport(message=message["block"], percentage=percentage)
            self._server.work_done_progress.report(token, report)
