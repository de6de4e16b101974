"""A bare client of language servers: starts one, edits a document, and waits for its diagnostics."""

from __future__ import annotations

import json
import os
import queue
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from measure import BenchError


class Server:
    """One server with one open document. `settings` answer whatever it asks about its configuration."""

    def __init__(self, command: Sequence[str], path: Path, settings: Mapping[str, Any], limit: float) -> None:
        self._limit = limit
        self._settings = settings
        self._uri = path.as_uri()
        self._version = 1
        self._text = path.read_text("utf-8")
        self._ids = 0
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=path.parent
        )
        self._inbox: queue.Queue[dict[str, Any]] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self._request("initialize", _initialize(path.parent) | {"initializationOptions": settings})
        self._notify("initialized", {})
        self._notify("workspace/didChangeConfiguration", {"settings": settings})
        item = {"uri": self._uri, "languageId": "python", "version": 1, "text": self._text}
        self._notify("textDocument/didOpen", {"textDocument": item})
        self.found = len(self._published())

    def edit(self, line: int, removed: int, text: str) -> float:
        """Replace `removed` whole lines from `line` (from 0) on; seconds until there are diagnostics of the result."""
        self._version += 1
        span = {"start": {"line": line, "character": 0}, "end": {"line": line + removed, "character": 0}}
        document = {"uri": self._uri, "version": self._version}
        start = time.perf_counter()
        self._notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": [{"range": span, "text": text}]}
        )
        self.found = len(self._published())
        return time.perf_counter() - start

    @property
    def cpu(self) -> float:
        """Processor seconds of the server and the children that it has waited for (Linux only)."""
        fields = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return sum(int(value) for value in fields[11:15]) / os.sysconf("SC_CLK_TCK")

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()

    def _published(self) -> list[Any]:
        """The next diagnostics of the present version (servers that name none speak of the present one)."""
        while True:
            message = self._next()
            params = message.get("params")
            if message.get("method") == "textDocument/publishDiagnostics" and isinstance(params, dict):
                if params["uri"] == self._uri and params.get("version") in (None, self._version):
                    return list(params["diagnostics"])
            else:
                self._answer(message)

    def _request(self, method: str, params: Mapping[str, Any]) -> None:
        self._ids += 1
        self._send({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params})
        while True:
            message = self._next()
            if message.get("id") == self._ids and "method" not in message:
                return
            self._answer(message)

    def _answer(self, message: Mapping[str, Any]) -> None:
        if "id" in message and "method" in message:
            configuration = message["method"] == "workspace/configuration"
            result = [self._settings for _ in message["params"]["items"]] if configuration else None
            self._send({"jsonrpc": "2.0", "id": message["id"], "result": result})

    def _notify(self, method: str, params: Mapping[str, Any]) -> None:
        self._send({"jsonrpc": "2.0", "method": method, "params": params})

    def _send(self, message: Mapping[str, Any]) -> None:
        data = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(data), data))
        self._process.stdin.flush()

    def _next(self) -> dict[str, Any]:
        try:
            return self._inbox.get(timeout=self._limit)
        except queue.Empty:
            raise BenchError(f"{self._process.args!r}: no answer within {self._limit:.0f} s") from None

    def _read(self) -> None:
        stream = self._process.stdout
        assert stream is not None
        size = 0
        while line := stream.readline():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
            elif not line.strip():
                self._inbox.put(json.loads(stream.read(size)))


def _initialize(folder: Path) -> dict[str, Any]:
    return {
        "processId": os.getpid(),
        "rootUri": folder.as_uri(),
        "workspaceFolders": [{"uri": folder.as_uri(), "name": folder.name}],
        "capabilities": {
            "textDocument": {"publishDiagnostics": {"versionSupport": True, "relatedInformation": True}},
            "workspace": {"configuration": True, "workspaceFolders": True},
        },
    }
