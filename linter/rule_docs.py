"""A rule's documentation: the class docstring, read once into sections and given back as Markdown or plain data."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import Any

from moelint.linter.registry import RuleEntry

HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Limits")

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROFILE_LINE = re.compile(r"^# profile: \w+\n", re.MULTILINE)
"""Tells the tests of the examples which profile to take."""


@dataclass(frozen=True, slots=True)
class RuleDoc:
    """The documentation of one rule. `sections` are (heading, Markdown) in the order of the docstring."""

    entry: RuleEntry
    summary: str
    sections: tuple[tuple[str, str], ...]

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """What the rule declares about itself, for the head of its page."""
        facts = (
            ("Code", self.entry.code),
            ("Family", self.entry.family),
            ("Severity", self.entry.severity),
            ("Since", self.entry.since),
        )
        if self.entry.by_routes:
            return (*facts, ("Needs", "`--routes`"))
        return (*facts, ("Needs", "a profile that names central helpers")) if self.entry.needs_helpers else facts

    def markdown(self) -> str:
        """The page as Markdown that ends in a newline."""
        facts = " | ".join(f"{label}: **{value}**" for label, value in self.facts)
        parts = [f"# {self.entry.name} ({self.entry.code})", facts, self.summary, f"Help: {self.entry.help}"]
        parts += [f"## {heading}\n\n{text}" for heading, text in self.sections]
        return "\n\n".join(part for part in parts if part) + "\n"

    def blocks(self, heading: str) -> list[tuple[bool, str]]:
        """A section as pieces in order: (is Python code, text)."""
        pieces = enumerate(_BLOCK.split(dict(self.sections)[heading]))
        return [(bool(index % 2), text.strip("\n")) for index, text in pieces if text.strip()]

    def as_dict(self) -> dict[str, Any]:
        """The documentation as plain data, in a fixed order of keys."""
        entry = self.entry
        return {
            "code": entry.code,
            "name": entry.name,
            "family": entry.family,
            "severity": entry.severity,
            "since": entry.since,
            "needs_helpers": entry.needs_helpers,
            "help": entry.help,
            "summary": self.summary,
            "sections": dict(self.sections),
        }


def rule_doc(entry: RuleEntry) -> RuleDoc:
    """Import one rule and read its docstring."""
    text = _PROFILE_LINE.sub("", inspect.cleandoc(entry.load().__doc__ or ""))
    summary, *parts = _HEADING.split(text)
    texts = [part.strip() for part in parts]
    return RuleDoc(entry, summary.strip(), tuple(zip(texts[::2], texts[1::2], strict=True)))
