"""What git knows of the files in a folder, asked in one short process."""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_STEERING = ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY")
"""Set inside git hooks, and true only of the folder in which the hook was started."""


def in_work_tree(folder: str) -> bool:
    """Whether `folder` lies in a work tree, as `work_tree` sees it."""
    return work_tree(folder) is not None


def work_tree(folder: str) -> str | None:
    """The first folder from `folder` upwards that holds a `.git` (a folder, or a file in linked trees and
    submodules)."""
    folder = os.path.abspath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")):
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
    return folder


def listed(folder: str) -> list[str] | None:
    """The files below `folder` that git tracks or would offer to track, relative to it; None if git cannot say.

    A name that ends in `/` is another repository. Names occur twice during a merge, and some may be gone from disk.
    """
    output = _run(["-C", folder, "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
    return None if output is None else [os.fsdecode(name) for name in output.split(b"\0") if name]


def ask(*arguments: str) -> bytes | None:
    """What git prints to standard output; None if it fails or is not there."""
    return _run(arguments)


def _run(arguments: Sequence[str]) -> bytes | None:
    command = ["git", *arguments]
    environment = {name: value for name, value in os.environ.items() if name not in _STEERING}
    if sys.platform == "win32":
        import subprocess

        try:
            return subprocess.run(command, capture_output=True, env=environment, check=True).stdout
        except (OSError, subprocess.CalledProcessError):
            return None
    return _spawn(command, environment)


def _spawn(command: list[str], environment: dict[str, str]) -> bytes | None:
    """The output of a command that ended well. Does without `subprocess`, whose import is slower than git."""
    reader, writer = os.pipe()
    try:
        actions = [
            (os.POSIX_SPAWN_DUP2, writer, 1),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
        ]
        process = os.posix_spawnp(command[0], command, environment, file_actions=actions)
    except OSError:
        os.close(reader)
        return None
    finally:
        os.close(writer)
    parts = []
    with open(reader, "rb", buffering=0) as stream:
        while part := stream.read(1 << 16):
            parts.append(part)
    return b"".join(parts) if os.waitpid(process, 0)[1] == 0 else None
