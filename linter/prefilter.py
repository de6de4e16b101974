"""Which rules can fire in a file, told from its bytes alone. On the start-up path: imports nothing.

Two levels: a few short stems decide whether anything may be found, which is all that most files are searched for; only
the survivors are searched for a profile and for the exact tokens of its rules.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from moelint.linter.profile_choice import Chooser
    from moelint.linter.registry import RuleEntry

    Conjunction = tuple[bytes, ...]

_STEM = 5


class Prefilter:
    """The search plan of one set of rules and profiles."""

    def __init__(self, rules: Sequence[RuleEntry], profiles: Mapping[str, Mapping[str, Any]], chooser: Chooser) -> None:
        self._rules = rules
        self._profiles = profiles
        self._chooser = chooser
        self._expanded: dict[str, list[tuple[RuleEntry, list[Conjunction]]]] = {}
        self._stems: tuple[bytes, ...] | None = None

    def survives(self, data: bytes) -> bool:
        """Whether anything that a rule asks for may be in the file."""
        if self._stems is None:
            self._stems = stems(
                conjunction
                for name in self._profiles
                for _, alternatives in self._alternatives(name)
                for conjunction in alternatives
            )
        return any(map(data.__contains__, self._stems))

    def select(self, path: str, data: bytes) -> tuple[str, list[RuleEntry]]:
        """The profile that speaks of a file, and those of its rules whose tokens the file holds. `path` is absolute,
        so that the answer does not hang on the current folder."""
        profile = self._chooser.choose(path, data)
        seen: dict[bytes, bool] = {}
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


def stems(conjunctions: Iterable[Conjunction]) -> tuple[bytes, ...]:
    """A few byte strings of which at least one occurs wherever all tokens of any conjunction do.

    Greedy cover: each step takes the substring of `_STEM` bytes that stands for most of what is still open. A token
    shorter than that is its own stem.
    """
    todo = {frozenset(conjunction) for conjunction in conjunctions}
    if frozenset() in todo:
        return (b"",)
    chosen: list[bytes] = []
    parts = {conjunction: {part for token in conjunction for part in _parts(token)} for conjunction in todo}
    while todo:
        counts: dict[bytes, int] = {}
        for conjunction in todo:
            for part in parts[conjunction]:
                counts[part] = counts.get(part, 0) + 1
        best = min(counts, key=lambda part: (-counts[part], part))
        chosen.append(best)
        todo = {conjunction for conjunction in todo if best not in parts[conjunction]}
    return tuple(chosen)


def _parts(token: bytes) -> list[bytes]:
    if len(token) <= _STEM:
        return [token]
    return [token[i : i + _STEM] for i in range(len(token) - _STEM + 1)]
