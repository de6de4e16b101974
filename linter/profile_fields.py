"""The fields of a profile as plain data has them: kinds and documentation, read from the dataclass itself."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cache
from typing import Literal

from moelint.linter.profile import Profile

FieldKind = Literal["name", "module", "names", "modules", "platforms", "words", "name table", "names table", "flag"]

MODULE_FIELDS = frozenset({"owner", "method", "leaf"})
_NOT_IDENTIFIERS = frozenset({"folds_anyway"})
EXTENSION_KEYS = {
    "base": "The built-in profile to add to. Left out, the table is a whole profile.",
    "replace": "Fields, or `field.entry` of a table, that stand as written here instead of being added to the base.",
}
"""Keys that only an extension has."""


@dataclass(frozen=True, slots=True)
class Field:
    """One field: `kind` is the shape of its value in TOML."""

    name: str
    kind: FieldKind

    @property
    def is_list(self) -> bool:
        return self.kind in ("names", "modules", "words")

    @property
    def is_table(self) -> bool:
        return self.kind in ("name table", "names table")


@cache
def profile_fields() -> dict[str, Field]:
    """All fields of a profile by name."""
    return {item.name: Field(item.name, _kind(item.name, str(item.type))) for item in fields(Profile)}


def _kind(name: str, annotation: str) -> FieldKind:
    if annotation == "bool":
        return "flag"
    if annotation == "str":
        return "module" if name.endswith("_module") else "name"
    if annotation.startswith("dict[str, tuple"):
        return "names table"
    if annotation.startswith("dict[str, str"):
        return "name table"
    if name in MODULE_FIELDS:
        return "modules"
    return "words" if name in _NOT_IDENTIFIERS else "names"


def field_docs() -> dict[str, str]:
    """What each field means: the strings below the fields of `Profile`."""
    import ast
    import inspect

    body = ast.parse(inspect.getsource(Profile)).body[0]
    assert isinstance(body, ast.ClassDef)
    docs: dict[str, str] = {}
    for statement, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            text = after.value.value if isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant) else ""
            docs[statement.target.id] = inspect.cleandoc(str(text))
    return docs
