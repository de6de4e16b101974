"""Suppression comments: what they cover, what they hide, and what is wrong with them.

`# moelint: ignore[NAME, ...] -- reason` at the end of a line covers the logical line it is in; on a line of its own it
covers the next logical line, decorators together with what they decorate. `# moelint: ignore-file[NAME, ...] -- reason`
covers the file. NAME is the name or the code of a rule.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterable, Iterator, Set
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moelint.linter import registry
from moelint.linter.suggest import did_you_mean

if TYPE_CHECKING:
    from moelint.linter.identity import Identities
    from moelint.linter.plan import Plan
    from moelint.linter.records import FindingRow, HiddenRow

MARK = b"moelint:"
"""What every suppression contains."""
MODULE = "<module>"
MALFORMED, UNKNOWN, UNUSED = "MOE901", "MOE902", "MOE903"
_OWN = frozenset({MALFORMED, UNKNOWN, UNUSED})

_DIRECTIVE = re.compile(r"#\s*moelint:(.*)", re.DOTALL)
_FORM = re.compile(r"(?P<verb>ignore(?:-file)?)\[(?P<names>[^\[\]]*)\](?P<rest>.*)", re.DOTALL)
_USAGE = "write `# moelint: ignore[RULE-NAME] -- reason`"
_LAYOUT = frozenset(
    {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENCODING, tokenize.ENDMARKER}
)


@dataclass(slots=True, eq=False)
class Comment:
    """One `# moelint:` comment. Lines and columns are 1-based; `first` and `last` are the lines that it covers."""

    line: int
    col: int
    text: str
    names: tuple[str, ...] = ()
    reason: str = ""
    flaw: str = ""
    """What is wrong with its form; such a comment hides nothing."""
    first: int = 0
    last: int = 0
    used: set[str] = field(default_factory=set)
    """The codes of the findings that it hid."""

    def covers(self, line: int) -> bool:
        return self.first <= line <= self.last


def read_comments(text: str, *, require_reason: bool) -> list[Comment]:
    """Every `# moelint:` comment of a module, in order. Raises tokenize.TokenError and SyntaxError."""
    found: list[Comment] = []
    inside: list[Comment] = []
    waiting: list[Comment] = []
    start, decorator = 0, False
    for token in tokenize.generate_tokens(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")).readline):
        if token.type == tokenize.COMMENT:
            comment = _comment(token, require_reason)
            if comment is not None:
                found.append(comment)
                (inside if start else waiting).append(comment)
        elif token.type == tokenize.NEWLINE:
            for comment in inside:
                _cover(comment, start, token.start[0])
            for comment in waiting:
                _cover(comment, comment.first or start, token.start[0])
            inside = []
            if not decorator:
                waiting = []
            start = 0
        elif not start and token.type not in _LAYOUT:
            start, decorator = token.start[0], token.string == "@"
    return found


def _cover(comment: Comment, first: int, last: int) -> None:
    if comment.last != _WHOLE_FILE:
        comment.first, comment.last = first, last


_WHOLE_FILE = 1 << 40


def _comment(token: tokenize.TokenInfo, require_reason: bool) -> Comment | None:
    match = _DIRECTIVE.search(token.string)
    if match is None:
        return None
    comment = Comment(token.start[0], token.start[1] + match.start() + 1, match[0].rstrip())
    body = match[1].strip()
    form = _FORM.fullmatch(body)
    if form is None:
        comment.flaw = _what_is_wrong(body)
        return comment
    names = [name.strip() for name in form["names"].split(",")]
    rest = form["rest"].strip()
    if not all(names):
        comment.flaw = f"names no rule between two commas or brackets: {_USAGE}"
    elif rest and not rest.startswith("--"):
        comment.flaw = f"has {rest!r} after the bracket, where only `-- reason` may stand"
    elif not rest.strip("- ") and (rest or require_reason):
        comment.flaw = f"gives no reason: {_USAGE}"
    else:
        comment.names = tuple(dict.fromkeys(names))
        comment.reason = rest.strip("- ")
        if form["verb"] == "ignore-file":
            comment.first, comment.last = 1, _WHOLE_FILE
    return comment


def _what_is_wrong(body: str) -> str:
    verb = re.match(r"[\w-]*", body)
    word = verb[0] if verb else ""
    if word in ("ignore", "ignore-file"):
        return f"names no rule, and there is no form that hides everything: {_USAGE}"
    return f"says {word!r} where `ignore` or `ignore-file` is understood: {_USAGE}"


class Suppressions:
    """The suppression comments of one file, against its findings."""

    def __init__(self, text: str, plan: Plan, identities: Identities) -> None:
        self._comments = read_comments(text, require_reason=plan.require_reason)
        self._plan = plan
        self._identities = identities
        known = (*registry.entries(), *plan.rules)
        self._codes = {spelling: rule.code for rule in known for spelling in (rule.code, rule.name)}

    def apply(self, rows: list[FindingRow], active: Set[str]) -> tuple[list[FindingRow], list[HiddenRow]]:
        """The findings that stay, with those about the comments themselves, and the findings that are hidden, each
        with the reason that its comment gives.

        `active` are the codes of the rules that had their say in this file. A comment about one of these which hides
        nothing is a finding; one about a rule of the suppression family never is.
        """
        kept, hidden = self._split(rows)
        for found in (self._wrong(active), self._unused(active)):
            more = self._split(found)
            kept += more[0]
            hidden += more[1]
        return sorted(kept), sorted(hidden)

    def _split(self, rows: Iterable[FindingRow]) -> tuple[list[FindingRow], list[HiddenRow]]:
        kept: list[FindingRow] = []
        hidden: list[HiddenRow] = []
        for row in rows:
            line, code = row[0], row[4]
            covering = [
                comment
                for comment in self._comments
                if comment.covers(line) and any(self._codes.get(name) == code for name in comment.names)
            ]
            for comment in covering:
                comment.used.add(code)
            if covering:
                hidden.append((*row, covering[0].reason))
            else:
                kept.append(row)
        return kept, hidden

    def _wrong(self, active: Set[str]) -> Iterator[FindingRow]:
        for comment in self._comments:
            if comment.flaw:
                yield from self._finding(
                    MALFORMED, comment, f"This suppression {comment.flaw}. It hides nothing.", active
                )
            for name in comment.names:
                if name not in self._codes:
                    hint = did_you_mean(name, self._codes)
                    text = f"This suppression names {name!r}, which is no rule{hint or '.'} It hides nothing."
                    yield from self._finding(UNKNOWN, comment, text, active)

    def _unused(self, active: Set[str]) -> Iterator[FindingRow]:
        for comment in self._comments:
            for name in comment.names:
                code = self._codes.get(name)
                if code in active and code not in comment.used and code not in _OWN:
                    text = f"This suppression of {name} hides nothing."
                    yield from self._finding(UNUSED, comment, text, active)

    def _finding(self, code: str, comment: Comment, message: str, active: Set[str]) -> Iterator[FindingRow]:
        if code not in active:
            return
        rule = next(rule for rule in self._plan.rules if rule.code == code)
        identity = self._identities.of_text(code, MODULE, "".join(comment.text.split()))
        end = comment.col + len(comment.text)
        severity = self._plan.severity_of(rule)
        yield (comment.line, comment.col, comment.line, end, code, message, MODULE, severity, (), identity)
