"""Which rules can fire in a file, told from its bytes alone. On the start-up path: imports nothing.

Two levels: a few short stems decide whether anything may be found, which is all that most files are searched for; only
the survivors are searched for a profile and for the exact tokens of its rules.
"""

from __future__ import annotations

import os

from moelint.linter.profile_choice import GENERIC, Chooser

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moelint.linter.registry import RuleEntry

MARK = b"moelint:"
"""What every suppression contains."""
_STEM = 5

Conjunction = tuple[bytes, ...]


def read(path: str, limit: int) -> bytes | None:
    """The bytes of a file, or None if it has more than `limit`. Raises OSError."""
    fd = os.open(path, os.O_RDONLY)
    try:
        size = os.fstat(fd).st_size
        if size > limit:
            return None
        data = os.read(fd, size + 1)
        if len(data) != size:
            data = _read_on(fd, data, limit)
    finally:
        os.close(fd)
    return data if len(data) <= limit else None


def _read_on(fd: int, data: bytes, limit: int) -> bytes:
    """The rest of a file that changes while it is read, or that does not tell its size."""
    parts, size = [data], len(data)
    while size <= limit:
        part = os.read(fd, 1 << 16)
        if not part:
            break
        parts.append(part)
        size += len(part)
    return b"".join(parts)


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


class Prefilter:
    """The search plan of one set of rules and profiles."""

    def __init__(
        self,
        rules: Iterable[RuleEntry],
        profiles: Mapping[str, Mapping[str, Any]],
        forced: str | None = None,
        fallback: str = GENERIC,
    ) -> None:
        self._chooser = Chooser(profiles, forced, fallback)
        self._profiles = {forced: profiles[forced]} if forced is not None else dict(profiles)
        rules = list(rules)
        self._rules = {
            name: [(rule, expand(rule.tokens, data)) for rule in rules] for name, data in self._profiles.items()
        }
        self.stems = stems(
            conjunction
            for per_profile in self._rules.values()
            for _, alternatives in per_profile
            for conjunction in alternatives
        )

    def survives(self, data: bytes) -> bool:
        """Whether anything that a rule asks for may be in the file."""
        for stem in self.stems:
            if stem in data:
                return True
        return False

    def select(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The profile that speaks of a surviving file, and the rules whose tokens it holds."""
        profile = self._chooser.choose(path, data)
        seen: dict[bytes, bool] = {}

        def holds(token: bytes) -> bool:
            found = seen.get(token)
            if found is None:
                found = seen[token] = token in data
            return found

        rules = [
            rule
            for rule, alternatives in self._rules[profile]
            if any(all(holds(token) for token in conjunction) for conjunction in alternatives)
        ]
        return profile, rules


def stems(conjunctions: Iterable[Conjunction]) -> tuple[bytes, ...]:
    """A few byte strings of which at least one occurs wherever all tokens of any conjunction do.

    Greedy cover: each step takes the substring of `_STEM` bytes that stands for most of what is still open. A token
    shorter than that is its own stem.
    """
    todo = {frozenset(conjunction) for conjunction in conjunctions}
    todo = {c for c in todo if not any(other < c for other in todo)}
    chosen: list[bytes] = []
    if frozenset() in todo:
        return (b"",)
    while todo:
        counts: dict[bytes, int] = {}
        for conjunction in todo:
            for part in {part for token in conjunction for part in _parts(token)}:
                counts[part] = counts.get(part, 0) + 1
        best = min(counts, key=lambda part: (-counts[part], part))
        chosen.append(best)
        todo = {c for c in todo if not any(best in token for token in c)}
    return tuple(chosen)


def _parts(token: bytes) -> list[bytes]:
    if len(token) <= _STEM:
        return [token]
    return [token[i : i + _STEM] for i in range(len(token) - _STEM + 1)]
