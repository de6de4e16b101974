"""Only what changed: the findings of a run that the changes since a commit bring, uncommitted ones included."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from moelint.linter import check, git
from moelint.linter.errors import UsageError

if TYPE_CHECKING:
    from moelint.linter.model import Finding, Region, Report
    from moelint.linter.plan import Plan

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_DIFF = (
    *("-c", "core.quotePath=true", "diff", "--unified=0", "--find-renames", "--src-prefix=a/", "--dst-prefix=b/"),
    *("--no-color", "--no-ext-diff", "--no-textconv", "--no-relative"),
)
_ESCAPE = re.compile(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"t": b"\t", b"n": b"\n", b"v": b"\v", b"f": b"\f", b"r": b"\r"}


class Changes:
    """What lies between a commit and the work tree. Paths are absolute, without links; lines are those of today."""

    def __init__(self, root: str, base: str) -> None:
        self._root = root
        self._base = base
        self._lines: dict[str, list[range]] = {}
        self._old_names: dict[str, bytes] = {}
        """For each file that the commit has too, its name there."""
        self._whole: set[str] = set()

    @classmethod
    def since(cls, ref: str, folder: str = ".") -> Changes:
        """The changes since the last common commit of `ref` and HEAD. Raises UsageError."""
        option = f"--diff-base {ref}"
        root = git.ask("-C", folder, "rev-parse", "--show-toplevel")
        if root is None:
            raise UsageError(f"{option}: {os.path.abspath(folder)} is in no git work tree, or git is not there")
        if (
            ref.startswith("-")
            or git.ask("-C", folder, "rev-parse", "--quiet", "--verify", f"{ref}^{{commit}}") is None
        ):
            raise UsageError(f"{option}: git knows no such commit; in CI, fetch it first")
        base = git.ask("-C", folder, "merge-base", ref, "HEAD")
        if base is None:
            raise UsageError(f"{option}: no common history with HEAD; a shallow clone must fetch more of it")
        changes = cls(os.path.realpath(os.fsdecode(root.rstrip(b"\n"))), base.decode().strip())
        changes._read()
        return changes

    def touch(self, finding: Finding) -> bool:
        """Whether the finding, or a place that it is about, lies in changed lines."""
        places = ((finding.path, finding.region), *((place.path, place.region) for place in finding.related))
        return any(self._touches(path, region) for path, region in places)

    def has(self, path: str) -> bool:
        """Whether anything in the file changed."""
        real = os.path.realpath(path)
        return real in self._lines or real in self._whole

    def old_text(self, path: str) -> bytes | None:
        """The bytes that the file had, None for a new one."""
        name = self._old_names.get(os.path.realpath(path))
        if name is None:
            return None
        return git.ask("-C", self._root, "cat-file", "blob", f"{self._base}:{os.fsdecode(name)}")

    def _touches(self, path: str, region: Region) -> bool:
        real = os.path.realpath(path)
        if real in self._whole:
            return True
        return any(region.line < lines.stop and lines.start <= region.end_line for lines in self._lines.get(real, ()))

    def _read(self) -> None:
        for old, new, hunks in files_of(self._ask(*_DIFF, self._base, "--")):
            path = self._path(new)
            if old is None:
                self._whole.add(path)
            else:
                self._old_names[path] = old
                self._lines[path] = hunks
        untracked = self._ask("ls-files", "-z", "--others", "--exclude-standard")
        self._whole.update(self._path(name) for name in untracked.split(b"\0") if name)

    def _ask(self, *arguments: str) -> bytes:
        output = git.ask("-C", self._root, *arguments)
        if output is None:
            raise UsageError(f"--diff-base: `git {' '.join(arguments)}` failed")
        return output

    def _path(self, name: bytes) -> str:
        return os.path.realpath(os.path.join(self._root, os.fsdecode(name)))


def files_of(diff: bytes) -> Iterator[tuple[bytes | None, bytes, list[range]]]:
    """Old name (None for a new file), new name and changed lines of every file in a diff without context.

    Where lines were only taken out, the lines before and after the gap count. Files that are gone are left out.
    """
    lines = diff.split(b"\n")
    position, old, new = 0, b"", b""
    hunks: list[range] = []
    while position < len(lines):
        line = lines[position]
        position += 1
        if line.startswith(b"--- "):
            old = _name(line[4:])
        elif line.startswith(b"+++ "):
            new, hunks = _name(line[4:]), []
            position, hunks = _hunks(lines, position)
            if new:
                yield old or None, new, hunks


def _hunks(lines: list[bytes], position: int) -> tuple[int, list[range]]:
    """The hunks from `position` on, and where they end. Their text is counted over, as it may look like anything."""
    found: list[range] = []
    while position < len(lines) and (match := _HUNK.match(lines[position])):
        taken, first = int(match[1] or 1), int(match[2])
        added = int(match[3] or 1)
        found.append(range(first, first + added) if added else range(first, first + 2))
        position += 1
        left = taken + added
        while left or (position < len(lines) and lines[position].startswith(b"\\")):
            left -= not lines[position].startswith(b"\\")
            position += 1
    return position, found


def _name(word: bytes) -> bytes:
    """The name after `--- ` or `+++ `, without `a/` or `b/`; empty for /dev/null."""
    word = word.removesuffix(b"\t")
    if word.startswith(b'"'):
        word = _ESCAPE.sub(lambda match: _unescaped(match[1]), word[1:-1])
    return b"" if word == b"/dev/null" else word[2:]


def _unescaped(code: bytes) -> bytes:
    return bytes([int(code, 8)]) if len(code) == 3 else _ESCAPED.get(code, code)


def only_changed(report: Report, changes: Changes, plan: Plan) -> Report:
    """The findings in changed lines, and those in changed files that the old text did not have: what was taken out
    above may be their cause. Of what could not be checked, that in changed files and what is moelint's fault."""
    near = {finding for finding in report.findings if changes.touch(finding)}
    far = {finding for finding in report.findings if finding not in near and changes.has(finding.path)}
    known = _old_identities({finding.path for finding in far}, changes, plan)
    return replace(
        report,
        findings=tuple(f for f in report.findings if f in near or (f in far and f.identity not in known)),
        diagnostics=tuple(item for item in report.diagnostics if item.internal or changes.has(item.path)),
    )


def _old_identities(paths: set[str], changes: Changes, plan: Plan) -> set[str]:
    """The identities of the findings in the old texts of these files, by the names that they have today."""
    texts = {path: text for path in sorted(paths) if (text := changes.old_text(path)) is not None}
    if not texts:
        return set()
    return {finding.identity for finding in check.check(tuple(texts), plan, texts).findings}
