"""`from module import name` at the top of a file, beside the imports that are there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import libcst as cst
from libcst.helpers import get_full_name_for_node

from moelint.linter.fixing.changes import CannotWrite

if TYPE_CHECKING:
    from moelint.linter.repair import NeedName

WIDTH = 88
"""A line of imports that would be longer is broken, as the formatters of the field have it."""


def with_name(module: cst.Module, wish: NeedName) -> cst.Module:
    """The module with the import; unchanged if it is there. Raises CannotWrite where it has no place."""
    body = list(module.body)
    imports = [
        (number, line, line.body[0])
        for number, line in enumerate(body)
        if isinstance(line, cst.SimpleStatementLine) and isinstance(line.body[0], cst.ImportFrom | cst.Import)
    ]
    for number, line, statement in imports:
        if isinstance(statement, cst.ImportFrom) and _source(statement) == wish.module:
            if isinstance(statement.names, cst.ImportStar):
                return module
            if any(alias.evaluated_name == wish.name and alias.asname is None for alias in statement.names):
                return module
            body[number] = line.with_changes(body=[_extended(statement, wish.name), *line.body[1:]])
            return module.with_changes(body=body)
    new = cst.parse_statement(f"from {wish.module} import {wish.name}\n")
    body.insert(_place(module, imports, wish.module), new)
    return module.with_changes(body=body)


def _source(statement: cst.ImportFrom) -> str:
    name = get_full_name_for_node(statement.module) if statement.module is not None else ""
    return "." * len(statement.relative) + (name or "")


def _extended(statement: cst.ImportFrom, name: str) -> cst.ImportFrom:
    names = list(statement.names) if not isinstance(statement.names, cst.ImportStar) else []
    at = _position([alias.evaluated_name for alias in names], name)
    new = cst.ImportAlias(cst.Name(name))
    opening = statement.lpar.whitespace_after if statement.lpar is not None else cst.SimpleWhitespace("")
    if isinstance(opening, cst.ParenthesizedWhitespace):
        break_ = cst.ParenthesizedWhitespace(indent=opening.indent, last_line=opening.last_line)
        if at < len(names):
            names.insert(at, new.with_changes(comma=cst.Comma(whitespace_after=break_)))
            return statement.with_changes(names=names)
        return statement.with_changes(names=_appended(names, new, break_))
    texts = [cst.Module([]).code_for_node(alias.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for alias in names]
    texts.insert(at, name)
    source = _source(statement)
    text = f"from {source} import {', '.join(texts)}"
    if statement.lpar is not None:
        text = f"from {source} import ({', '.join(texts)})"
    if len(text) > WIDTH:
        lines = "".join(f"    {part},\n" for part in texts)
        text = f"from {source} import (\n{lines})"
    line = cst.parse_statement(text)
    found = line.body[0] if isinstance(line, cst.SimpleStatementLine) else None
    if not isinstance(found, cst.ImportFrom):
        raise CannotWrite
    return found


def _appended(
    names: list[cst.ImportAlias], new: cst.ImportAlias, break_: cst.ParenthesizedWhitespace
) -> list[cst.ImportAlias]:
    *rest, last = names
    closing = last.comma
    if not isinstance(closing, cst.Comma) or not isinstance(closing.whitespace_after, cst.ParenthesizedWhitespace):
        raise CannotWrite
    end = closing.whitespace_after
    between = end.with_changes(empty_lines=[], indent=break_.indent, last_line=break_.last_line)
    final = cst.ParenthesizedWhitespace(empty_lines=end.empty_lines, indent=end.indent, last_line=end.last_line)
    return [
        *rest,
        last.with_changes(comma=closing.with_changes(whitespace_after=between)),
        new.with_changes(comma=cst.Comma(whitespace_after=final)),
    ]


def _position(names: Sequence[str], name: str) -> int:
    """Where a name goes: into the order that the others have, else to the end."""
    for order in (_by_kind, str.lower, str):
        keys = [order(other) for other in names]
        if keys == sorted(keys):
            return sum(key < order(name) for key in keys)  # type: ignore[operator]
    return len(names)


def _by_kind(name: str) -> tuple[int, str]:
    """Constants, classes, functions, as isort sorts by itself."""
    return (0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2, name)


def _place(
    module: cst.Module,
    imports: Sequence[tuple[int, cst.SimpleStatementLine, cst.ImportFrom | cst.Import]],
    name: str,
) -> int:
    """After the imports whose names sort lower, or after all of them; without any, after the docstring."""
    if imports:
        lower = [
            number
            for number, _, statement in imports
            if isinstance(statement, cst.ImportFrom) and "__future__" < _source(statement) < name
        ]
        return (lower[-1] if lower else imports[-1][0]) + 1
    return 1 if module.body and module.get_docstring() is not None else 0
