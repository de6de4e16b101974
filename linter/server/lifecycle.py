"""Beginning and end of a session, workspace folders, settings, and files that are watched."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterable

from lsprotocol import types
from pygls import uris

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.client import Abilities
from moelint.linter.server.projects import NAMES

_SECTION = "moelint"
_PYTHON = ("*.py", "*.pyi")


class Lifecycle:
    """`changed` is called when something besides documents changed, `on_disk` when Python files did, `closing` at the
    end."""

    def __init__(
        self,
        server: MoelintServer,
        changed: Iterable[Callable[[], None]],
        on_disk: Iterable[Callable[[], None]],
        closing: Iterable[Callable[[], None]],
    ) -> None:
        self._server = server
        self._changed = tuple(changed)
        self._on_disk = tuple(on_disk)
        self._closing = tuple(closing)

    def register(self) -> None:
        on = self._server.on
        on(types.INITIALIZE, self._initialize)
        on(types.INITIALIZED, self._initialized)
        on(types.SHUTDOWN, self._shutdown)
        on(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS, self._folders_changed)
        on(types.WORKSPACE_DID_CHANGE_CONFIGURATION, self._settings_changed)
        on(types.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._files_changed)

    def _initialize(self, params: types.InitializeParams) -> None:
        server = self._server
        server.abilities = Abilities.of(params.capabilities)
        encoding = str(server.workspace.position_encoding or "utf-16")
        server.documents.encoding = server.presenter.encoding = getattr(encoding, "value", encoding)
        server.presenter.related = server.abilities.related
        server.presenter.links = server.abilities.links
        folders = [folder.uri for folder in params.workspace_folders or ()]
        if not folders and params.root_uri:
            folders = [params.root_uri]
        server.projects.roots = _paths(folders)
        server.adopt(params.initialization_options)

    async def _initialized(self, params: types.InitializedParams) -> None:
        server = self._server
        if server.abilities.watch:
            await server.client_register_capability_async(types.RegistrationParams([self._watching()]))
        await self._ask_for_settings()
        project = server.projects.of(os.path.join(server.projects.roots[0] if server.projects.roots else "", "x.py"))
        await server.analyst.warm_up(project)
        gc.collect()
        gc.freeze()

    def _watching(self) -> types.Registration:
        names = [*NAMES, "*.jsonl", *_PYTHON]
        watchers = [types.FileSystemWatcher(f"**/{name}") for name in names]
        return types.Registration(
            "moelint-files",
            types.WORKSPACE_DID_CHANGE_WATCHED_FILES,
            types.DidChangeWatchedFilesRegistrationOptions(watchers),
        )

    async def _ask_for_settings(self) -> None:
        if self._server.abilities.configuration:
            item = types.ConfigurationItem(section=_SECTION)
            answers = await self._server.workspace_configuration_async(types.ConfigurationParams([item]))
            self._server.adopt(answers[0] if answers else None)

    def _shutdown(self, params: None) -> None:
        for close in self._closing:
            close()

    def _folders_changed(self, params: types.DidChangeWorkspaceFoldersParams) -> None:
        removed = set(_paths(folder.uri for folder in params.event.removed))
        added = _paths(folder.uri for folder in params.event.added)
        kept = [root for root in self._server.projects.roots if root not in removed]
        self._server.projects.roots = tuple(dict.fromkeys([*kept, *added]))
        self._notify(self._changed)

    async def _settings_changed(self, params: types.DidChangeConfigurationParams) -> None:
        given = params.settings
        if isinstance(given, dict) and _SECTION in given:
            self._server.adopt(given[_SECTION])
        else:
            await self._ask_for_settings()
        self._notify(self._changed)

    def _files_changed(self, params: types.DidChangeWatchedFilesParams) -> None:
        self._notify(self._on_disk)
        if any(not change.uri.endswith((".py", ".pyi")) for change in params.changes):
            self._notify(self._changed)

    @staticmethod
    def _notify(listeners: Iterable[Callable[[], None]]) -> None:
        for listener in listeners:
            listener()


def _paths(addresses: Iterable[str]) -> tuple[str, ...]:
    found = (uris.to_fs_path(address) for address in addresses)
    return tuple(os.path.normpath(path) for path in found if path)
