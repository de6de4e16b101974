"""The baseline: findings that were there when moelint was switched on, and that may only become fewer.

A file of JSON lines, sorted, one entry a line, without line numbers and times, so that git can merge it. An entry names
file, rule, enclosing function and statement, and says how many such findings there may be. It covers a finding in
another place only if nothing is left at its own: the file was moved, or the function renamed.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from moelint.linter.errors import ConfigError, UsageError
from moelint.linter.identity import statement_of
from moelint.linter.model import Excuse

if TYPE_CHECKING:
    from moelint.linter.model import Finding

DEFAULT = "moelint-baseline.jsonl"
"""The file that is taken where none is configured."""
_HEADER = "moelint-baseline"
_VERSION = 1
_FIELDS = {"path": str, "code": str, "in": str, "statement": str, "count": int}
_CONFLICT = ("<<<<<<< ", "=======", ">>>>>>> ", "||||||| ")


class Key(NamedTuple):
    """Where an entry holds. `path` is relative to the folder of the baseline, with `/` between its parts."""

    path: str
    code: str
    qualname: str
    statement: str


class Entry(NamedTuple):
    """So many findings may be there, and why."""

    key: Key
    allowed: int
    reason: str = ""


class Verdict(NamedTuple):
    """Findings against the baseline."""

    new: tuple[Finding, ...]
    """What the baseline does not cover, notes included."""
    excused: tuple[Finding, ...]
    entries: tuple[Entry, ...]
    """What is left of the baseline if it says no more than is there."""
    stale: tuple[Entry, ...]
    """Entries of which less was found than they allow; `allowed` is what is too much."""
    moved: tuple[tuple[Entry, Key], ...]
    """Entries that cover findings in another place, and where."""


def read(file: str) -> tuple[Entry, ...]:
    """The entries in `file`, sorted, equal ones joined. Raises ConfigError with all that is wrong."""
    try:
        with open(file, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    except OSError as error:
        reason = error.strerror or str(error)
        raise ConfigError(
            file, [f"the baseline cannot be read ({reason}); `moelint baseline create` makes one"]
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(file, [f"not UTF-8 at byte {error.start}"]) from None
    problems: list[str] = []
    entries: list[Entry] = []
    if not lines or _loaded(lines[0]) != {_HEADER: _VERSION}:
        problems.append(f'line 1: expected {{"{_HEADER}": {_VERSION}}}; is this a baseline of this version of moelint?')
    for number, line in enumerate(lines[1:], 2):
        if line.startswith(_CONFLICT):
            problems.append(f"line {number}: an unresolved merge; keep the lines of both sides, then prune")
        elif line.strip():
            entry = _entry(_loaded(line))
            if isinstance(entry, str):
                problems.append(f"line {number}: {entry}")
            else:
                entries.append(entry)
    if problems:
        raise ConfigError(file, problems)
    return joined(entries)


def render(entries: Iterable[Entry]) -> str:
    """The text of a baseline file."""
    lines = [json.dumps({_HEADER: _VERSION})]
    for key, allowed, reason in joined(entries):
        data = {"path": key.path, "code": key.code, "in": key.qualname, "statement": key.statement, "count": allowed}
        lines.append(json.dumps(data | ({"reason": reason} if reason else {})))
    return "".join(f"{line}\n" for line in lines)


def write(file: str, entries: Iterable[Entry]) -> None:
    """Write a baseline in one step. Raises UsageError."""
    file = os.path.realpath(file)
    new = f"{file}.{os.getpid()}"
    try:
        os.makedirs(os.path.dirname(file), exist_ok=True)
        with open(new, "w", encoding="utf-8", newline="\n") as stream:
            stream.write(render(entries))
        os.replace(new, file)
    except OSError as error:
        if os.path.exists(new):
            os.unlink(new)
        raise UsageError(f"cannot write {file}: {error.strerror or error}") from error


def is_current(file: str, entries: Iterable[Entry]) -> bool:
    """Whether `file` holds exactly what `write` would put there."""
    with open(file, "rb") as stream:
        return stream.read() == render(entries).encode()


def joined(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Sorted; of entries for one key, which merges leave behind, the one that allows most, with the first reason."""
    found: dict[Key, Entry] = {}
    for entry in entries:
        other = found.get(entry.key, entry)
        found[entry.key] = Entry(entry.key, max(entry.allowed, other.allowed), other.reason or entry.reason)
    return tuple(found[key] for key in sorted(found))


def key_of(finding: Finding, folder: str) -> Key:
    """The key of a finding for a baseline in `folder`."""
    return Key(relative(finding.path, folder), finding.code, finding.qualname, statement_of(finding.identity))


def entries_of(findings: Iterable[Finding], folder: str, reason: str = "") -> tuple[Entry, ...]:
    """The entries that cover `findings`, notes left out."""
    counts: dict[Key, int] = {}
    for finding in findings:
        if finding.severity != "note":
            key = key_of(finding, folder)
            counts[key] = counts.get(key, 0) + 1
    return tuple(Entry(key, count, reason) for key, count in sorted(counts.items()))


