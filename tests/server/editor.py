"""A scripted editor: a real client of a real server process, with the few moves that tests need."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from lsprotocol import types
from pytest_lsp import ClientServerConfig, LanguageClient

TIMEOUT = 40.0
VIOLATION = "        out = out * self.routed_scaling_factor\n"


def capabilities(*, pull: bool, encodings: Sequence[str] | None = None) -> types.ClientCapabilities:
    """What the scripted editor says that it can do."""
    return types.ClientCapabilities(
        general=types.GeneralClientCapabilities(position_encodings=encodings) if encodings else None,
        text_document=types.TextDocumentClientCapabilities(
            diagnostic=types.DiagnosticClientCapabilities() if pull else None,
            publish_diagnostics=types.PublishDiagnosticsClientCapabilities(
                related_information=True, version_support=True, code_description_support=True
            ),
            hover=types.HoverClientCapabilities(content_format=[types.MarkupKind.Markdown]),
        ),
        workspace=types.WorkspaceClientCapabilities(
            workspace_folders=True,
            did_change_watched_files=types.DidChangeWatchedFilesClientCapabilities(dynamic_registration=True),
            diagnostics=types.DiagnosticWorkspaceClientCapabilities(refresh_support=True),
            code_lens=types.CodeLensWorkspaceClientCapabilities(refresh_support=True),
        ),
        window=types.WindowClientCapabilities(
            work_done_progress=True, show_document=types.ShowDocumentClientCapabilities(support=True)
        ),
    )


class Editor:
    """One connected editor."""

    def __init__(self, client: LanguageClient, initialized: types.InitializeResult) -> None:
        self.client = client
        self.initialized = initialized
        self.texts: dict[str, str] = {}
        self.versions: dict[str, int] = {}
        self.statuses: list[str] = []
        self.published: dict[str, tuple[int | None, Sequence[types.Diagnostic]]] = {}
        self.refreshes = 0
        self.lens_refreshes = 0
        self.registrations: list[types.RegistrationParams] = []
        client.feature("moelint/status")(lambda params: self.statuses.append(params.state))

        def publish(params: types.PublishDiagnosticsParams) -> None:
            self.published[params.uri] = (params.version, params.diagnostics)

        def refresh(params: None) -> None:
            self.refreshes += 1

        def lens_refresh(params: None) -> None:
            self.lens_refreshes += 1

        client.protocol.fm.features[types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS] = publish
        client.protocol.fm.features[types.WORKSPACE_DIAGNOSTIC_REFRESH] = refresh
        client.protocol.fm.features[types.WORKSPACE_CODE_LENS_REFRESH] = lens_refresh
        client.protocol.fm.features[types.CLIENT_REGISTER_CAPABILITY] = self.registrations.append

    @property
    def pid(self) -> int:
        assert self.client._server is not None
        return self.client._server.pid

    def open(self, path: Path, text: str | None = None) -> str:
        """Open a file, with another text than on disk if one is given; returns its address."""
        uri = path.as_uri()
        self.texts[uri] = path.read_bytes().decode("utf-8") if text is None else text
        self.versions[uri] = 1
        self.client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(uri, "python", 1, self.texts[uri]))
        )
        return uri

    def replace(self, uri: str, old: str, new: str) -> None:
        """Replace the first `old` in the text by an edit that a client in UTF-16 would send."""
        text = self.texts[uri]
        start = text.index(old)
        span = types.Range(position(text, start), position(text, start + len(old)))
        self.send(uri, types.TextDocumentContentChangePartial(span, new), text[:start] + new + text[start + len(old) :])

    def insert(self, uri: str, line: int, new: str) -> None:
        """Insert text before a line, from 0."""
        lines = self.texts[uri].splitlines(keepends=True)
        place = types.Position(line, 0)
        text = "".join([*lines[:line], new, *lines[line:]])
        self.send(uri, types.TextDocumentContentChangePartial(types.Range(place, place), new), text)

    def write(self, uri: str, text: str) -> None:
        """Replace the whole text."""
        self.send(uri, types.TextDocumentContentChangeWholeDocument(text), text)

    def send(self, uri: str, change: types.TextDocumentContentChangeEvent, text: str) -> None:
        self.texts[uri] = text
        self.versions[uri] += 1
        item = types.VersionedTextDocumentIdentifier(self.versions[uri], uri)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(item, [change]))

    def close(self, uri: str) -> None:
        self.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))

    async def pulled(self, uri: str, previous: str | None = None) -> Any:
        """The report on a document."""
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri), previous_result_id=previous)
        return await asyncio.wait_for(self.client.text_document_diagnostic_async(params), TIMEOUT)

    async def items(self, uri: str) -> Sequence[types.Diagnostic]:
        return (await self.pulled(uri)).items

    async def pushed(self, uri: str) -> Sequence[types.Diagnostic]:
        """The diagnostics that the server published for the present text."""

        def current() -> bool:
            return self.published.get(uri, (0, ()))[0] == self.versions[uri]

        await self.until(current)
        return self.published[uri][1]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait for something that the server does. Fails after a while."""
        end = asyncio.get_running_loop().time() + TIMEOUT
        while not condition():
            assert asyncio.get_running_loop().time() < end, "the server did not do it in time"
            await asyncio.sleep(0.01)

    def changed_on_disk(self, path: Path) -> None:
        event = types.FileEvent(path.as_uri(), types.FileChangeType.Changed)
        self.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([event]))


def position(text: str, offset: int) -> types.Position:
    """The position of a character, in UTF-16 units."""
    line = text.count("\n", 0, offset)
    start = text.rfind("\n", 0, offset) + 1
    return types.Position(line, len(text[start:offset].encode("utf-16-le")) // 2)


@asynccontextmanager
async def connected(
    *folders: Path,
    pull: bool = True,
    encodings: Sequence[str] | None = None,
    settings: dict[str, Any] | None = None,
    command: Sequence[str] = ("-m", "moelint", "server"),
) -> AsyncIterator[Editor]:
    """An editor with these workspace folders, connected to a server of its own over stdin and stdout."""
    cache = str(folders[0] / ".cache") if folders else ""
    environment = os.environ | ({"XDG_CACHE_HOME": cache} if cache else {})
    client = await ClientServerConfig([sys.executable, *command], server_env=environment).start()
    assert isinstance(client, LanguageClient)
    async with session(client, *folders, pull=pull, encodings=encodings, settings=settings) as editor:
        yield editor


@asynccontextmanager
async def session(
    client: LanguageClient,
    *folders: Path,
    pull: bool = True,
    encodings: Sequence[str] | None = None,
    settings: dict[str, Any] | None = None,
) -> AsyncIterator[Editor]:
    """A session of a client that is connected already."""
    params = types.InitializeParams(
        capabilities(pull=pull, encodings=encodings),
        process_id=os.getpid(),
        workspace_folders=[types.WorkspaceFolder(folder.as_uri(), folder.name) for folder in folders],
        initialization_options={"status": True} | (settings or {}),
    )
    result = await asyncio.wait_for(client.initialize_session(params), TIMEOUT)
    editor = Editor(client, result)
    yield editor
    await asyncio.wait_for(client.shutdown_session(), TIMEOUT)
    await asyncio.wait_for(client.stop(), TIMEOUT)
