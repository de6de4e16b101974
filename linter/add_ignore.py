"""`--add-ignore`: write suppression comments for findings, and prove that they hide these and change nothing else.

A comment gets a line of its own above the statement, where neither a formatter nor a backslash can reach it. The bytes
of the file stay as they are: encoding, byte order mark, line ends, form feeds.
"""

from __future__ import annotations

import ast
import io
import os
import re
import tokenize
import warnings
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from moelint.linter import check
from moelint.linter.decoding import declared_encoding, to_utf8
from moelint.linter.errors import UsageError
from moelint.linter.writing import rewrite

if TYPE_CHECKING:
    from moelint.linter.model import Finding
    from moelint.linter.plan import Plan

_LINE_END = re.compile(rb"\r\n|\n|\r")
_INDENT = re.compile(rb"[ \t\f]*")
_BOM = b"\xef\xbb\xbf"
_LAYOUT = frozenset({tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.COMMENT})
_OWN_FAMILY = "suppression"


class Added(NamedTuple):
    """What was written, and what was not."""

    findings: int
    files: int
    refused: tuple[str, ...]
    """For each file that could not be changed, why."""


def checked_reason(reason: str) -> str:
    """`reason` as it will stand in the comments. Raises UsageError for one that would not be read back."""
    text = " ".join(reason.split())
    if not text.strip("- "):
        raise UsageError("--add-ignore: give a reason that says something")
    if not text.isprintable():
        raise UsageError("--add-ignore: the reason has characters that cannot be printed")
    if re.search(r"coding[:=]", text):
        raise UsageError("--add-ignore: the reason reads like a declaration of the file's encoding")
    return text


def add_ignores(findings: Sequence[Finding], plan: Plan, reason: str) -> Added:
    """Write a comment with `reason` for each statement that `findings` are about. Findings about suppression comments
    themselves are left. Raises UsageError for a bad reason."""
    reason = checked_reason(reason)
    files = _by_file(findings)
    old: dict[str, bytes] = {}
    new: dict[str, bytes] = {}
    refused: dict[str, str] = {}
    for path, own in files.items():
        try:
            with open(path, "rb") as stream:
                old[path] = stream.read()
            new[path] = with_comments(old[path], own, reason)
        except (OSError, ValueError, SyntaxError, tokenize.TokenError) as error:
            refused[path] = f"{path}: not changed: {getattr(error, 'strerror', None) or error}"
    proven = _proven({path: files[path] for path in new}, plan, old, new)
    refused |= {path: f"{path}: not changed: a comment there has no or another effect" for path in new.keys() - proven}
    for path in sorted(proven):
        try:
            rewrite(path, old[path], new[path])
        except OSError as error:
            refused[path] = f"{path}: not changed: {error.strerror or error}"
    written = [path for path in proven if path not in refused]
    return Added(
        sum(len(files[path]) for path in written), len(written), tuple(refused[path] for path in sorted(refused))
    )


def with_comments(data: bytes, findings: Sequence[Finding], reason: str) -> bytes:
    """The bytes of a file with comments for `findings`. Raises ValueError or SyntaxError if they cannot be written."""
    text = to_utf8(data).decode("utf-8-sig")
    encoding = declared_encoding(data) or "utf-8"
    starts = logical_lines(text)
    names: dict[int, set[str]] = {}
    for finding in findings:
        position = bisect_right(starts, finding.region.line) - 1
        if position < 0:
            raise ValueError(f"line {finding.region.line} is in no statement")
        names.setdefault(starts[position], set()).add(finding.name)
    bom = _BOM if data.startswith(_BOM) else b""
    lines = _lines(data[len(bom) :])
    for number in sorted(names, reverse=True):
        comment = f"# moelint: ignore[{', '.join(sorted(names[number]))}] -- {reason}"
        lines.insert(number - 1, _indent(lines[number - 1]) + comment.encode(encoding) + _end_for(lines, number - 1))
    return bom + b"".join(lines)


def logical_lines(text: str) -> list[int]:
    """The first line of every logical line. Raises tokenize.TokenError and SyntaxError."""
    starts: list[int] = []
    inside = False
    for token in tokenize.generate_tokens(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")).readline):
        if token.type == tokenize.NEWLINE:
            inside = False
        elif not inside and token.type not in _LAYOUT and token.type != tokenize.ENDMARKER:
            starts.append(token.start[0])
            inside = True
    return starts


def _by_file(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    """Findings by the file that they are in; of several links to it the first counts."""
    first: dict[str, str] = {}
    files: dict[str, list[Finding]] = {}
    for finding in findings:
        if (
            finding.family != _OWN_FAMILY
            and first.setdefault(os.path.realpath(finding.path), finding.path) == finding.path
        ):
            files.setdefault(finding.path, []).append(finding)
    return files


def _lines(data: bytes) -> list[bytes]:
    """The lines as the tokenizer counts them, with their ends."""
    lines, start = [], 0
    for match in _LINE_END.finditer(data):
        lines.append(data[start : match.end()])
        start = match.end()
    return [*lines, data[start:]] if start < len(data) else lines


def _indent(line: bytes) -> bytes:
    """The white space that a line starts with; a form feed sets the column back to zero."""
    space = _INDENT.match(line)
    return space[0].rpartition(b"\f")[2] if space else b""


def _end_for(lines: Sequence[bytes], position: int) -> bytes:
    """The line end of the line at `position`, or, if it has none, of the one before."""
    for line in reversed(lines[max(position - 1, 0) : position + 1]):
        end = re.search(rb"(?:\r\n|\n|\r)\Z", line)
        if end:
            return end[0]
    return b"\n"


def _proven(
    files: Mapping[str, Sequence[Finding]], plan: Plan, old: Mapping[str, bytes], new: Mapping[str, bytes]
) -> set[str]:
    """The files in which the new text says the same to Python, hides the findings, and has no new ones."""
    if not files:
        return set()
    paths = tuple(files)
    before, after = (check.check(paths, plan, {path: texts[path] for path in paths}) for texts in (old, new))
    then, now, hidden = (_identities(found) for found in (before.findings, after.findings, after.suppressed))
    return {
        path
        for path, findings in files.items()
        if _tree(old[path]) == _tree(new[path])
        and {finding.identity for finding in findings} <= hidden[path]
        and now[path] < then[path]
        and then[path] - now[path] <= hidden[path]
    }


def _identities(findings: Sequence[Finding]) -> dict[str, set[str]]:
    """The identities of the findings of each file."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    for finding in findings:
        found[finding.path].add(finding.identity)
    return found


def _tree(data: bytes) -> str | None:
    """The syntax of a file without positions; None if it has none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.dump(ast.parse(to_utf8(data).decode("utf-8-sig")))
        except (SyntaxError, ValueError):
            return None
