"""Which few byte strings to search files for, so that no file is missed in which all tokens of some conjunction are.

Worked out when the index is made, and in a run only for what the profiles of a repository add.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Conjunction = tuple[bytes, ...]
Cover = dict[bytes, list[bytes]]
"""Stem -> the tokens that it is searched for: the leading tokens."""

RARE = 0.003
"""The share of code that is taken to hold a token of which nothing is known."""
_STEM = 5
"""The length in which stems are chosen. Shorter ones are found too often, longer ones stand for too few tokens."""


def cover(conjunctions: Iterable[Conjunction], shares: Mapping[bytes, float], known: Cover | None = None) -> Cover:
    """A cover of the conjunctions, on top of those that `known` covers. `shares` tells how much code holds a token.

    Greedy: each step takes the part of tokens that costs least for each conjunction it stands for, and makes it as
    long as that allows.
    """
    found = dict(known or {})
    leading = [token for tokens in found.values() for token in tokens]
    open_ = {c for c in minimal(conjunctions) if not any(lead in token for token in c for lead in leading)}
    parts = {conjunction: {part for token in conjunction for part in _parts(token)} for conjunction in open_}
    while open_:
        holders: dict[bytes, list[Conjunction]] = {}
        for conjunction in open_:
            for part in parts[conjunction]:
                holders.setdefault(part, []).append(conjunction)
        best = min(holders, key=lambda part: (_cost(part, holders[part], shares), -len(part), part))
        tokens = sorted({token for conjunction in holders[best] for token in conjunction if best in token})
        stem = _longest(best, tokens)
        found[stem] = sorted({*found.get(stem, ()), *tokens})
        open_.difference_update(holders[best])
    return _merged(found)


def _merged(found: Cover) -> Cover:
    """The same tokens with fewer stems: one whose tokens all hold another stem is not needed."""
    merged = dict(found)
    for stem in found:
        host = next((other for other in merged if other != stem and all(other in t for t in merged[stem])), None)
        if host is not None:
            merged[host] = sorted({*merged[host], *merged.pop(stem)})
    return merged


def restricted(found: Cover, conjunctions: Iterable[Conjunction]) -> Cover:
    """What of a cover speaks of `conjunctions`, which it must cover."""
    tokens = {token for conjunction in conjunctions for token in conjunction}
    kept = {stem: [lead for lead in leads if any(lead in t for t in tokens)] for stem, leads in found.items()}
    return {stem: leads for stem, leads in kept.items() if leads}


def minimal(conjunctions: Iterable[Conjunction]) -> list[Conjunction]:
    """The conjunctions that no other one follows from: where `a_long_token` is, `token` is too."""
    kept: list[Conjunction] = []
    for conjunction in sorted({c for c in conjunctions if c}, key=lambda c: (len(c), sum(map(len, c)), c)):
        if not any(all(any(part in token for token in conjunction) for part in other) for other in kept):
            kept.append(conjunction)
    return kept


def _cost(part: bytes, conjunctions: Sequence[Conjunction], shares: Mapping[bytes, float]) -> float:
    """The work for each conjunction, in searches of all files: one for the stem itself, and in the files that hold
    one of its tokens one for each other token that the answer hangs on next."""
    leading: set[bytes] = set()
    following: set[bytes] = set()
    for conjunction in conjunctions:
        held = [token for token in conjunction if part in token]
        others = [token for token in conjunction if part not in token]
        leading.update(held)
        following.update(sorted(others, key=lambda token: shares.get(token, RARE))[:1])
    survivors = min(1.0, sum(shares.get(token, RARE) for token in leading))
    return (1 + survivors * len(following)) / len(conjunctions)


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
