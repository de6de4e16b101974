"""What is wrong with a profile, whole or extending, as plain data: all problems at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from moelint.linter.profile_extend import OWN_KEYS, bare_names, extend
from moelint.linter.profile_fields import Field, profile_fields
from moelint.linter.suggest import did_you_mean, show

PLATFORMS = ("cuda", "musa", "hip", "hip+aiter", "xpu", "npu", "cpu", "tpu", "hpu", "mps")
"""Usual names, to suggest the right one for a misspelt one; a profile may name others."""
RESERVED_GROUPS = ("platform", "answer", "wish", "flag", "quant", "other")
"""Kinds of variables that the guard analysis keeps for itself."""
_ROLES = ("factor", "slot_weight", "slot_count", "topk_weights", "flags", "runner_flags", "answer_names", "wish")
_HELPERS = ("answer_calls", "weight_calls", "epilogue_calls")


def validate_profile(data: Mapping[str, Any], where: str = "") -> list[str]:
    """The problems of a whole profile. `where` goes in front of every key, `tool.moelint.profile.` for one."""
    problems = list(_shapes(data, where, extension=False))
    if not isinstance(data.get("name"), str) or not data["name"]:
        problems.append(f"{where}name: a profile needs a name")
    if "factor" not in data:
        problems.append(f"{where}factor: a profile without a spelling of the factor finds nothing")
    return problems or list(_conflicts(bare_names(data), where))


def extension_problems(data: Mapping[str, Any], where: str, profiles: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The problems of a profile that names a `base`, one of `profiles`."""
    base = data.get("base")
    problems = list(_shapes(data, where, extension=True))
    if not isinstance(base, str):
        problems.append(f"{where}base: expected the name of a profile, not {show(base)}")
    elif base not in profiles:
        problems.append(f"{where}base: unknown profile {base!r}" + did_you_mean(base, profiles))
    problems += _replace_problems(data, where)
    if problems:
        return problems
    facts = bare_names(data)
    whole = profiles[str(base)]
    contradictions = list(_contradictions(whole, facts, where))
    return contradictions or list(_conflicts(extend(whole, facts), where))


def _shapes(data: Mapping[str, Any], where: str, extension: bool) -> Iterator[str]:
    fields = profile_fields()
    known = (*fields, *OWN_KEYS) if extension else tuple(fields)
    for key, value in data.items():
        if key in fields:
            yield from _shape(fields[key], value, f"{where}{key}")
        elif key not in known:
            yield f"{where}{key}: unknown key" + did_you_mean(key, known)


def _shape(field: Field, value: Any, where: str) -> Iterator[str]:
    if field.kind == "flag":
        if not isinstance(value, bool):
            yield f"{where}: expected true or false, not {show(value)}"
    elif field.kind in ("name", "module"):
        if not isinstance(value, str):
            yield f"{where}: expected a string, not {show(value)}"
        elif field.kind == "module" and value and not is_dotted(value):
            yield f"{where}: {show(value)} is no dotted module name"
    elif field.is_list:
        yield from _list(field, value, where)
    elif not isinstance(value, Mapping):
        yield f"{where}: expected a table, not {show(value)}"
    else:
        for entry, item in value.items():
            yield from _entry(field, entry, item, f"{where}.{entry}")


def _list(field: Field, value: Any, where: str) -> Iterator[str]:
    if not isinstance(value, (list, tuple)):
        yield f"{where}: expected a list of strings, not {show(value)}"
        return
    for index, item in enumerate(value):
        place = f"{where}[{index}]"
        if not isinstance(item, str):
            yield f"{place}: expected a string, not {show(item)}"
        elif field.kind == "names" and not is_name(item):
            yield f"{place}: {show(item)} is neither an identifier nor 'package.module:name'"
        elif field.kind == "modules" and not is_dotted(item.removesuffix(".*")):
            yield f"{place}: {show(item)} is neither a dotted module name nor one that ends in '.*'"
        elif field.kind == "words" and not _is_word(item):
            yield f"{place}: {show(item)} is no word"


def _entry(field: Field, entry: str, item: Any, where: str) -> Iterator[str]:
    if not is_name(entry):
        yield f"{where}: {show(entry)} is neither an identifier nor 'package.module:name'"
    if field.kind == "name table":
        if not isinstance(item, str) or not _is_word(item):
            yield f"{where}: expected a word, not {show(item)}"
    elif not isinstance(item, (list, tuple)) or not item or not all(isinstance(part, str) for part in item):
        yield f"{where}: expected a list of strings that is not empty, not {show(item)}"
    else:
        yield from (f"{where}[{i}]: {show(part)} is no word" for i, part in enumerate(item) if not _is_word(part))


