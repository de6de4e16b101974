"""The pages of the rules as files that an editor can open: written where the user's caches are, once a version."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress

from moelint import __version__
from moelint.linter import registry
from moelint.linter.rule_docs import rule_doc
from moelint.linter.server.documents import uri_of


class Pages:
    """Addresses of rule documentation; a page is written when its address is first asked for."""

    def __init__(self) -> None:
        base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or os.path.expanduser("~/.cache")
        self.folder = os.path.join(base, "moelint", "rules", __version__)
        self._rules = {rule.code: rule for rule in registry.entries()}
        self._written: dict[str, str] = {}

    def markdown(self, code: str) -> str:
        """The documentation of a rule. Raises KeyError for a code that no rule has."""
        return rule_doc(self._rules[code]).markdown()

    def code_of(self, name: str) -> str | None:
        """The code of the rule with this code or name."""
        return next((rule.code for rule in self._rules.values() if name in (rule.code, rule.name)), None)

    def address(self, code: str) -> str:
        """The address of a rule's page. Raises KeyError for a code that no rule has."""
        known = self._written.get(code)
        if known is None or not os.path.exists(known):
            known = self._written[code] = self._write(f"{self._rules[code].name}.md", self.markdown(code))
        return uri_of(known)

    def written(self, name: str, text: str) -> str:
        """The address of a page with this text."""
        return uri_of(self._write(name, text))

    def _write(self, name: str, text: str) -> str:
        path = os.path.join(self.folder, name)
        with suppress(OSError):
            if _holds(path, text):
                return path
            os.makedirs(self.folder, exist_ok=True)
            new = f"{path}.{os.getpid()}"
            with open(new, "w", encoding="utf-8") as stream:
                stream.write(text)
            os.replace(new, path)
            return path
        self.folder = tempfile.mkdtemp(prefix="moelint-rules-")
        return self._write(name, text)


def _holds(path: str, text: str) -> bool:
    if not os.path.exists(path):
        return False
    with open(path, encoding="utf-8") as stream:
        return stream.read() == text
