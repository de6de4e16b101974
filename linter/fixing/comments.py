"""Fixes of suppression comments: what hides nothing goes, what was meant to hide something is written right."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from moelint.linter.fixing.text import Text
from moelint.linter.model import Fix
from moelint.linter.suggest import closest
from moelint.linter.suppress import MALFORMED, UNKNOWN, UNUSED, read_comments, spellings, unknown_text, unused_text

if TYPE_CHECKING:
    from moelint.linter.model import Finding
    from moelint.linter.plan import Plan
    from moelint.linter.suppress import Comment

_OWN = frozenset({MALFORMED, UNKNOWN, UNUSED})
_NAMED = re.compile(r"(?P<head>#\s*moelint:\s*ignore(?:-file)?\[)(?P<names>[^\[\]]*)\](?P<rest>.*)", re.DOTALL)
_CODES = r"[A-Za-z]+[0-9]+(?:[\s,]+[A-Za-z]+[0-9]+)*"
_BARE = re.compile(r"#\s*moelint:\s*ignore\s*(?:--\s*(?P<reason>\S.*))?", re.DOTALL)


def comment_fixes(data: bytes, findings: Sequence[Finding], plan: Plan) -> Iterator[Fix]:
    """The fixes of those of `findings` that are about suppression comments. Raises UnicodeError, LookupError,
    SyntaxError and tokenize.TokenError for a text that cannot be read."""
    about = [finding for finding in findings if finding.code in _OWN]
    if not about:
        return
    text = Text(data)
    comments = {
        (comment.line, comment.col): comment
        for comment in read_comments(text.decoded, require_reason=plan.require_reason)
    }
    known = spellings(plan)
    for finding in about:
        comment = comments.get((finding.region.line, finding.region.col))
        if comment is None:
            continue
        new, title, safe = _repaired(finding, comment, findings, plan, known)
        if new is not None:
            start = text.offset(comment.line, comment.col)
            yield Fix(
                finding.code, finding.identity, title, (text.edit(*_span(text.plain, start, comment, new)),), safe
            )


def _repaired(
    finding: Finding, comment: Comment, findings: Sequence[Finding], plan: Plan, known: dict[str, str]
) -> tuple[str | None, str, bool]:
    """The comment as it should be (empty to take it out), the title of the fix, and whether it is safe: it does not
    hide anything that is shown now."""
    if finding.code == MALFORMED:
        return _well_formed(comment, findings, plan)
    for name in comment.names:
        if finding.code == UNUSED and finding.message == unused_text(name):
            return _without(comment, name), f"Take {name} out", True
        if finding.code == UNKNOWN and finding.message == unknown_text(name, known):
            meant = closest(name, known)
            if meant is not None and not comment.codes:
                return comment.text.replace(name, meant, 1), f"Write {meant}", False
            return _without(comment, name), f"Take {name} out", True
    return None, "", False


def _well_formed(comment: Comment, findings: Sequence[Finding], plan: Plan) -> tuple[str | None, str, bool]:
    named = _NAMED.fullmatch(comment.text)
    bare = _BARE.fullmatch(comment.text)
    if named is not None:
        names = [name.strip() for name in named["names"].split(",") if name.strip()]
        rest = named["rest"].strip()
        reason = rest.strip("- ") if rest.startswith("--") else rest
        if not names:
            return "", "Take the comment out", True
        if reason or not plan.require_reason:
            return _written(named["head"], names, reason), "Write it as it is understood", False
    elif bare is not None:
        names = sorted({f.name for f in findings if f.code not in _OWN and comment.covers(f.region.line)})
        reason = (bare["reason"] or "").strip()
        if not names:
            return "", "Take the comment out", True
        if reason or not plan.require_reason:
            return _written("# moelint: ignore[", names, reason), f"Name {', '.join(names)}", False
    return None, "", False


def _written(head: str, names: Sequence[str], reason: str) -> str:
    return f"{head}{', '.join(names)}]" + (f" -- {reason}" if reason else "")


def _without(comment: Comment, name: str) -> str:
    """The comment without a name; empty if nothing is left of it."""
    if comment.codes:
        left = [code for code in comment.codes if code.upper() != name]
        return re.sub(_CODES, ", ".join(left), comment.text, count=1) if left else ""
    named = _NAMED.fullmatch(comment.text)
    names = [other for other in comment.names if other != name]
    return f"{named['head']}{', '.join(names)}]{named['rest']}" if named is not None and names else ""


def _span(text: str, start: int, comment: Comment, new: str) -> tuple[int, int, str]:
    """The characters to replace, and by what: a comment that goes takes the space before it or its whole line along."""
    end = start + len(comment.text)
    if new:
        return start, end, new
    while start > 0 and text[start - 1] in " \t":
        start -= 1
    if start == 0 or text[start - 1] == "\n":
        line_end = text.find("\n", end)
        if line_end >= 0 and not text[end:line_end].strip():
            end = line_end + 1
    return start, end, ""
