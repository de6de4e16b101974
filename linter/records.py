"""Results as plain tuples, which cost nothing to send or store, and the way back to the model."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from moelint.linter.model import Diagnostic, Finding, Severity
    from moelint.linter.registry import RuleEntry

    RelatedRow = tuple[int, int, int, int, str] | tuple[int, int, int, int, str, str]
    """line, column, end line, end column, message; in the same file, unless a path follows."""
    FindingRow = tuple[int, int, int, int, str, str, str, Severity, tuple[RelatedRow, ...], str]
    """line, column, end line, end column, code, message, qualname, severity, related, identity."""
    HiddenRow = tuple[int, int, int, int, str, str, str, Severity, tuple[RelatedRow, ...], str, str]
    """A finding that a comment hides, and the reason that the comment gives."""
    Problem = tuple[str, int, str, bool]
    """code, line, message, internal."""
    Record = tuple[tuple[FindingRow, ...], tuple[HiddenRow, ...], tuple[Problem, ...], bool]
    """findings, suppressed findings, diagnostics, whether the file was parsed."""


def findings(path: str, rows: Iterable[FindingRow], rules: Mapping[str, RuleEntry]) -> list[Finding]:
    """The findings that `rows` stand for; `rules` by code."""
    from moelint.linter.model import Finding, Place, Region

    found = []
    for line, col, end_line, end_col, code, message, qualname, severity, related, identity in rows:
        rule = rules[code]
        found.append(
            Finding(
                code,
                rule.name,
                rule.family,
                severity,
                path,
                Region(line, col, end_line, end_col),
                message,
                rule.help,
                qualname,
                tuple(Place(row[5] if len(row) > 5 else path, Region(*row[:4]), row[4]) for row in related),
                identity,
            )
        )
    return found


def hidden(path: str, rows: Iterable[HiddenRow], rules: Mapping[str, RuleEntry]) -> list[Finding]:
    """The findings that comments hide."""
    from dataclasses import replace

    from moelint.linter.model import Excuse

    rows = tuple(rows)
    found = findings(path, (row[:10] for row in rows), rules)
    return [replace(finding, excuse=Excuse("comment", row[10])) for finding, row in zip(found, rows, strict=True)]


def diagnostics(path: str, problems: Iterable[Problem]) -> list[Diagnostic]:
    from moelint.linter.model import Diagnostic

    return [Diagnostic(code, path, line, message, internal) for code, line, message, internal in problems]