def relative(path: str, folder: str) -> str:
    """`path` as a baseline in `folder` names it."""
    try:
        return os.path.relpath(path, folder).replace(os.sep, "/")
    except ValueError:  # another drive
        return os.path.abspath(path).replace(os.sep, "/")


def compare(
    findings: Sequence[Finding], entries: Sequence[Entry], folder: str, is_judged: Callable[[Key], bool]
) -> Verdict:
    """`findings` of one run against a baseline in `folder`.

    `is_judged` says of a key whether the run would have found what it stands for: an entry is stale only if so.
    """
    return _Comparison(findings, entries, folder, is_judged).verdict()


class _Comparison:
    def __init__(
        self, findings: Sequence[Finding], entries: Sequence[Entry], folder: str, is_judged: Callable[[Key], bool]
    ) -> None:
        self._findings = findings
        self._folder = folder
        self._is_judged = is_judged
        self._entries = {entry.key: entry for entry in entries}
        self._left = {entry.key: entry.allowed for entry in entries}
        self._covered: dict[int, tuple[Key, Key]] = {}
        """Number of a finding -> the key of its entry, and its own."""

    def verdict(self) -> Verdict:
        keys = [key_of(finding, self._folder) for finding in self._findings]
        counting = [number for number, finding in enumerate(self._findings) if finding.severity != "note"]
        self._cover(counting, keys, lambda key: [key])
        if any(self._left.values()) and len(self._covered) < len(counting):
            for near in (self._renamed(), self._moved()):
                self._cover(counting, keys, near)
        return self._collect()

    def _cover(self, numbers: Sequence[int], keys: Sequence[Key], near: Callable[[Key], Iterable[Key]]) -> None:
        """Give each finding that has no entry yet one of those `near` its key, as far as they reach."""
        for number in numbers:
            if number not in self._covered:
                key = next((key for key in near(keys[number]) if self._left.get(key)), None)
                if key is not None:
                    self._left[key] -= 1
                    self._covered[number] = (key, keys[number])

    def _renamed(self) -> Callable[[Key], Iterable[Key]]:
        """To the same statement in the same file, where it is gone from its own function."""
        index: dict[tuple[str, ...], list[Key]] = {}
        for key in self._free():
            index.setdefault((key.path, key.code, key.statement), []).append(key)
        return lambda key: index.get((key.path, key.code, key.statement), ())

    def _moved(self) -> Callable[[Key], Iterable[Key]]:
        """To the same statement in the same function of a file that is gone."""
        index: dict[tuple[str, ...], list[Key]] = {}
        for key in self._free():
            if not os.path.lexists(os.path.join(self._folder, key.path)):
                index.setdefault((key.code, key.qualname, key.statement), []).append(key)
        return lambda key: index.get((key.code, key.qualname, key.statement), ())

    def _free(self) -> Iterator[Key]:
        return (key for key, left in self._left.items() if left and self._is_judged(key))

    def _collect(self) -> Verdict:
        kept: list[Entry] = []
        moved: list[tuple[Entry, Key]] = []
        excused: list[Finding] = []
        for number, (key, own) in sorted(self._covered.items()):
            entry = self._entries[key]
            kept.append(Entry(own, 1, entry.reason))
            excused.append(replace(self._findings[number], excuse=Excuse("baseline", entry.reason)))
            if own != key:
                moved.append((entry, own))
        stale = []
        for key, left in self._left.items():
            if left and self._is_judged(key):
                stale.append(self._entries[key]._replace(allowed=left))
            elif left:
                kept.append(self._entries[key]._replace(allowed=left))
        return Verdict(
            tuple(f for number, f in enumerate(self._findings) if number not in self._covered),
            tuple(excused),
            summed(kept),
            tuple(stale),
            tuple(moved),
        )


def summed(entries: Iterable[Entry]) -> tuple[Entry, ...]:
    """Sorted; entries for one key allow together what each allows."""
    found: dict[Key, Entry] = {}
    for entry in entries:
        other = found.get(entry.key)
        found[entry.key] = entry if other is None else other._replace(allowed=other.allowed + entry.allowed)
    return tuple(found[key] for key in sorted(found))


def _loaded(line: str) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None


def _entry(data: Any) -> Entry | str:
    """The entry that `data` is, or what is wrong with it."""
    if not isinstance(data, dict):
        return "expected a JSON object"
    for name, kind in _FIELDS.items():
        if not isinstance(data.get(name), kind) or isinstance(data[name], bool):
            return f"expected {name!r} to be {'a number' if kind is int else 'text'}"
    unknown = sorted(data.keys() - {*_FIELDS, "reason"})
    if unknown:
        return f"unknown key {unknown[0]!r}"
    if data["count"] < 1 or not isinstance(data.get("reason", ""), str):
        return "expected 'count' to be 1 or more and 'reason' to be text"
    key = Key(data["path"], data["code"], data["in"], data["statement"])
    return Entry(key, data["count"], data.get("reason", ""))
