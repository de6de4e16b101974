"""`moelint server`: reads the command line and serves one editor."""

from __future__ import annotations

import gc
import logging
import os
import sys
from argparse import ArgumentParser
from collections.abc import Sequence

from moelint.linter.errors import UsageError

_LEVELS = ("error", "warning", "info", "debug")
_SELDOM = (20_000, 20, 20)
"""Syntax trees stay for long and are large: to look at them as often as usual costs an edit some milliseconds."""


def main(argv: Sequence[str]) -> int:
    """Serve until the editor leaves: 0. Raises UsageError without the extra `lsp` and for a port that is taken."""
    options = _parser().parse_args(argv)
    gc.enable()
    gc.set_threshold(*_SELDOM)
    sys.path[:] = [entry for entry in sys.path if entry not in ("", os.getcwd())]  # the code that is read lies there
    logging.basicConfig(
        stream=sys.stderr, level=options.log_level.upper(), format="%(levelname)s %(name)s: %(message)s"
    )
    try:
        from moelint.linter.server.build import build
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("pygls", "lsprotocol"):
            raise
        raise UsageError(f"the server needs {error.name}: pip install 'moelint[lsp]'") from None
    logging.getLogger("pygls").setLevel(max(logging.WARNING, logging.getLogger().level))
    try:
        if options.tcp:
            build().start_tcp(options.host, options.port)
        else:
            build().start_io()
    except OSError as error:
        raise UsageError(f"cannot listen on {options.host}:{options.port}: {error.strerror}") from None
    sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  pygls has closed the one that there was
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        "moelint server", description="Serve an editor: the language server protocol over stdin and stdout, or TCP."
    )
    parser.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (the default)")
    parser.add_argument("--tcp", action="store_true", help="listen for one editor instead")
    parser.add_argument("--host", default="127.0.0.1", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=2087, help="the port to listen on (default: 2087)")
    parser.add_argument(
        "--log-level", choices=_LEVELS, default="warning", help="what goes to stderr (default: warning)"
    )
    return parser
