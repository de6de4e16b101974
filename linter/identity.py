"""The identity of a finding: stable under edits elsewhere in the file, and the same on every Python version.

It has two parts of equal length, the place (rule, path, enclosing function) and the statement, and among equals a
number. Whoever knows the place in words, as a baseline does, needs the second part alone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

try:
    from _blake2 import blake2b
except ImportError:
    from hashlib import blake2b

_PART = 8
"""Bytes of a hash; twice as many characters in an identity."""
_BODIES = frozenset({"body", "orelse", "finalbody", "handlers", "cases", "decorator_list"})
_SKIPPED = frozenset({"ctx", "kind", "type_comment", "type_ignores"})
_COMPOUND = (
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.If,
    ast.For,
    ast.AsyncFor,
    ast.While,
    ast.With,
    ast.AsyncWith,
    ast.Try,
    ast.Match,
)


class Identities:
    """Hands out the identities of one file's findings; ask in source order, because equals are counted."""

    def __init__(self, path: str, tree: ast.Module) -> None:
        self._path = path
        self._tree = tree
        self._seen: dict[tuple[str, str, str], int] = {}

    def of_node(self, rule: str, qualname: str, node: ast.AST) -> str:
        """The identity of a finding of `rule` at `node`, which may be an expression or a statement."""
        statement = node if isinstance(node, ast.stmt) else innermost_statement(self._tree, node)
        return self.of_text(rule, qualname, normalised(statement if statement is not None else node))

    def of_text(self, rule: str, qualname: str, text: str) -> str:
        """The identity of a finding of `rule` about `text`."""
        key = (rule, qualname, text)
        count = self._seen[key] = self._seen.get(key, 0) + 1
        identity = _hash("\0".join((rule, self._path, qualname))) + _hash(text)
        return identity if count == 1 else f"{identity}-{count}"


def statement_of(identity: str) -> str:
    """The part of an identity that stands for the statement alone, wherever it is."""
    return identity[2 * _PART : 4 * _PART]


def _hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=_PART).hexdigest()


def normalised(node: ast.AST) -> str:
    """The structure of a statement or expression, of a compound statement its header only. Positions, comments, line
    breaks, quotes and redundant parentheses make no difference, nor does the Python version that parses."""
    parts: list[str] = []
    _dump(node, isinstance(node, _COMPOUND) or type(node).__name__ == "TryStar", parts)
    return "".join(parts)


def innermost_statement(tree: ast.Module, node: ast.AST) -> ast.stmt | None:
    """The statement that holds `node` and has no smaller one that does; found by position."""
    line = getattr(node, "lineno", None)
    if line is None:
        return None
    start = (line, node.col_offset)  # type: ignore[attr-defined]
    found: ast.stmt | None = None
    block: Iterator[ast.stmt] = iter(tree.body)
    while True:
        inner = next((s for s in block if _begins(s) <= start and start < (s.end_lineno, s.end_col_offset)), None)
        if inner is None:
            return found
        found = inner
        block = child_statements(inner)


def child_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The statements directly inside a compound statement, those of its handlers and cases included."""
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, ())
    for holder in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
        yield from holder.body


def _begins(statement: ast.stmt) -> tuple[int, int]:
    decorators = getattr(statement, "decorator_list", None)
    first = decorators[0] if decorators else statement
    return first.lineno, first.col_offset


def _dump(node: object, header: bool, parts: list[str], *, in_string: bool = False) -> None:
    if isinstance(node, ast.AST):
        parts.append(type(node).__name__)
        parts.append("(")
        for name in node._fields:
            value = getattr(node, name, None)
            if value is None or value == [] or name in _SKIPPED or (header and name in _BODIES):
                continue
            parts.append(name)
            parts.append("=")
            _dump(value, False, parts, in_string=isinstance(node, ast.JoinedStr))
            parts.append(",")
        parts.append(")")
    elif isinstance(node, list):
        parts.append("[")
        for item in node:
            if isinstance(item, ast.Constant) and item.value == "" and in_string:
                continue  # some versions leave such a piece in f-strings
            _dump(item, False, parts)
            parts.append(",")
        parts.append("]")
    else:
        parts.append(repr(node))
