"""Profiles as plain data: adding one to another, and names that say where they are defined."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

OWN_KEYS = ("base", "replace")
"""Keys that steer the extension and are no facts."""


def extend(base: Mapping[str, Any], extension: Mapping[str, Any]) -> dict[str, Any]:
    """`base` with the facts of `extension` added: lists grow, tables grow by entry, single values are replaced.

    A field named in `replace` is taken from the extension alone; `field.entry` says so of one entry of a table.
    """
    replaced = frozenset(extension.get("replace", ()))
    merged: dict[str, Any] = {key: _copy(value) for key, value in base.items()}
    for key, value in extension.items():
        if key in OWN_KEYS:
            continue
        held = merged.get(key)
        if key in replaced or held is None:
            merged[key] = _copy(value)
        elif isinstance(value, Mapping):
            for entry, item in value.items():
                grows = isinstance(item, list) and f"{key}.{entry}" not in replaced
                held[entry] = _union(held.get(entry, []), item) if grows else item
        elif isinstance(value, (list, tuple)):
            merged[key] = _union(held, value)
        else:
            merged[key] = value
    return merged


def bare_name(declared: str) -> str:
    """`name` of `name`, of `pkg.module:name` and of `pkg.module:Class.name`."""
    return declared.rpartition(":")[2].rpartition(".")[2] if ":" in declared else declared


def bare_names(data: Mapping[str, Any]) -> dict[str, Any]:
    """`data` with every `pkg.module:name` reduced to its name."""
    return {key: _bare(value) for key, value in data.items()}


def _bare(value: Any) -> Any:
    if isinstance(value, str):
        return bare_name(value)
    if isinstance(value, list):
        return [_bare(item) for item in value]
    if isinstance(value, dict):
        return {bare_name(key): _bare(item) for key, item in value.items()}
    return value


def _copy(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _copy(item) for key, item in value.items()}
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def _union(held: Any, added: Any) -> list[Any]:
    return list(dict.fromkeys((*held, *added)))
