"""What the client can do, and what its user set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from lsprotocol import types


@dataclass(frozen=True, slots=True)
class UserSettings:
    """The settings in the section `moelint` of an editor; names there are in camelCase."""

    debounce_ms: int = 150
    """Milliseconds of quiet that are waited for while somebody types."""
    workspace_diagnostics: bool = True
    """Check files that are not open too, for clients that ask."""
    code_lens: bool = True
    inlay_hints: bool = False
    routes: bool = True
    """Analyse routes in the background; without it there is no code lens and no table of routes."""
    status: bool = False
    """Send `moelint/status`, for clients that know it."""

    def updated(self, given: object) -> tuple[UserSettings, list[str]]:
        """With what a client sent on top, and what is wrong in that."""
        if given is None:
            return self, []
        if not isinstance(given, Mapping):
            return self, ["the settings of moelint are no table"]
        changes: dict[str, Any] = {}
        problems: list[str] = []
        known = {_camel(field.name): field.name for field in fields(self)}
        for key, value in given.items():
            name = known.get(key)
            if name is None:
                continue  # settings of the extension itself, such as the path of the server
            expected = type(getattr(self, name))
            if type(value) is not expected or (expected is int and value < 0):
                problems.append(f"moelint.{key}: {value!r} is no {'number' if expected is int else 'truth value'}")
            else:
                changes[name] = value
        return replace(self, **changes), problems


@dataclass(frozen=True, slots=True)
class Abilities:
    """What of all this the client said that it can do."""

    pull: bool = False
    refresh_diagnostics: bool = False
    watch: bool = False
    configuration: bool = False
    related: bool = False
    links: bool = False
    show_document: bool = False
    progress: bool = False
    refresh_lenses: bool = False
    refresh_hints: bool = False

    @classmethod
    def of(cls, given: types.ClientCapabilities) -> Abilities:
        text, work, window = given.text_document, given.workspace, given.window
        publish = text and text.publish_diagnostics
        pull = text and text.diagnostic
        shown = window and window.show_document
        watched = work and work.did_change_watched_files
        return cls(
            pull=pull is not None,
            refresh_diagnostics=bool(work and work.diagnostics and work.diagnostics.refresh_support),
            refresh_lenses=bool(work and work.code_lens and work.code_lens.refresh_support),
            refresh_hints=bool(work and work.inlay_hint and work.inlay_hint.refresh_support),
            show_document=bool(shown and shown.support),
            progress=bool(window and window.work_done_progress),
            watch=bool(watched and watched.dynamic_registration),
            configuration=bool(work and work.configuration),
            related=bool((publish and publish.related_information) or (pull and pull.related_information)),
            links=bool((publish and publish.code_description_support) or (pull and pull.code_description_support)),
        )


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
