"""Syntax trees of texts that are being edited: of the last tree of a file, what the edit did not touch is kept.

A file is cut into pieces, its top-level statements with the lines up to the next one, and so is the body of a class.
Where an edit falls into pieces next to each other, these alone are parsed. That is the same as to parse the whole:
every piece is complete, so that its neighbours are read alike whether it stands there or not; and where the new text
of a piece is not complete, or has a statement on another level, the next larger piece is parsed, at last the whole.
"""

from __future__ import annotations

import ast
import warnings
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from moelint.linter.analysis.walk import walk

_KEPT = 3
"""Trees that are kept: a large one takes some dozens of megabytes."""
_HEAD = 2
"""An edit of the first lines may change the encoding of the rest."""
_PLACES = "_moelint_places"
Parse = Callable[[bytes], ast.Module]


class _Edit(NamedTuple):
    """Lines `first` to `last` (from 0, exclusive) of the old text became so many `more` lines."""

    first: int
    last: int
    more: int


class Reparser:
    """Parses the texts of files, each time with the help of the last tree. `parse` is for whole files."""

    def __init__(self, parse: Parse) -> None:
        self._parse = parse
        self._known: OrderedDict[str, tuple[list[bytes], ast.Module]] = OrderedDict()

    def parse(self, path: str, data: bytes) -> ast.Module:
        """The tree of `data`, in UTF-8; the one that was handed out before for `path` must not be used any more.
        Raises what `parse` raises."""
        known = self._known.pop(path, None)
        lines = data.split(b"\n")
        tree = None
        if known is not None and b"\r" not in data and b"\x0c" not in data:
            tree = _patched(*known, lines)
        if tree is None:
            try:
                tree = self._parse(data)
            except SyntaxError:
                if known is not None:
                    self._known[path] = known  # most likely it will be near this again
                raise
        self._known[path] = (lines, tree)
        if len(self._known) > _KEPT:
            self._known.popitem(last=False)
        return tree

    def forget(self, path: str) -> None:
        self._known.pop(path, None)


def _patched(old: list[bytes], tree: ast.Module, new: list[bytes]) -> ast.Module | None:
    """`tree` of the lines `old`, changed into that of `new`; None if it cannot be told; then `tree` is as it was."""
    edit = _difference(old, new)
    if edit.first == edit.last and not edit.more:
        return tree
    if edit.first < _HEAD:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tree if _replace(tree, tree.body, 0, len(old), edit, new) else None
    except (SyntaxError, ValueError):
        return None


def _difference(old: Sequence[bytes], new: Sequence[bytes]) -> _Edit:
    """Where the two differ, as one range."""
    shorter = min(len(old), len(new))
    start = next((n for n in range(shorter) if old[n] != new[n]), shorter)
    end = next((n for n in range(shorter - start) if old[-1 - n] != new[-1 - n]), shorter - start)
    return _Edit(start, len(old) - end, len(new) - len(old))


def _replace(
    holder: ast.Module | ast.ClassDef, body: list[ast.stmt], begin: int, end: int, edit: _Edit, lines: Sequence[bytes]
) -> bool:
    """Change `body`, which has the old lines `begin` to `end`, into that of the new `lines`. Says whether it could."""
    starts = [_start(statement) for statement in body]
    for statement, start in zip(body, starts[1:], strict=False):
        if (statement.end_lineno or 0) > start:
            return False  # two statements on one line
    number = next((n for n in range(len(body) - 1, -1, -1) if starts[n] < max(edit.first, 1)), None)
    if number is None or starts[number] < begin or edit.last > end:
        return False
    last = next((n for n in range(number, len(body)) if _end(starts, n, end) >= edit.last), None)
    if last is None:
        return False
    begin, end = starts[number], _end(starts, last, end)
    one = body[number] if number == last else None
    if not (isinstance(one, ast.ClassDef) and _inside(one, begin, end, edit, lines)):
        found = _parsed(lines[begin : end + edit.more], begin, _indent(lines[begin]))
        if found is None:
            return False
        body[number : last + 1] = found
        last = number + len(found) - 1
    _shift(body[last + 1 :], edit.more)
    _forget_derived(holder)
    return True


def _inside(cls: ast.ClassDef, begin: int, end: int, edit: _Edit, lines: Sequence[bytes]) -> bool:
    """The same for the body of a class in the old lines `begin` to `end`."""
    first = _start(cls.body[0])
    if first <= cls.lineno - 1 or edit.first <= first or not _replace(cls, cls.body, first, end, edit, lines):
        return False
    cls.end_lineno, cls.end_col_offset = cls.body[-1].end_lineno, cls.body[-1].end_col_offset
    return True


def _parsed(lines: Sequence[bytes], begin: int, indent: bytes) -> list[ast.stmt] | None:
    """The statements of `lines`, all of them indented by `indent`, of which the first is line `begin` of a file. None
    if they are not on one level, or if there is none. Raises SyntaxError."""
    head = b"if 1:\n" if indent else b""
    tree = ast.parse((head + b"\n".join(lines) + b"\n").decode())
    found = tree.body
    if indent:
        (wrapper,) = found if len(found) == 1 else (None,)
        if not isinstance(wrapper, ast.If) or wrapper.orelse:
            return None
        found = wrapper.body
    offset = begin - bool(indent)
    for statement in found:
        line = lines[_start(statement) - bool(indent)]
        if _indent(line) != indent:
            return None
    _shift(found, offset)
    return found or None


def _start(statement: ast.stmt) -> int:
    """The first line of a statement, from 0, its decorators included."""
    decorators = getattr(statement, "decorator_list", None)
    return (decorators[0].lineno if decorators else statement.lineno) - 1


def _end(starts: Sequence[int], number: int, end: int) -> int:
    return starts[number + 1] if number + 1 < len(starts) else end


def _indent(line: bytes) -> bytes:
    return line[: len(line) - len(line.lstrip(b" \t"))]


def _shift(statements: Sequence[ast.stmt], more: int) -> None:
    """Move statements down by `more` lines."""
    if not more:
        return
    for statement in statements:
        places: list[dict[str, int]] | None = statement.__dict__.get(_PLACES)
        if places is None:
            places = [node.__dict__ for node in walk(statement) if "lineno" in node.__dict__]
            statement.__dict__[_PLACES] = places
        for place in places:
            place["lineno"] += more
            place["end_lineno"] += more


def _forget_derived(node: ast.AST) -> None:
    """Take from a node what others noted on it about its former body."""
    for name in node.__dict__.keys() - {*node._fields, *node._attributes}:
        del node.__dict__[name]
