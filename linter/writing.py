"""Writing into source files: all or nothing, and never over what somebody else wrote in the meantime."""

from __future__ import annotations

import os
import stat
from contextlib import suppress


def rewrite(path: str, old: bytes, new: bytes) -> None:
    """Replace the bytes `old` of a file by `new` in one step, through links, with mode and, where allowed, owner kept.

    Raises OSError if the file is read-only or no longer holds `old`.
    """
    target = os.path.realpath(path)
    status = os.stat(target)
    if not status.st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError("the file is read-only")
    with open(target, "r+b") as stream:
        if stream.read() != old:
            raise OSError("the file changed in the meantime")
        if status.st_nlink > 1:  # a new file would part the names
            stream.seek(0)
            stream.write(new)
            stream.truncate()
            return
    folder, name = os.path.split(target)
    draft = os.path.join(folder, f".{name}.{os.getpid()}.moelint")
    try:
        with open(draft, "xb") as stream:
            stream.write(new)
            stream.flush()
            os.fsync(stream.fileno())
        with suppress(OSError, AttributeError):
            os.chown(draft, status.st_uid, status.st_gid)
        os.chmod(draft, stat.S_IMODE(status.st_mode))
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            os.unlink(draft)
        raise
