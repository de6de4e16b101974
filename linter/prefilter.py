"""Which rules can fire in a file, told from its bytes alone. On the start-up path: imports `os` alone.

The rules name a hundred tokens, and to search for each would take longer than reading. So a file is searched for a few
stems, each a part of many tokens, and only around each find are these leading tokens compared. In the files that hold
any, the tokens of single rules are looked for, and only where the leading ones leave that open. Where the folder alone
tells the profile, the stems of that profile are enough.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Protocol

    from moelint.linter.profile_choice import Chooser
    from moelint.linter.registry import RuleEntry

    class Words(Protocol):
        """The bytes of a file, or something that knows which words they hold."""

        def __contains__(self, word: bytes, /) -> bool: ...

    Conjunction = tuple[bytes, ...]
    Gated = tuple[frozenset[bytes], Conjunction]
    """The leading tokens that are part of a conjunction's tokens, and its other tokens, the rarest first."""
    ByLead = dict[bytes, list[tuple[int, frozenset[bytes], Conjunction]]]
    """Leading token -> the conjunctions to look at where it is found, each with the number of its rule."""

ANY = ""
"""In place of a profile's name: whichever it may be."""
_CONTEXT = 3
"""How many bytes beside a stem are compared first."""


class Prefilter:
    """The search plan of one set of rules and profiles."""

    def __init__(self, rules: Sequence[RuleEntry], profiles: Mapping[str, Mapping[str, Any]], chooser: Chooser) -> None:
        self._rules = rules
        self._profiles = profiles
        self._chooser = chooser
        self._expanded: dict[str, list[tuple[RuleEntry, list[Conjunction]]]] = {}
        self._by_lead: dict[tuple[str, str], ByLead] = {}
        self._leads: dict[str, Leads] = {}
        self._leads_for: Callable[[str], Leads] = lambda _: Leads({}, {})

    def conjunctions(self, profile: str) -> Iterable[Conjunction]:
        """Every conjunction of every rule under one profile, or under any of them (ANY)."""
        names = self._profiles if profile == ANY else (profile,)
        return (c for name in names for _, alternatives in self._alternatives(name) for c in alternatives)

    def select(self, path: str, data: bytes, words: Words | None = None) -> tuple[str, list[RuleEntry]]:
        """The profile that speaks of a file, and those of its rules whose tokens the file holds; `words` tells that
        where it is known without a search of `data`."""
        profile = self._chooser.choose(os.path.abspath(path), data)
        seen: dict[bytes, bool] = {}
        held: Words = data if words is None else words
        return profile, [
            rule
            for rule, alternatives in self._alternatives(profile)
            if any(_all_in(conjunction, held, seen) for conjunction in alternatives)
        ]

    def learn(self, leads_for: Callable[[str], Leads]) -> None:
        """Prepare for `select_in_bulk`. What `leads_for` gives for a profile, or for ANY, must cover the conjunctions
        of that name."""
        self._leads_for = leads_for
        self._leads = {}
        self._by_lead = {}

    def select_in_bulk(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The answer of `select` (the profile left empty without rules), faster from some dozens of files on."""
        known = self._chooser.of_folder(os.path.dirname(path)) or ANY
        leads = self._leads.get(known)
        if leads is None:
            leads = self._leads[known] = self._leads_for(known)
        present = leads.search(data)
        if not present:
            return "", []
        profile = known or self._chooser.choose(os.path.abspath(path), data)
        by_lead = self._by_lead.get((known, profile))
        if by_lead is None:
            by_lead = self._by_lead[known, profile] = self._ordered_by_lead(leads, profile)
        seen: dict[bytes, bool] = {}
        hits: set[int] = set()
        for lead in present:
            for number, gates, others in by_lead.get(lead, ()):
                if number not in hits and gates <= present and _all_in(others, data, seen):
                    hits.add(number)
        return profile, [self._rules[number] for number in sorted(hits)]

    def _ordered_by_lead(self, leads: Leads, profile: str) -> ByLead:
        ordered: ByLead = {}
        for number, (_, alternatives) in enumerate(self._alternatives(profile)):
            for conjunction in alternatives:
                gates, others = leads.gate(conjunction)
                ordered.setdefault(leads.rarest(gates), []).append((number, gates, others))
        return ordered

    def _alternatives(self, profile: str) -> list[tuple[RuleEntry, list[Conjunction]]]:
        found = self._expanded.get(profile)
        if found is None:
            data = self._profiles[profile]
            found = self._expanded[profile] = [(rule, expand(_tokens(rule, data), data)) for rule in self._rules]
        return found


class Leads:
    """The search for the leading tokens of a cover (see `token_cover`)."""

    def __init__(self, cover: Mapping[bytes, Sequence[bytes]], shares: Mapping[bytes, float]) -> None:
        self._shares = shares
        self._tokens = [token for tokens in cover.values() for token in tokens]
        self._searches = [_Search(stem, tokens) for stem, tokens in cover.items()]
        self._inside: dict[bytes, frozenset[bytes]] = {}

    def search(self, data: bytes) -> set[bytes]:
        """The leading tokens in `data`; if none is, no conjunction can be."""
        found: set[bytes] = set()
        for search in self._searches:
            at = data.find(search.stem)
            if at >= 0:
                search.collect(data, at, found)
        return found

    def gate(self, conjunction: Conjunction) -> Gated:
        """What a search already says of a conjunction, and what it leaves open."""
        gates = frozenset().union(*map(self._leads_in, conjunction))
        return gates, tuple(sorted(set(conjunction) - gates, key=self._share))

    def _leads_in(self, token: bytes) -> frozenset[bytes]:
        found = self._inside.get(token)
        if found is None:
            found = self._inside[token] = frozenset(lead for lead in self._tokens if lead in token)
        return found

    def rarest(self, tokens: Iterable[bytes]) -> bytes:
        """The token that least code holds."""
        return min(sorted(tokens), key=self._share)

    def _share(self, token: bytes) -> float:
        return self._shares.get(token, 0.0)


_FACTOR = "@factor"


def _tokens(rule: RuleEntry, profile: Mapping[str, Any]) -> Sequence[Sequence[str]]:
    """What a rule looks for in code of this profile. Where central helpers own the factor, rules that are made for any
    framework look at the files that name the factor only: routers and blocks without one are not their subject.
    Suppression comments are read wherever they are."""
    if rule.needs_helpers or rule.family == "suppression" or not profile.get("answer_calls"):
        return rule.tokens
    return [alternative if _FACTOR in alternative else (*alternative, _FACTOR) for alternative in rule.tokens]


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


def _all_in(tokens: Conjunction, data: Words, seen: dict[bytes, bool]) -> bool:
    for token in tokens:
        found = seen.get(token)
        if found is None:
            found = seen[token] = token in data
        if not found:
            return False
    return True


class _Search:
    """The search for one stem and the tokens it stands for."""

    __slots__ = ("_after", "_before", "_by_offset", "_end", "_others", "_whole", "stem")

    def __init__(self, stem: bytes, tokens: Iterable[bytes]) -> None:
        self.stem = stem
        self._end = len(stem)
        self._whole = tuple(token for token in tokens if token == stem)
        places = {token: token.find(stem) for token in tokens if token != stem}
        end = self._end
        before = {token for token, offset in places.items() if offset >= _CONTEXT}
        after = {token for token, offset in places.items() if len(token) - offset - end >= _CONTEXT} - before
        self._before = frozenset(token[places[token] - _CONTEXT : places[token]] for token in before)
        self._after = frozenset(token[places[token] + end : places[token] + end + _CONTEXT] for token in after)
        self._others = tuple(places.keys() - before - after)
        groups: dict[int, list[bytes]] = {}
        for token in sorted(before | after):
            groups.setdefault(places[token], []).append(token)
        self._by_offset = [(offset, tuple(group)) for offset, group in groups.items()]

    def collect(self, data: bytes, at: int, found: set[bytes]) -> None:
        """Add the tokens in `data` to `found`; the stem was found `at` first."""
        found.update(self._whole)
        found.update(token for token in self._others if token in data)
        if not self._by_offset:
            return
        stem, end, before, after, find = self.stem, self._end, self._before, self._after, data.find
        while at >= 0:
            if data[at - _CONTEXT : at] in before or data[at + end : at + end + _CONTEXT] in after:
                for offset, tokens in self._by_offset:
                    if data.startswith(tokens, at - offset):
                        found.update(token for token in tokens if data.startswith(token, at - offset))
            at = find(stem, at + 1)
