"""Findings as editors show them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence

from lsprotocol import types

from moelint.linter.model import Diagnostic, Finding, Severity
from moelint.linter.server.documents import lines_on_disk, uri_of
from moelint.linter.server.positions import line_range, to_range

SOURCE = "moelint"
_SEVERITY: dict[Severity, types.DiagnosticSeverity] = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "note": types.DiagnosticSeverity.Hint,
}
Lines = Sequence[str]


class Presenter:
    """Puts findings into the client's terms. `page` gives the address of a rule's documentation, `lines_of` the lines
    of a file that is open."""

    def __init__(self, page: Callable[[str], str], lines_of: Callable[[str], Lines | None]) -> None:
        self.encoding = "utf-16"
        self.related = True
        """Whether the client shows related places."""
        self.links = True
        """Whether the client follows links behind codes."""
        self._page = page
        self._lines_of = lines_of

    def diagnostics(
        self, findings: Iterable[Finding], problems: Iterable[Diagnostic], lines: Lines
    ) -> list[types.Diagnostic]:
        """All of one file, by position."""
        found = [self._finding(finding, lines) for finding in findings]
        found += [self._problem(problem, lines) for problem in problems]
        return sorted(found, key=lambda item: (item.range.start.line, item.range.start.character, str(item.code)))

    def lines(self, path: str) -> Lines:
        """The lines of a file, from the editor or from disk."""
        return self._lines_of(path) or lines_on_disk(path)

    def _finding(self, finding: Finding, lines: Lines) -> types.Diagnostic:
        related = None
        if self.related and finding.related:
            related = [
                types.DiagnosticRelatedInformation(
                    types.Location(
                        uri_of(place.path),
                        to_range(
                            lines if place.path == finding.path else self.lines(place.path), place.region, self.encoding
                        ),
                    ),
                    place.message,
                )
                for place in finding.related
            ]
        return types.Diagnostic(
            to_range(lines, finding.region, self.encoding),
            finding.message,
            severity=_SEVERITY[finding.severity],
            code=finding.code,
            code_description=types.CodeDescription(self._page(finding.code)) if self.links else None,
            source=SOURCE,
            related_information=related,
            data={"identity": finding.identity, "name": finding.name},
        )

    def _problem(self, problem: Diagnostic, lines: Lines) -> types.Diagnostic:
        return types.Diagnostic(
            line_range(lines, problem.line, self.encoding),
            problem.message,
            severity=types.DiagnosticSeverity.Error,
            code=problem.code,
            source=SOURCE,
        )


def result_id(items: Sequence[types.Diagnostic]) -> str:
    """The same for the same diagnostics: what a client that has them need not be sent again."""
    return hashlib.blake2b(repr(items).encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
