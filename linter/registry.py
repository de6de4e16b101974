"""The rules and profiles a run knows of, from the generated index; classes are imported when a file asks for them."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from moelint.linter.model import Severity
    from moelint.linter.profile import Profile
    from moelint.linter.rule import Rule, Tokens


class RuleEntry:
    """One line of the index."""

    __slots__ = (
        "class_name",
        "code",
        "family",
        "help",
        "module",
        "name",
        "needs_helpers",
        "roles",
        "severity",
        "since",
        "tokens",
    )

    def __init__(
        self,
        code: str,
        name: str,
        family: str,
        severity: Severity,
        since: str,
        help: str,
        tokens: Tokens,
        needs_helpers: bool,
        roles: tuple[str, ...],
        module: str,
        class_name: str,
    ) -> None:
        self.code = code
        self.name = name
        self.family = family
        self.severity = severity
        self.since = since
        self.help = help
        self.tokens = tokens
        self.needs_helpers = needs_helpers
        self.roles = roles
        self.module = module
        self.class_name = class_name

    @property
    def by_routes(self) -> bool:
        """Whether the rule reads the route table instead of files."""
        return not self.tokens

    def load(self) -> type[Rule]:
        """The rule's class, imported now if it was not before."""
        from importlib import import_module

        rule: type[Rule] = getattr(import_module(self.module), self.class_name)
        return rule


def entries() -> tuple[RuleEntry, ...]:
    """Every rule, by code."""
    from moelint.rules import _index

    return tuple(RuleEntry(*row) for row in _index.RULES)


def stale() -> list[str]:
    """Rule files that the index does not know or that it knows and that are gone; empty in a sound installation."""
    import os

    from moelint.rules import _index

    folder = os.path.dirname(_index.__file__)
    here = {
        f"moelint.rules.{name[:-3]}" for name in os.listdir(folder) if name.endswith(".py") and not name.startswith("_")
    }
    known = {row[9] for row in _index.RULES if row[9].startswith("moelint.rules.")}
    return sorted(here ^ known)


def profile_data() -> Mapping[str, Mapping[str, Any]]:
    """The built-in profiles as plain data."""
    from moelint.rules import _index

    return _index.PROFILES


def token_shares() -> Mapping[bytes, float]:
    """The share of model code that holds a token, by bytes of files, as far as it was measured."""
    from moelint.rules import _frequency

    return {token.encode(): share for token, share in _frequency.SHARES.items()}


def token_cover(profile: str) -> dict[bytes, list[bytes]]:
    """The stems to search files of a profile for, with the tokens that each stands for: a cover for all rules. The
    empty name stands for all built-in profiles together; one that is not built in has none."""
    from moelint.rules import _index

    found = _index.COVERS.get(profile, {})
    return {stem.encode(): [token.encode() for token in tokens] for stem, tokens in found.items()}


def build_profile(data: Mapping[str, Any]) -> Profile:
    """The profile of validated plain data."""
    from moelint.linter.profile import profile_from_dict

    return profile_from_dict(dict(data))
