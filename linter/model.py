"""The values that travel through the linter: plain, frozen, comparable, picklable."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["error", "warning", "note"]
"""`error` and `warning` decide the exit code; a `note` marks a departure that is provably harmless today."""


@dataclass(frozen=True, slots=True, order=True)
class Region:
    """A span of source text. Lines and columns are 1-based; columns count characters; the end is exclusive."""

    line: int
    col: int
    end_line: int
    end_col: int


@dataclass(frozen=True, slots=True)
class Place:
    """A related place: where a value came from, or what a site disagrees with."""

    path: str
    region: Region
    message: str


@dataclass(frozen=True, slots=True)
class Excuse:
    """Why a finding does not count: a comment in the source, or an entry of the baseline."""

    kind: Literal["comment", "baseline"]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One breach of the policy.

    `identity` survives edits elsewhere in the file: rule, path, enclosing qualified name, hash of the normalised
    innermost statement and a count among equals; never a line number. `excuse` is set for findings that do not count.
    """

    code: str
    name: str
    family: str
    severity: Severity
    path: str
    region: Region
    message: str
    help: str
    qualname: str
    related: tuple[Place, ...] = ()
    identity: str = ""
    excuse: Excuse | None = None


@dataclass(frozen=True, slots=True, order=True)
class Edit:
    """Put `text` in place of the bytes `start` to `end` (exclusive; equal for an insertion) of a file as it is on disk,
    its byte order mark counted. `region` is the same span in lines and characters."""

    start: int
    end: int
    text: str
    region: Region


@dataclass(frozen=True, slots=True)
class Fix:
    """A way to repair the finding of this `identity`: all `edits`, in order and without overlap, or none.

    A `safe` fix repairs what the finding is about and keeps every other behaviour; an unsafe one rests on something
    that the file does not show.
    """

    code: str
    identity: str
    title: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something that kept a file, or a rule on a file, from being checked."""

    code: str
    path: str
    line: int
    message: str
    internal: bool = False


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of one run."""

    findings: tuple[Finding, ...]
    diagnostics: tuple[Diagnostic, ...]
    suppressed: tuple[Finding, ...]
    files: int
    parsed: int
    cached: int
    profiles: tuple[str, ...] = field(default=())
    fixes: tuple[Fix, ...] = ()
    """Fixes of the findings, where somebody asked for them."""

    @property
    def exit_code(self) -> int:
        """0 clean, 1 findings, 2 something could not be checked because of an internal error."""
        if any(d.internal for d in self.diagnostics):
            return 2
        if self.diagnostics or any(f.severity != "note" for f in self.findings):
            return 1
        return 0