def _replace_problems(data: Mapping[str, Any], where: str) -> Iterator[str]:
    value = data.get("replace", [])
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        yield f"{where}replace: expected a list of field names, not {show(value)}"
        return
    fields = profile_fields()
    for index, item in enumerate(value):
        field, dot, entry = item.partition(".")
        place = f"{where}replace[{index}]"
        if field not in fields:
            yield f"{place}: unknown field {field!r}" + did_you_mean(field, fields)
        elif field not in data:
            yield f"{place}: {field!r} is to be replaced, but the table does not give it"
        elif dot and not (isinstance(data[field], Mapping) and entry in data[field]):
            yield f"{place}: the table {field!r} has no entry {entry!r}"


def _contradictions(base: Mapping[str, Any], facts: Mapping[str, Any], where: str) -> Iterator[str]:
    """Entries of a table that say otherwise than the base, without `replace`."""
    replaced = frozenset(facts.get("replace", ()))
    for key in ("platform", "backend_sources", "backend_predicates"):
        held = base.get(key, {})
        for entry, value in facts.get(key, {}).items():
            if entry not in held or key in replaced or f"{key}.{entry}" in replaced:
                continue
            if _plain(held[entry]) != _plain(value):
                yield (
                    f"{where}{key}.{entry}: {show(value)} contradicts {show(_plain(held[entry]))} of the base; "
                    f"if it is meant, add '{key}.{entry}' to replace"
                )


def _conflicts(data: Mapping[str, Any], where: str) -> Iterator[str]:
    """Declarations of one profile that cannot all hold."""
    yield from _platform_conflicts(data, where)
    yield from _backend_conflicts(data, where)
    for group in (_ROLES, _HELPERS):
        for first, second in combinations(group, 2):
            for name in sorted(set(data.get(first, ())) & set(data.get(second, ()))):
                yield f"{where}{second}: {name!r} is also declared as {first}"
    for module in sorted(set(data.get("owner", ())) & set(data.get("leaf", ()))):
        yield f"{where}leaf: {module!r} is also declared as owner"


def _platform_conflicts(data: Mapping[str, Any], where: str) -> Iterator[str]:
    flags: Mapping[str, Iterable[str]] = data.get("platform", {})
    uses = Counter(platform for platforms in flags.values() for platform in platforms)
    for flag, platforms in flags.items():
        for platform in platforms:
            if platform not in PLATFORMS and uses[platform] == 1:
                meant = _misspelt(platform, {*PLATFORMS, *uses} - {platform})
                if meant is not None:
                    yield f"{where}platform.{flag}: unknown platform {platform!r}; did you mean {meant!r}?"
        twin = flag.lstrip("_")
        if twin != flag and twin in flags and set(flags[twin]) != set(platforms):
            yield f"{where}platform.{flag}: {_plain(platforms)} contradicts {_plain(flags[twin])} of {twin!r}"
    for index, platform in enumerate(data.get("folds_anyway", ())):
        if platform not in uses:
            yield f"{where}folds_anyway[{index}]: no flag is true on {platform!r}" + did_you_mean(platform, uses)


def _misspelt(word: str, known: Iterable[str]) -> str | None:
    """The known word that `word` is but for the order of its letters or one letter in many; a new word is like none."""
    from difflib import SequenceMatcher

    for other in sorted(known):
        if sorted(word) == sorted(other) or SequenceMatcher(None, word, other).ratio() >= 0.85:
            return other
    return None


def _backend_conflicts(data: Mapping[str, Any], where: str) -> Iterator[str]:
    tables = ("platform", "backend_sources", "backend_predicates")
    for first, second in combinations(tables, 2):
        for name in sorted(set(data.get(first, ())) & set(data.get(second, ()))):
            yield f"{where}{second}.{name}: also declared in {first}"
    for key in tables[1:]:
        for name, group in data.get(key, {}).items():
            if group in RESERVED_GROUPS:
                yield f"{where}{key}.{name}: the group name {group!r} is reserved"


def _plain(value: Any) -> Any:
    return sorted(value) if isinstance(value, (list, tuple, set, frozenset)) else value


def is_name(text: str) -> bool:
    """Whether a text is an identifier or `package.module:name`, where the name may have dots of its own."""
    module, colon, name = text.rpartition(":")
    return (is_dotted(module) and is_dotted(name)) if colon else text.isidentifier()


def is_dotted(text: str) -> bool:
    """Whether a text is the name of a module or package."""
    return all(part.isidentifier() for part in text.split("."))


def _is_word(text: str) -> bool:
    return bool(text) and text.isascii() and not set(text) & set(" \t\r\n\"'`,;:")
