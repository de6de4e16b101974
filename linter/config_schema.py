"""The JSON schema of `[tool.moelint]`, from the table that validates it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moelint.linter.config_keys import KEYS, SEVERITIES, Key, Kind
from moelint.linter.profile_fields import EXTENSION_KEYS, Field, field_docs, profile_fields
from moelint.linter.settings import AUTO, Known
from moelint.linter.validate import selectors

Schema = dict[str, Any]

_STRING: Schema = {"type": "string", "minLength": 1}
_STRINGS: Schema = {"type": "array", "items": _STRING}


def schema(known: Known, formats: list[str]) -> Schema:
    """The schema, in JSON Schema draft 7, for the rules and profiles of this moelint."""
    words = sorted(selectors(known))
    shapes: dict[Kind, Callable[[], Schema]] = {
        "selectors": lambda: _list_of({"enum": words}),
        "globs": lambda: _STRINGS,
        "ignores": lambda: {"type": "object", "additionalProperties": _list_of({"enum": words})},
        "severities": lambda: {
            "type": "object",
            "propertyNames": {"enum": words},
            "additionalProperties": {"enum": list(SEVERITIES)},
        },
        "profile": lambda: {"anyOf": [_profile_name(known), _profile_table(known)]},
        "path": lambda: _STRING,
        "count": lambda: {"type": "integer", "minimum": 0},
        "outputs": lambda: {"anyOf": [_output(formats), _list_of(_output(formats))]},
        "flag": lambda: {"type": "boolean"},
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "moelint",
        "description": "Settings of moelint: the table [tool.moelint] of pyproject.toml, or all of moelint.toml.",
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: {"description": key.doc, **_default(key), **shapes[key.kind]()} for key in KEYS},
    }


def _default(key: Key) -> Schema:
    return {} if key.default is None else {"default": key.default}


def _profile_name(known: Known) -> Schema:
    return {"anyOf": [{"enum": [AUTO, *sorted(known.profiles)]}, {"type": "string", "pattern": r"[/\\]|\.toml$"}]}


def _profile_table(known: Known) -> Schema:
    docs = field_docs()
    fields = profile_fields()
    properties: dict[str, Schema] = {
        name: {"description": docs[name], **_field(field)} for name, field in fields.items()
    }
    properties["base"] = {"description": EXTENSION_KEYS["base"], "enum": sorted(known.profiles)}
    properties["replace"] = {"description": EXTENSION_KEYS["replace"], **_STRINGS}
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "anyOf": [{"required": ["base"]}, {"required": ["name", "factor"]}],
    }


def _field(field: Field) -> Schema:
    if field.kind == "flag":
        return {"type": "boolean"}
    if field.kind in ("name", "module"):
        return {"type": "string"}
    if field.is_list:
        return _STRINGS
    entry = _STRING if field.kind == "name table" else {**_STRINGS, "minItems": 1}
    return {"type": "object", "additionalProperties": entry}


def _output(formats: list[str]) -> Schema:
    return {"type": "string", "pattern": f"^({'|'.join(formats)})(:.+)?$"}


def _list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}
