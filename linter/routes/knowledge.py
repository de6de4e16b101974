"""Load what the profiles say for the route analysis."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import moelint.rules
from moelint.linter.errors import ConfigError, UsageError
from moelint.linter.profile import Profile, profile_from_dict
from moelint.linter.routes.driver import Knowledge
from moelint.linter.routes.facts import route_facts_from_dict

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_PROFILES = Path(moelint.rules.__file__).parent / "profiles"


def frameworks() -> list[str]:
    """The built-in profiles that know routes."""
    return sorted(folder.parent.name for folder in _PROFILES.glob("*/routes.toml"))


@lru_cache(maxsize=4)
def knowledge(framework: str) -> Knowledge:
    """Everything the analysis needs to know of a framework. Raises UsageError if it knows no routes of it."""
    folder = _PROFILES / framework
    if not (folder / "routes.toml").is_file():
        raise UsageError(f"no route facts for profile {framework}; there are some for: {', '.join(frameworks())}")
    profile = profile_from_dict(tomllib.loads((_PROFILES / f"{framework}.toml").read_text(encoding="utf-8")))
    facts = route_facts_from_dict(tomllib.loads((folder / "routes.toml").read_text(encoding="utf-8")))
    models = (folder / "models.py").read_text(encoding="utf-8")
    return Knowledge(profile, facts, models, f"{framework}/models.py")


def with_profile(known: Knowledge, profile: Profile) -> Knowledge:
    """The same knowledge of routes for a profile that extends the framework's."""
    return replace(known, profile=profile)


def knowledge_of_file(path: str, profile: Profile) -> Knowledge | None:
    """What the `[routes]` table of a profile file says: the fields of `RouteFacts`, and `models`, the text of its model
    functions. None if the file has no such table. Raises ConfigError."""
    try:
        data = tomllib.loads(Path(path).read_text(encoding="utf-8"))
        table = data.get("routes")
        if table is None:
            return None
        models = table.pop("models", "")
        compile(models, f"{path} [routes] models", "exec")
        return Knowledge(profile, route_facts_from_dict(table), models, os.path.basename(path))
    except (OSError, ValueError, SyntaxError, KeyError, TypeError, AttributeError) as error:
        raise ConfigError(path, [f"routes: {error}"]) from None
