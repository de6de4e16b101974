"""Puts the server together."""

from __future__ import annotations

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.lifecycle import Lifecycle
from moelint.linter.server.pull import Pull
from moelint.linter.server.sync import Sync
from moelint.linter.server.whole import WholeWorkspace


def build() -> MoelintServer:
    """A server with all its features, not yet connected."""
    server = MoelintServer()
    sync = Sync(server)
    workspace = WholeWorkspace(server)
    sync.register()
    Pull(server, sync, workspace).register()
    Lifecycle(
        server,
        changed=(workspace.outdated, sync.refresh),
        on_disk=(workspace.outdated,),
        closing=(sync.close, server.analyst.close),
    ).register()
    return server
