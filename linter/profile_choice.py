"""Which profile speaks of a file, told from its path and bytes. On the start-up path: imports `os` alone."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

GENERIC = "generic"
_WORD = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


class Chooser:
    """Chooses among profiles in plain data by name. `forced` speaks of every file, `fallback` of those that show no
    sign of any framework."""

    __slots__ = ("_fallback", "_forced", "_of_folder", "_order", "_packages", "_profiles")

    def __init__(
        self, profiles: Mapping[str, Mapping[str, Any]], forced: str | None = None, fallback: str = GENERIC
    ) -> None:
        self._profiles = profiles
        self._forced = forced
        self._fallback = fallback
        self._packages = {package: name for name, data in profiles.items() for package in data.get("packages", ())}
        self._order = sorted(profiles, key=self._rank)
        self._of_folder: dict[str, str] = {}

    def _rank(self, name: str) -> tuple[bool, bool, str]:
        """Of two with the same evidence: a library after its users, a framework with central helpers first."""
        data = self._profiles[name]
        return bool(data.get("library")), not data.get("answer_calls"), name

    def of_folder(self, folder: str) -> str:
        """The name of the profile for every file in a folder, whatever they hold; empty where that decides."""
        found = self._of_folder.get(folder)
        if found is None:
            found = self._forced or self._packages.get(self._package(os.path.abspath(folder) + "/"), "")
            self._of_folder[folder] = found
        return found

    def choose(self, path: str, data: bytes) -> str:
        """The name of the profile for a file."""
        return self.explain(path, data)[0]

    def explain(self, path: str, data: bytes) -> tuple[str, str]:
        """The name of the profile for a file, and why: it was asked for; else the innermost folder that is one of its
        packages; else the packages that most lines import, where a library counts only if nothing else is imported;
        else a symbol in the text; else the fallback."""
        if self._forced is not None:
            return self._forced, "asked for"
        package = self._package(path)
        if package:
            return self._packages[package], f"the file lies in the package {package}"
        return self._imported(data) or self._mentioned(data) or (self._fallback, "no sign of a framework")

    def _package(self, path: str) -> str:
        """The innermost folder of a path that is one of the packages."""
        folders = path.replace("\\", "/").split("/")[:-1]
        return next((folder for folder in reversed(folders) if folder in self._packages), "")

    def _imported(self, data: bytes) -> tuple[str, str] | None:
        counts: dict[str, int] = {}
        for package, name in self._packages.items():
            count = count_imports(data, package.encode())
            if count:
                counts[name] = counts.get(name, 0) + count
        if not counts:
            return None
        users = [name for name in counts if not self._profiles[name].get("library")]
        best = min(users or counts, key=lambda name: (-counts[name], self._order.index(name)))
        return best, f"lines that import its packages: {counts[best]}"

    def _mentioned(self, data: bytes) -> tuple[str, str] | None:
        for name in self._order:
            for symbol in self._profiles[name].get("symbols", ()):
                if symbol.encode() in data:
                    return name, f"the file mentions {symbol}"
        return None


def count_imports(data: bytes, package: bytes) -> int:
    """How many lines import `package` or something below it."""
    count, position = 0, data.find(package)
    while position >= 0:
        end = position + len(package)
        if (position == 0 or data[position - 1] not in _WORD) and (end == len(data) or data[end] not in _WORD):
            start = max(data.rfind(b"\n", 0, position), data.rfind(b"\r", 0, position)) + 1
            before = data[start:position].split()
            if before == [b"from"] or (before[:1] == [b"import"] and before[-1:] != [b"as"]):
                count += 1
        position = data.find(package, end)
    return count
