"""Child processes of the server, for what takes longer than a keystroke: they can be ended, and leave the editor's
process its interpreter lock. A child imports moelint alone, never what lies in the folder that it works in."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress

from moelint.linter.errors import MoelintError

_LONGEST = 1 << 26
"""Bytes that a child may print in one line."""
_START = (
    "import os, sys; here = os.getcwd(); sys.path[:] = [p for p in sys.path if p not in ('', here)]; "
    "from moelint.linter.{module} import main; sys.exit(main({argv}))"
)


class ChildError(MoelintError):
    """A child did not give an answer; the text is what it said last."""


def command(module: str, argv: Sequence[str]) -> list[str]:
    """The command line that runs `main(argv)` of a module of the linter."""
    return [sys.executable, "-c", _START.format(module=module, argv=repr(list(argv)))]


async def lines_of(module: str, folder: str, text: str) -> AsyncIterator[bytes]:
    """What a child prints, line by line; it is ended when nobody reads on. Raises ChildError if it fails."""
    child = await asyncio.create_subprocess_exec(
        *command(module, []),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        limit=_LONGEST,
    )
    assert child.stdin is not None and child.stdout is not None and child.stderr is not None
    try:
        child.stdin.write(text.encode())
        child.stdin.close()
        while line := await child.stdout.readline():
            yield line
        said = (await child.stderr.read()).decode("utf-8", "replace").strip().splitlines()
        if await child.wait():
            raise ChildError(said[-1] if said else f"a child ended with {child.returncode}")
    finally:
        if child.returncode is None:
            with suppress(ProcessLookupError):
                child.kill()
            await child.wait()


async def output_of(module: str, argv: Sequence[str], folder: str, text: bytes = b"") -> bytes:
    """What a child prints; ended with the task that waits for it. Raises ChildError for exit codes above 1."""
    child = await asyncio.create_subprocess_exec(
        *command(module, argv),
        cwd=folder,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        out, err = await child.communicate(text)
    except asyncio.CancelledError:
        if child.returncode is None:
            child.kill()
            await child.wait()
        raise
    if child.returncode not in (0, 1):
        lines = err.decode("utf-8", "replace").strip().splitlines()
        raise ChildError(lines[-1] if lines else f"a child ended with {child.returncode}")
    return out
