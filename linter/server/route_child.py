"""The child process that analyses the routes of one file, as it is in the editor: a request comes as JSON over stdin,
progress and tables go as JSON lines to stdout."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from moelint.linter.routes.knowledge import frameworks, knowledge
from moelint.linter.routes.table import to_json
from moelint.linter.routes.tables import Job, root_of, tables_of

_NICE = 5
_WATCH = 2.0
"""Seconds between looks at whether the server still runs."""


def main(argv: Sequence[str]) -> int:
    """Answer one request."""
    if hasattr(os, "nice"):
        os.nice(_NICE)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    request: dict[str, Any] = json.load(sys.stdin)

    def tell(done: int, total: int, name: str) -> None:
        _say({"done": done, "total": total, "block": name})

    _say({"tables": _tables(request, tell)})
    return 0


def _end_with(parent: int) -> None:
    """Leave when the server is gone, however it went."""
    while os.getppid() == parent:
        time.sleep(_WATCH)
    os._exit(1)


def _tables(request: Mapping[str, Any], tell: Any) -> dict[str, Any] | None:
    """The tables of the file; None for one that no route facts speak of."""
    path, text = request["path"], request["text"].encode("utf-8", "surrogatepass")
    if request["framework"] not in frameworks():
        return None
    known = knowledge(request["framework"])
    root = root_of(path, known.profile.packages)
    if root is None:
        return None
    try:
        with open(path, "rb") as stream:
            saved = stream.read() == text
    except OSError:
        saved = False
    job = Job(root, known, request["store"], 1, {} if saved else {path: text})
    return to_json(tables_of(job, [path], tell))


def _say(message: object) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()
