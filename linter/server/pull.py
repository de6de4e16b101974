"""Diagnostics for clients that ask: of one document, and of everything in the workspace."""

from __future__ import annotations

import asyncio

from lsprotocol import types

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.diagnostics import result_id
from moelint.linter.server.sync import Sync
from moelint.linter.server.whole import WholeWorkspace

OPTIONS = types.DiagnosticOptions(inter_file_dependencies=True, workspace_diagnostics=True, identifier="moelint")
Report = types.RelatedFullDocumentDiagnosticReport | types.RelatedUnchangedDocumentDiagnosticReport
Item = types.WorkspaceFullDocumentDiagnosticReport | types.WorkspaceUnchangedDocumentDiagnosticReport


class Pull:
    """Answers requests for diagnostics."""

    def __init__(self, server: MoelintServer, sync: Sync, workspace: WholeWorkspace) -> None:
        self._server = server
        self._sync = sync
        self._workspace = workspace

    def register(self) -> None:
        self._server.on(types.TEXT_DOCUMENT_DIAGNOSTIC, self.document, OPTIONS)
        self._server.on(types.WORKSPACE_DIAGNOSTIC, self.workspace)

    async def document(self, params: types.DocumentDiagnosticParams) -> Report:
        """The diagnostics of an open document; of one that is not, nothing."""
        uri = params.text_document.uri
        await asyncio.sleep(self._sync.pace.delay(uri, self._server.user.debounce_ms / 1000))
        checked = await self._server.checked(uri)
        items = self._server.diagnostics(checked) if checked is not None else []
        result = result_id(items)
        if result == params.previous_result_id:
            return types.RelatedUnchangedDocumentDiagnosticReport(result)
        return types.RelatedFullDocumentDiagnosticReport(items, result_id=result)

    async def workspace(self, params: types.WorkspaceDiagnosticParams) -> types.WorkspaceDiagnosticReport:
        """The diagnostics of all files: those on disk as `moelint check` finds them, those that are open as they are
        in the editor, and nothing for those that had some and have none any more."""
        previous = {item.uri: item.value for item in params.previous_result_ids}
        if not self._server.user.workspace_diagnostics:
            return types.WorkspaceDiagnosticReport([])
        found = dict(await self._workspace.diagnostics())
        versions: dict[str, int] = {}
        for document in self._server.documents:
            checked = await self._server.checked(document.uri)
            if checked is not None and checked.document.is_python:
                found[document.uri] = self._server.diagnostics(checked)
                versions[document.uri] = checked.document.version
        reports: list[Item] = []
        for uri in sorted(found.keys() | previous.keys()):
            items = found.get(uri, [])
            result, version = result_id(items), versions.get(uri)
            if previous.get(uri) == result:
                reports.append(types.WorkspaceUnchangedDocumentDiagnosticReport(uri, result, version))
            elif items or uri in previous or version is not None:
                reports.append(types.WorkspaceFullDocumentDiagnosticReport(uri, items, version, result_id=result))
        return types.WorkspaceDiagnosticReport(reports)
