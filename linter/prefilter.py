"""Which rules can fire in a file, told from its bytes alone. On the start-up path: imports `os` alone.

Each rule names tokens, dozens in all, and searching for each would take longer than reading. So a few stems are
chosen that are part of many tokens; a file is searched for these, and only around each find are tokens compared.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moelint.linter.profile_choice import Chooser
    from moelint.linter.registry import RuleEntry

    Conjunction = tuple[bytes, ...]

_STEM = 5
"""The length in which stems are chosen. Shorter ones are found too often, longer ones stand for too few tokens."""
_CONTEXT = 4


class Prefilter:
    """The search plan of one set of rules and profiles."""

    def __init__(self, rules: Sequence[RuleEntry], profiles: Mapping[str, Mapping[str, Any]], chooser: Chooser) -> None:
        self._rules = rules
        self._profiles = profiles
        self._chooser = chooser
        self._expanded: dict[str, list[tuple[RuleEntry, list[Conjunction]]]] = {}
        self._stems: Stems | None = None

    def select(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The profile that speaks of a file, and those of its rules whose tokens the file holds."""
        return self._select(path, data, {})

    def select_in_bulk(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The same answer (the profile left empty if there are no rules), faster from some dozens of files on."""
        if self._stems is None:
            self._stems = Stems(
                conjunction
                for name in self._profiles
                for _, alternatives in self._alternatives(name)
                for conjunction in alternatives
            )
        seen = self._stems.search(data)
        return ("", []) if seen is None else self._select(path, data, seen)

    def _select(self, path: str, data: bytes, seen: dict[bytes, bool]) -> tuple[str, list[RuleEntry]]:
        profile = self._chooser.choose(os.path.abspath(path), data)
        rules: list[RuleEntry] = []
        for rule, alternatives in self._alternatives(profile):
            for conjunction in alternatives:
                for token in conjunction:
                    found = seen.get(token)
                    if found is None:
                        found = seen[token] = token in data
                    if not found:
                        break
                else:
                    rules.append(rule)
                    break
        return profile, rules

    def _alternatives(self, profile: str) -> list[tuple[RuleEntry, list[Conjunction]]]:
        found = self._expanded.get(profile)
        if found is None:
            data = self._profiles[profile]
            found = self._expanded[profile] = [(rule, expand(rule.tokens, data)) for rule in self._rules]
        return found


class Stems:
    """A few byte strings of which one is found wherever all tokens of any of the conjunctions are."""

    def __init__(self, conjunctions: Iterable[Conjunction]) -> None:
        open_ = set(conjunctions)
        self._always = () in open_
        leads = _leads(open_ - {()})
        self._absent = {token: False for tokens in leads.values() for token in tokens}
        self._searches = [(stem, *_context(stem, tokens), _by_offset(stem, tokens)) for stem, tokens in leads.items()]

    @property
    def stems(self) -> tuple[bytes, ...]:
        return tuple(search[0] for search in self._searches)

    def search(self, data: bytes) -> dict[bytes, bool] | None:
        """Which of the tokens that the stems stand for are in `data`; None if no conjunction can be."""
        found: dict[bytes, bool] = {}
        for stem, start, end, contexts, by_offset in self._searches:
            at = data.find(stem)
            while at >= 0:
                if data[at + start : at + end] in contexts:
                    for offset, tokens in by_offset:
                        if at >= offset and data.startswith(tokens, at - offset):
                            found.update((token, True) for token in tokens if data.startswith(token, at - offset))
                at = data.find(stem, at + 1)
        return {**self._absent, **found} if found or self._always else None


def expand(tokens: Sequence[Sequence[str]], profile: Mapping[str, Any]) -> list[Conjunction]:
    """The alternatives of a rule, with `@field` replaced by each spelling in that field of the profile."""
    found: list[Conjunction] = []
    for alternative in tokens:
        conjunctions: list[Conjunction] = [()]
        for entry in alternative:
            spellings = _spellings(entry, profile)
            conjunctions = [(*start, spelling) for start in conjunctions for spelling in spellings]
        found += conjunctions
    return found


def _spellings(entry: str, profile: Mapping[str, Any]) -> list[bytes]:
    if not entry.startswith("@"):
        return [entry.encode()]
    value = profile.get(entry[1:], ())
    return [spelling.encode() for spelling in ((value,) if isinstance(value, str) else value)]


def _leads(open_: set[Conjunction]) -> dict[bytes, list[bytes]]:
    """Stem -> the tokens that it stands for, one at least of every conjunction.

    Greedy cover: each step takes the part that stands for most of what is still open, made as long as that allows.
    """
    leads: dict[bytes, list[bytes]] = {}
    parts = {conjunction: {part for token in conjunction for part in _parts(token)} for conjunction in open_}
    while open_:
        counts: dict[bytes, int] = {}
        for conjunction in open_:
            for part in parts[conjunction]:
                counts[part] = counts.get(part, 0) + 1
        best = min(counts, key=lambda part: (-counts[part], -len(part), part))
        covered = {conjunction for conjunction in open_ if best in parts[conjunction]}
        tokens = sorted({token for conjunction in covered for token in conjunction if best in token})
        leads[_longest(best, tokens)] = tokens
        open_ -= covered
    return leads


def _parts(token: bytes) -> list[bytes]:
    return [token[i : i + _STEM] for i in range(max(1, len(token) - _STEM + 1))]


def _longest(stem: bytes, tokens: Sequence[bytes]) -> bytes:
    """The longest string with `stem` in it that is part of all tokens."""
    start = tokens[0].find(stem)
    end = start + len(stem)
    while start and all(tokens[0][start - 1 : end] in token for token in tokens):
        start -= 1
    while end < len(tokens[0]) and all(tokens[0][start : end + 1] in token for token in tokens):
        end += 1
    return tokens[0][start:end]


def _context(stem: bytes, tokens: Sequence[bytes]) -> tuple[int, int, frozenset[bytes]]:
    """Where, seen from a stem that was found, to look at a few bytes, and which these must be in one of the tokens."""
    offsets = [token.find(stem) for token in tokens]
    before = min(offsets)
    after = min(len(token) - offset for token, offset in zip(tokens, offsets, strict=True))
    start, end = (
        (-min(before, _CONTEXT), 0) if before >= after - len(stem) else (len(stem), min(after, len(stem) + _CONTEXT))
    )
    contexts = (token[offset + start : offset + end] for token, offset in zip(tokens, offsets, strict=True))
    return start, end, frozenset(contexts)


def _by_offset(stem: bytes, tokens: Iterable[bytes]) -> list[tuple[int, tuple[bytes, ...]]]:
    """The tokens by the place where the stem is in them."""
    groups: dict[int, list[bytes]] = {}
    for token in tokens:
        groups.setdefault(token.find(stem), []).append(token)
    return [(offset, tuple(group)) for offset, group in sorted(groups.items())]
