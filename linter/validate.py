"""What is wrong with the settings, in a file or on the command line: all problems at once.

The keys and their kinds are those of `config_keys`.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from moelint.linter.config_keys import KEYS, SEVERITIES, Kind
from moelint.linter.globs import flaw
from moelint.linter.settings import ALL, AUTO, Known, Overrides, is_profile_file
from moelint.linter.suggest import did_you_mean, show

Check = Callable[[Any, str, "Context"], Iterator[str]]


class Context:
    """What the checks must know: the folder of the file, and what exists."""

    def __init__(self, root: str, known: Known) -> None:
        self.root = root
        self.known = known
        self.selectors = selectors(known)


def selectors(known: Known) -> set[str]:
    """All that may stand in a list of rules."""
    return {ALL, *(word for rule in known.rules for word in (rule.code, rule.name, rule.family))}


def settings_problems(table: Mapping[str, Any], prefix: str, root: str, known: Known) -> list[str]:
    """The problems of a configuration table, each with its key path. `prefix` goes in front of every key."""
    context = Context(root, known)
    kinds = {key.name: key.kind for key in KEYS}
    problems: list[str] = []
    for name, value in table.items():
        kind = kinds.get(name)
        if kind is None:
            problems.append(f"{prefix}{name}: unknown key" + did_you_mean(name, kinds))
        else:
            problems += CHECKS[kind](value, prefix + name, context)
    return problems


def override_problems(overrides: Overrides, known: Known) -> list[str]:
    """The problems of what the command line says, each with its option."""
    context = Context(os.getcwd(), known)
    problems: list[str] = []
    for key in KEYS:
        attribute = key.name.replace("-", "_")
        value = getattr(overrides, attribute)
        if value is not None:
            problems += CHECKS[key.kind](value, "--" + key.name, context)
    return problems


def _selectors(value: Any, where: str, context: Context) -> Iterator[str]:
    for place, item in _strings(value, where, "rules"):
        if item is None:
            yield place
        elif item not in context.selectors:
            yield f"{place}: unknown rule or family {item!r}" + did_you_mean(item, context.selectors)


def _globs(value: Any, where: str, context: Context) -> Iterator[str]:
    for place, item in _strings(value, where, "path patterns"):
        if item is None:
            yield place
        else:
            yield from _glob(item, place)


def _glob(pattern: str, where: str) -> Iterator[str]:
    problem = flaw(pattern)
    if problem is not None:
        yield f"{where}: bad pattern {show(pattern)}: {problem}"


def _ignores(value: Any, where: str, context: Context) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{where}: expected a table of path pattern = list of rules, not {show(value)}"
        return
    for pattern, names in value.items():
        place = f'{where}."{pattern}"'
        yield from _glob(pattern, place)
        yield from _selectors(names, place, context)


def _severities(value: Any, where: str, context: Context) -> Iterator[str]:
    if not isinstance(value, Mapping):
        yield f"{where}: expected a table of rule = severity, not {show(value)}"
        return
    for selector, severity in value.items():
        place = f"{where}.{selector}"
        if selector not in context.selectors:
            yield f"{place}: unknown rule or family {selector!r}" + did_you_mean(selector, context.selectors)
        if severity not in SEVERITIES:
            hint = did_you_mean(severity, SEVERITIES) if isinstance(severity, str) else ""
            yield f"{place}: expected one of {', '.join(SEVERITIES)}, not {show(severity)}" + hint


def _profile(value: Any, where: str, context: Context) -> Iterator[str]:
    profiles = context.known.profiles
    if isinstance(value, Mapping):
        yield from profile_problems(value, where + ".", context.root, profiles)
    elif not isinstance(value, str):
        yield f"{where}: expected a name, a file or a table, not {show(value)}"
    elif is_profile_file(value):
        if not os.path.isfile(os.path.join(context.root, value)):
            yield f"{where}: there is no file {show(value)}"
    elif value != AUTO and value not in profiles:
        yield f"{where}: unknown profile {value!r}" + did_you_mean(value, (AUTO, *profiles))


def profile_problems(
    data: Mapping[str, Any], where: str, root: str, profiles: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """The problems of a repository's own profile, whole or extending, with the names that its tree does not define."""
    from moelint.linter.profile_symbols import dead_symbols
    from moelint.linter.profile_validate import extension_problems, validate_profile

    problems = extension_problems(data, where, profiles) if "base" in data else validate_profile(data, where)
    foreign = {package for profile in profiles.values() for package in profile.get("packages", ())}
    return problems + dead_symbols(data, where, root, foreign)


def _path(value: Any, where: str, context: Context) -> Iterator[str]:
    if not isinstance(value, str) or not value or "\0" in value:
        yield f"{where}: expected a path, not {show(value)}"


def _count(value: Any, where: str, context: Context) -> Iterator[str]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        yield f"{where}: expected an integer, 0 or more, not {show(value)}"


def _outputs(value: Any, where: str, context: Context) -> Iterator[str]:
    from moelint.linter.errors import UsageError
    from moelint.linter.outputs import format_names, parse_outputs

    formats = format_names()
    before, items = True, [value] if isinstance(value, str) else value
    for place, item in _strings(items, where, "reports"):
        if item is None:
            yield place
            before = False
        elif (name := item.partition(":")[0]) not in formats:
            yield f"{place}: unknown format {name!r}" + did_you_mean(name, formats)
            before = False
    if before:
        try:
            parse_outputs(items, tty=False)
        except UsageError as error:
            yield f"{where}: {error}"


def _flag(value: Any, where: str, context: Context) -> Iterator[str]:
    if not isinstance(value, bool):
        yield f"{where}: expected true or false, not {show(value)}"


def _strings(value: Any, where: str, what: str) -> Iterable[tuple[str, str | None]]:
    """(place, item) of every string of a list; (problem, None) for what is none."""
    if not isinstance(value, (list, tuple)):
        return [(f"{where}: expected a list of {what}, not {show(value)}", None)]
    return [
        (f"{where}[{index}]", item)
        if isinstance(item, str)
        else (f"{where}[{index}]: expected a string, not {show(item)}", None)
        for index, item in enumerate(value)
    ]


CHECKS: dict[Kind, Check] = {
    "selectors": _selectors,
    "globs": _globs,
    "ignores": _ignores,
    "severities": _severities,
    "profile": _profile,
    "path": _path,
    "count": _count,
    "outputs": _outputs,
    "flag": _flag,
}
