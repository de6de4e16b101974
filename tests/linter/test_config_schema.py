"""The JSON schema agrees with the validator, and no key is missing."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moelint.linter import config_file
from moelint.linter.config_keys import KEYS
from moelint.linter.config_schema import schema
from moelint.linter.profile_fields import profile_fields
from moelint.linter.report import format_names
from moelint.linter.settings import Known
from moelint.linter.validate import selectors, settings_problems

KNOWN = Known.built_in()
SCHEMA = schema(KNOWN, format_names())
TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict, "array": list, "string": str, "boolean": bool, "integer": int,
}  # fmt: skip
UNDERSTOOD = {
    "$schema", "title", "description", "default", "type", "properties", "additionalProperties", "propertyNames",
    "items", "minItems", "enum", "anyOf", "required", "minimum", "minLength", "pattern",
}  # fmt: skip


def accepts(rule: dict[str, Any], value: Any) -> bool:
    """The part of JSON Schema that the schema uses."""
    assert set(rule) <= UNDERSTOOD
    kind = rule.get("type")
    if kind is not None and (not isinstance(value, TYPES[kind]) or (kind == "integer" and isinstance(value, bool))):
        return False
    if "enum" in rule and value not in rule["enum"]:
        return False
    if "anyOf" in rule and not any(accepts(option, value) for option in rule["anyOf"]):
        return False
    if isinstance(value, str):
        return len(value) >= rule.get("minLength", 0) and bool(re.search(rule.get("pattern", ""), value))
    if isinstance(value, int):
        return bool(value >= rule.get("minimum", value))
    if isinstance(value, list):
        return len(value) >= rule.get("minItems", 0) and all(accepts(rule.get("items", {}), item) for item in value)
    if isinstance(value, dict):
        properties, others = rule.get("properties", {}), rule.get("additionalProperties", True)
        return (
            set(rule.get("required", ())) <= set(value)
            and all(accepts(rule.get("propertyNames", {}), key) for key in value)
            and all(
                accepts(properties[key], item)
                if key in properties
                else (others is True or (others and accepts(others, item)))
                for key, item in value.items()
            )
        )
    return True


def sound(table: dict[str, Any]) -> bool:
    return not settings_problems(table, "", "/nowhere", KNOWN)


def test_it_is_json_and_knows_every_key_and_field() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert list(SCHEMA["properties"]) == [key.name for key in KEYS]
    table = SCHEMA["properties"]["profile"]["anyOf"][1]
    assert set(table["properties"]) == {*profile_fields(), "base", "replace"}
    assert all(item["description"] for name, item in table["properties"].items() if name != "name")


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_it_accepts_examples_and_defaults(key: Any) -> None:
    assert accepts(SCHEMA, config_file.read_toml("example", key.example.encode()))
    assert key.default is None or accepts(SCHEMA, {key.name: key.default})


@pytest.mark.parametrize(
    "table",
    [
        {"selct": ["all"]},
        {"select": "all"},
        {"select": ["no-such-rule"]},
        {"jobs": -1},
        {"jobs": True},
        {"severity": {"all": "warn"}},
        {"severity": {"no-such-rule": "note"}},
        {"per-file-ignores": {"a": ["no-such-rule"]}},
        {"profile": "sglagn"},
        {"profile": {"factor": ["x"]}},
        {"profile": {"base": "sglagn"}},
        {"profile": {"base": "sglang", "factors": []}},
        {"profile": {"base": "sglang", "platform": {"x": []}}},
        {"output": "jsn"},
        {"require-reason": 1},
        {"cache-dir": ""},
    ],
)
def test_both_refuse(table: dict[str, Any]) -> None:
    assert not accepts(SCHEMA, table)
    assert not sound(table)


WORDS = st.sampled_from(
    [*sorted(selectors(KNOWN))[:3], "error", "auto", "sglang", "json", "json:x", "a/b", "name", "", "x"]
)
PLAIN = st.recursive(
    st.booleans() | st.integers(-2, 2) | WORDS,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(WORDS, inner, max_size=2),
    max_leaves=4,
)
PROFILE = st.dictionaries(st.sampled_from([*profile_fields(), "base", "replace"]), PLAIN, max_size=4)


@given(st.dictionaries(st.sampled_from([key.name for key in KEYS]), PLAIN | PROFILE, min_size=1, max_size=2))
def test_it_accepts_all_that_the_validator_accepts(table: dict[str, Any]) -> None:
    if sound(table):
        assert accepts(SCHEMA, table)
