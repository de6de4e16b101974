"""Which lines of a file import under a guard, so that a missing package is a case the target itself provides for."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

_CAUGHT = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@functools.cache
def guarded_lines(path: str) -> tuple[tuple[int, int], ...]:
    """First and last line of each `try` body whose handlers take an ImportError, and of each `suppress` block."""
    try:
        tree = ast.parse(Path(path).read_text(encoding="utf-8", errors="replace"))
    except (OSError, SyntaxError, ValueError):
        return ()
    ranges = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Try):
            guards = any(_catches(handler) for handler in node.handlers)
        elif isinstance(node, ast.With):
            guards = any("suppress" in ast.dump(item.context_expr) for item in node.items)
        else:
            continue
        if guards:
            ranges.append((node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno))
    return tuple(ranges)


def is_guarded(path: str, line: int) -> bool:
    """Whether an import on this line may fail as far as the file is concerned."""
    return any(first <= line <= last for first, last in guarded_lines(path))


def _catches(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    types = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return any(getattr(kind, "id", getattr(kind, "attr", None)) in _CAUGHT for kind in types)
