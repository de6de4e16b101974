"""Puts the server together."""

from __future__ import annotations

from moelint.linter.server.actions import Actions
from moelint.linter.server.app import MoelintServer
from moelint.linter.server.hover import Hover
from moelint.linter.server.lens import Lenses
from moelint.linter.server.lifecycle import Lifecycle
from moelint.linter.server.pull import Pull
from moelint.linter.server.routes import RouteService
from moelint.linter.server.sync import Sync
from moelint.linter.server.whole import WholeWorkspace


def build() -> MoelintServer:
    """A server with all its features, not yet connected."""
    server = MoelintServer()
    sync = Sync(server)
    workspace = WholeWorkspace(server)
    routes = RouteService(server, lambda: _refresh(server))
    sync.settled.append(routes.want)
    sync.closed.append(routes.forget)
    sync.register()
    Actions(server).register()
    Hover(server, routes).register()
    Lenses(server, routes).register()
    Pull(server, sync, workspace).register()
    Lifecycle(
        server,
        changed=(workspace.outdated, sync.refresh),
        on_disk=(workspace.outdated, routes.outdated),
        closing=(sync.close, routes.close, server.analyst.close),
    ).register()
    return server


def _refresh(server: MoelintServer) -> None:
    """Have the editor ask again for what route analysis tells."""
    if server.abilities.refresh_lenses:
        server.workspace_code_lens_refresh(None)
    if server.abilities.refresh_hints:
        server.workspace_inlay_hint_refresh(None)
