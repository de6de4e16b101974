"""The profiles of a run: those that moelint brings, the repository's own, or the one that was asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from moelint.linter import config_file
from moelint.linter.errors import ConfigError
from moelint.linter.profile_choice import GENERIC, Chooser
from moelint.linter.profile_extend import bare_names, extend
from moelint.linter.settings import AUTO, Settings, is_profile_file

if TYPE_CHECKING:
    from moelint.linter.profile import Profile

Data = Mapping[str, Any]
ROUTES = "routes"
"""The table of a profile file that speaks of routes; `linter.routes` reads it, and only if routes are asked for."""


class Profiles(NamedTuple):
    """Profiles by name as plain data, and how to choose among them."""

    data: Mapping[str, Data]
    forced: str | None = None
    """The profile of every file."""
    fallback: str = GENERIC
    """The profile of files that show no sign of a framework."""

    def chooser(self) -> Chooser:
        return Chooser(self.data, self.forced, self.fallback)


def profiles_for(settings: Settings, built_in: Mapping[str, Data] | None = None) -> Profiles:
    """The profiles of a run. Raises ConfigError for a profile file that is wrong."""
    if built_in is None:
        from moelint.linter.registry import profile_data

        built_in = profile_data()
    data, fallback = dict(built_in), GENERIC
    if settings.profile_extension is not None:
        own = _whole(settings.profile_extension, built_in)
        fallback = own["name"]
        data[fallback] = own
    if settings.profile == AUTO:
        return Profiles(data, None, fallback)
    if not is_profile_file(settings.profile):
        return Profiles(data, settings.profile, fallback)
    asked = load_file(settings.profile, built_in)
    return Profiles({**data, asked["name"]: asked}, asked["name"], fallback)


def choose(path: str, data: bytes, profiles: Profiles) -> Profile:
    """The profile that speaks of a file with the bytes `data`."""
    from moelint.linter.profile import profile_from_dict

    return profile_from_dict(dict(profiles.data[profiles.chooser().choose(path, data)]))


def load_file(path: str, built_in: Mapping[str, Data]) -> Data:
    """A whole or an extending profile file as a whole profile. Raises ConfigError with all that is wrong."""
    from moelint.linter.validate import profile_problems

    try:
        with open(path, "rb") as stream:
            table = config_file.read_toml(path, stream.read())
    except OSError as error:
        raise ConfigError(path, [f"the profile cannot be read: {error.strerror}"]) from None
    table = {key: value for key, value in table.items() if key != ROUTES}
    problems = profile_problems(table, "", os.path.dirname(os.path.abspath(path)), built_in)
    if problems:
        raise ConfigError(path, problems)
    return _whole(bare_names(table), built_in)


def _whole(table: Data, built_in: Mapping[str, Data]) -> Data:
    return extend(built_in[table["base"]], table) if "base" in table else table
