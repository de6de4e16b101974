"""The server: what its features share."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from moelint import __version__
from moelint.linter.server.analyst import Analyst, Cancelled, Checked
from moelint.linter.server.client import Abilities, UserSettings
from moelint.linter.server.diagnostics import SOURCE, Presenter
from moelint.linter.server.documents import Document, Documents
from moelint.linter.server.pages import Pages
from moelint.linter.server.projects import Projects

_log = logging.getLogger(__name__)
STATUS = "moelint/status"


class Protocol(LanguageServerProtocol):
    """Without pygls's own keeping of documents: see `documents`."""

    lsp_text_document__did_open = None  # type: ignore[assignment]
    lsp_text_document__did_change = None  # type: ignore[assignment]
    lsp_text_document__did_close = None  # type: ignore[assignment]


class MoelintServer(LanguageServer):
    """State and services; features are registered from outside."""

    def __init__(self) -> None:
        super().__init__(SOURCE, __version__, protocol_cls=Protocol, max_workers=2)
        self.documents = Documents()
        self.projects = Projects(self.complain)
        self.analyst = Analyst(self._noticed)
        self.pages = Pages()
        self.presenter = Presenter(self.pages.address, self._open_lines)
        self.user = UserSettings()
        self.abilities = Abilities()
        self._complaints: set[str] = set()
        self._status = ""

    def on(self, name: str, handler: Callable[[Any], object], options: object = None) -> None:
        """Have a method answer a request or a notification. pygls marks what it registers, which methods refuse."""
        if asyncio.iscoroutinefunction(handler):

            async def wait(params: Any) -> object:
                return await handler(params)

            self.feature(name, options)(wait)
        else:

            def call(params: Any) -> object:
                return handler(params)

            self.feature(name, options)(call)

    async def checked(self, uri: str) -> Checked | None:
        """What the present state of a document yields, however often it changes meanwhile; None if it is not open."""
        while True:
            document = self.documents.get(uri)
            if document is None:
                return None
            try:
                return await self.analyst.checked(document, self.projects.of(document.path))
            except Cancelled:
                continue

    def diagnostics(self, checked: Checked) -> list[types.Diagnostic]:
        return self.presenter.diagnostics(checked.findings, checked.problems, checked.document.lines)

    def adopt(self, given: object) -> None:
        """Take over settings that the client sent."""
        self.user, problems = self.user.updated(given)
        for problem in problems:
            self.complain(problem)

    def complain(self, text: str) -> None:
        """Tell the user what is wrong, once."""
        _log.warning("%s", text)
        if text in self._complaints:
            return
        if len(self._complaints) > 100:
            self._complaints.clear()
        self._complaints.add(text)
        self.window_show_message(types.ShowMessageParams(types.MessageType.Warning, f"moelint: {text}"))

    def show(self, address: str) -> str:
        """Have a file opened, if the client can; its address is the answer to whoever asked for it."""
        if self.abilities.show_document:
            self.window_show_document(types.ShowDocumentParams(address, take_focus=True))
        return address

    def show_status(self, state: str, message: str = "") -> None:
        """Say how the server is, to clients that asked for it: `ok`, `busy` or `crashed`."""
        if self.user.status and state != self._status:
            self.protocol.notify(STATUS, {"state": state, "message": message})
        self._status = state

    def _noticed(self, checked: Checked) -> None:
        crash = next((problem.message for problem in checked.problems if problem.internal), None)
        if crash is None:
            self.show_status("ok")
            return
        text = f"{checked.document.path}: {crash}"
        self.window_log_message(types.LogMessageParams(types.MessageType.Error, text))
        self.show_status("crashed", text)

    def _open_lines(self, path: str) -> Sequence[str] | None:
        document: Document | None = self.documents.by_path(path)
        return document.lines if document is not None else None
