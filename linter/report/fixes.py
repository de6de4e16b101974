"""What is said and shown of fixes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from moelint.linter.report.summary import plural

if TYPE_CHECKING:
    from moelint.linter.fixing import Session


def remarks(session: Session, done: str) -> list[str]:
    """What there is to say of a session; `done` is what happened to the findings."""
    count = sum(session.fixed[path] for path in session.new)
    lines = [*session.refused, f"{plural(count, 'finding')} {done} in {plural(len(session.new), 'file')}"]
    if session.unsafe:
        lines.append(f"{session.unsafe} more with --unsafe-fixes")
    for (module, name), times in sorted(session.missing.items()):
        lines.append(f"{times} more once {module} has {name}")
    return lines


def show_diff(session: Session) -> None:
    """Write the changes to standard output, byte for byte; a reader may leave early."""
    sys.stdout.flush()
    try:
        sys.stdout.buffer.write(session.diff())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
