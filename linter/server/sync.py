"""Opening, editing and closing; and diagnostics for clients that wait to be told."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from lsprotocol import types

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.documents import Document
from moelint.linter.server.pace import Pace


class Sync:
    """Keeps documents and clients up to date."""

    def __init__(self, server: MoelintServer) -> None:
        self._server = server
        self.pace = Pace(time.monotonic)
        self._pushes: dict[str, asyncio.Task[None]] = {}
        self.settled: list[Callable[[str], None]] = []
        """Called with the address of a document that was opened or saved."""
        self.closed: list[Callable[[str], None]] = []
        """Called with the address of a document that was closed."""

    def register(self) -> None:
        on = self._server.on
        on(types.TEXT_DOCUMENT_DID_OPEN, self._opened)
        on(types.TEXT_DOCUMENT_DID_CHANGE, self._edited)
        on(types.TEXT_DOCUMENT_DID_SAVE, self._saved)
        on(types.TEXT_DOCUMENT_DID_CLOSE, self._closed)

    def refresh(self) -> None:
        """Have everything looked at again, because something besides the documents changed."""
        if self._server.abilities.pull:
            if self._server.abilities.refresh_diagnostics:
                self._server.workspace_diagnostic_refresh(None)
            return
        for document in self._server.documents:
            self._push(document)

    def close(self) -> None:
        for task in self._pushes.values():
            task.cancel()

    def _opened(self, params: types.DidOpenTextDocumentParams) -> None:
        self._push(self._server.documents.open(params.text_document))
        for listener in self.settled:
            listener(params.text_document.uri)

    def _edited(self, params: types.DidChangeTextDocumentParams) -> None:
        item = params.text_document
        document = self._server.documents.change(item.uri, item.version, params.content_changes)
        if document is not None:
            self._server.analyst.forget(item.uri)
            self.pace.changed(item.uri)
            self._push(document)

    def _saved(self, params: types.DidSaveTextDocumentParams) -> None:
        document = self._server.documents.get(params.text_document.uri)
        if document is not None:
            self._push(document)
            for listener in self.settled:
                listener(document.uri)

    def _closed(self, params: types.DidCloseTextDocumentParams) -> None:
        uri = params.text_document.uri
        self._server.documents.close(uri)
        self._server.analyst.forget(uri)
        self.pace.forget(uri)
        for listener in self.closed:
            listener(uri)
        task = self._pushes.pop(uri, None)
        if task is not None:
            task.cancel()
        if not self._server.abilities.pull:
            self._server.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _push(self, document: Document) -> None:
        if self._server.abilities.pull:
            return
        task = self._pushes.get(document.uri)
        if task is not None:
            task.cancel()
        self._pushes[document.uri] = asyncio.get_running_loop().create_task(self._pushed(document.uri))

    async def _pushed(self, uri: str) -> None:
        await asyncio.sleep(self.pace.delay(uri, self._server.user.debounce_ms / 1000))
        checked = await self._server.checked(uri)
        if checked is not None:
            self._server.text_document_publish_diagnostics(
                types.PublishDiagnosticsParams(uri, self._server.diagnostics(checked), checked.document.version)
            )
