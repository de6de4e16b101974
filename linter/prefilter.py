"""Which rules can fire in a file, told from its bytes alone. On the start-up path: imports `os` alone.

The rules name a hundred tokens, and to search for each would take longer than reading. So a file is searched for a few
stems, each a part of many tokens, and only around each find are these leading tokens compared. In the files that hold
any, the tokens of single rules are looked for, and only where the leading ones leave that open.
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
    Gated = tuple[frozenset[bytes], Conjunction]
    """The leading tokens that are part of a conjunction's tokens, and its other tokens, the rarest first."""

_CONTEXT = 4
"""How many bytes beside a stem are compared first."""


class Prefilter:
    """The search plan of one set of rules and profiles."""

    def __init__(self, rules: Sequence[RuleEntry], profiles: Mapping[str, Mapping[str, Any]], chooser: Chooser) -> None:
        self._rules = rules
        self._profiles = profiles
        self._chooser = chooser
        self._expanded: dict[str, list[tuple[RuleEntry, list[Conjunction]]]] = {}
        self._gated: dict[str, list[tuple[RuleEntry, list[Gated]]]] = {}
        self._leads = Leads({}, {})

    def conjunctions(self) -> Iterable[Conjunction]:
        """Every conjunction of every rule under every profile."""
        return (c for name in self._profiles for _, alternatives in self._alternatives(name) for c in alternatives)

    def select(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The profile that speaks of a file, and those of its rules whose tokens the file holds."""
        profile = self._chooser.choose(os.path.abspath(path), data)
        seen: dict[bytes, bool] = {}
        return profile, [
            rule
            for rule, alternatives in self._alternatives(profile)
            if any(_all_in(conjunction, data, seen) for conjunction in alternatives)
        ]

    def learn(self, leads: Leads) -> None:
        """Prepare for `select_in_bulk`. `leads` must cover the conjunctions."""
        self._leads = leads
        self._gated = {}

    def select_in_bulk(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The answer of `select` (the profile left empty without rules), faster from some dozens of files on."""
        present = self._leads.search(data)
        if not present:
            return "", []
        profile = self._chooser.choose(os.path.abspath(path), data)
        gated = self._gated.get(profile)
        if gated is None:
            gate = self._leads.gate
            gated = self._gated[profile] = [
                (rule, [gate(c) for c in alternatives]) for rule, alternatives in self._alternatives(profile)
            ]
        seen: dict[bytes, bool] = {}
        return profile, [
            rule
            for rule, alternatives in gated
            if any(gates <= present and _all_in(others, data, seen) for gates, others in alternatives)
        ]

    def _alternatives(self, profile: str) -> list[tuple[RuleEntry, list[Conjunction]]]:
        found = self._expanded.get(profile)
        if found is None:
            data = self._profiles[profile]
            found = self._expanded[profile] = [(rule, expand(rule.tokens, data)) for rule in self._rules]
        return found


class Leads:
    """The search for the leading tokens of a cover (see `token_cover`)."""

    def __init__(self, cover: Mapping[bytes, Sequence[bytes]], shares: Mapping[bytes, float]) -> None:
        self._shares = shares
        self._tokens = [token for tokens in cover.values() for token in tokens]
        self._searches = [(stem, *_context(stem, tokens), _by_offset(stem, tokens)) for stem, tokens in cover.items()]

    @property
    def stems(self) -> tuple[bytes, ...]:
        return tuple(search[0] for search in self._searches)

    def search(self, data: bytes) -> set[bytes]:
        """The leading tokens in `data`; if none is, no conjunction can be."""
        found: set[bytes] = set()
        for stem, start, end, contexts, by_offset in self._searches:
            at = data.find(stem)
            while at >= 0:
                if data[at + start : at + end] in contexts:
                    for offset, tokens in by_offset:
                        if at >= offset and data.startswith(tokens, at - offset):
                            found.update(token for token in tokens if data.startswith(token, at - offset))
                at = data.find(stem, at + 1)
        return found

    def gate(self, conjunction: Conjunction) -> Gated:
        """What a search already says of a conjunction, and what it leaves open."""
        gates = frozenset(lead for lead in self._tokens if any(lead in token for token in conjunction))
        others = sorted(set(conjunction) - gates, key=lambda token: self._shares.get(token, 0.0))
        return gates, tuple(others)


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


def _all_in(tokens: Conjunction, data: bytes, seen: dict[bytes, bool]) -> bool:
    for token in tokens:
        found = seen.get(token)
        if found is None:
            found = seen[token] = token in data
        if not found:
            return False
    return True


def _context(stem: bytes, tokens: Sequence[bytes]) -> tuple[int, int, frozenset[bytes]]:
    """Where, seen from a stem that was found, to look at a few bytes, and which these must be in one of the tokens."""
    places = [(token, token.find(stem)) for token in tokens]
    before = min(offset for _, offset in places)
    after = min(len(token) - offset for token, offset in places) - len(stem)
    if before >= after:
        start, end = -min(before, _CONTEXT), 0
    else:
        start, end = len(stem), len(stem) + min(after, _CONTEXT)
    return start, end, frozenset(token[offset + start : offset + end] for token, offset in places)


def _by_offset(stem: bytes, tokens: Iterable[bytes]) -> list[tuple[int, tuple[bytes, ...]]]:
    """The tokens by the place where the stem is in them."""
    groups: dict[int, list[bytes]] = {}
    for token in tokens:
        groups.setdefault(token.find(stem), []).append(token)
    return [(offset, tuple(group)) for offset, group in sorted(groups.items())]
