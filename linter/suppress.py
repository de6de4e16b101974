"""Suppression comments: what they cover, what they hide, and what is wrong with them.

`# moelint: ignore[NAME, ...] -- reason` at the end of a line covers the logical line it is in; on a line of its own it
covers the next logical line, decorators together with what they decorate. `# moelint: ignore-file[NAME, ...] -- reason`
covers the file. NAME is the name or the code of a rule. `# noqa: CODE -- reason` with codes of moelint means the first
form; what else it names is for others, and a `# noqa` without codes hides nothing.
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

_NOQA_OF_OURS = re.compile(rb"noqa\s*:[^\r\n]*moe\d")
MODULE = "<module>"
MALFORMED, UNKNOWN, UNUSED = "MOE901", "MOE902", "MOE903"
_OWN = frozenset({MALFORMED, UNKNOWN, UNUSED})

_DIRECTIVE = re.compile(r"#\s*moelint:(.*)", re.DOTALL)
_NOQA = re.compile(
    r"#\s*noqa\s*:\s*(?P<codes>[A-Z]+[0-9]+(?:[\s,]+[A-Z]+[0-9]+)*)(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_PREFIX = "MOE"
_FORM = re.compile(r"(?P<verb>ignore(?:-file)?)\[(?P<names>[^\[\]]*)\](?P<rest>.*)", re.DOTALL)
USAGE = "write `# moelint: ignore[RULE-NAME] -- reason`"
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
    codes: tuple[str, ...] = ()
    """Of a `noqa`, all codes, those of other linters too."""
    first: int = 0
    last: int = 0
    used: set[str] = field(default_factory=set)
    """The codes of the findings that it hid."""

    def covers(self, line: int) -> bool:
        return self.first <= line <= self.last


def has_comments(data: bytes) -> bool:
    """Whether the bytes of a file may hold a suppression."""
    small = data.lower()
    return b"moelint:" in small or _NOQA_OF_OURS.search(small) is not None


def read_comments(text: str, *, require_reason: bool) -> list[Comment]:
    """Every suppression comment of a module, in order; two in one comment count as two. Raises tokenize.TokenError and
    SyntaxError."""
    found: list[Comment] = []
    inside: list[Comment] = []
    waiting: list[Comment] = []
    start, decorator = 0, False
    for token in tokenize.generate_tokens(io.StringIO(text.replace("\r\n", "\n").replace("\r", "\n")).readline):
        if token.type == tokenize.COMMENT:
            for comment in _comments(token, require_reason):
                found.append(comment)
                if start:
                    inside.append(comment)
                elif not comment.codes:  # as for other linters, a `noqa` speaks of its own line alone
                    waiting.append(comment)
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


def _comments(token: tokenize.TokenInfo, require_reason: bool) -> Iterator[Comment]:
    text = token.string
    match = _DIRECTIVE.search(text)
    noqa = _NOQA.search(text, 0, match.start() if match is not None else len(text))
    if noqa is not None:
        codes = tuple(re.split(r"[\s,]+", noqa["codes"]))
        own = tuple(dict.fromkeys(code.upper() for code in codes if code.upper().startswith(_PREFIX)))
        if own:
            rest = noqa["rest"].strip()
            reason = rest.strip("- ") if rest.startswith("--") else ""
            comment = Comment(token.start[0], token.start[1] + noqa.start() + 1, noqa[0].rstrip(), codes=codes)
            if require_reason and not reason:
                comment.flaw = f"gives no reason: {USAGE}"
            else:
                comment.names, comment.reason = own, reason
            yield comment
    if match is not None:
        yield _directive(token, match, require_reason)


def _directive(token: tokenize.TokenInfo, match: re.Match[str], require_reason: bool) -> Comment:
    comment = Comment(token.start[0], token.start[1] + match.start() + 1, match[0].rstrip())
    body = match[1].strip()
    form = _FORM.fullmatch(body)
    if form is None:
        comment.flaw = _what_is_wrong(body)
        return comment
    names = [name.strip() for name in form["names"].split(",")]
    rest = form["rest"].strip()
    if not all(names):
        comment.flaw = f"names no rule between two commas or brackets: {USAGE}"
    elif rest and not rest.startswith("--"):
        comment.flaw = f"has {rest!r} after the bracket, where only `-- reason` may stand"
    elif not rest.strip("- ") and (rest or require_reason):
        comment.flaw = f"gives no reason: {USAGE}"
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
        return f"names no rule, and there is no form that hides everything: {USAGE}"
    return f"says {word!r} where `ignore` or `ignore-file` is understood: {USAGE}"


def spellings(plan: Plan) -> dict[str, str]:
    """Every name and code of a rule -> the code."""
    known = (*registry.entries(), *plan.rules)
    return {spelling: rule.code for rule in known for spelling in (rule.code, rule.name)}


def malformed_text(comment: Comment) -> str:
    """What is said of a comment with a flaw."""
    return f"This suppression {comment.flaw}. It hides nothing."


def unknown_text(name: str, known: Iterable[str]) -> str:
    """What is said of a name that no rule has."""
    return f"This suppression names {name!r}, which is no rule{did_you_mean(name, known) or '.'} It hides nothing."


def unused_text(name: str) -> str:
    """What is said of a rule that finds nothing where the comment is."""
    return f"This suppression of {name} hides nothing."


class Suppressions:
    """The suppression comments of one file, against its findings."""

    def __init__(self, text: str, plan: Plan, identities: Identities) -> None:
        self._comments = read_comments(text, require_reason=plan.require_reason)
        self._plan = plan
        self._identities = identities
        self._codes = spellings(plan)

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
                yield from self._finding(MALFORMED, comment, malformed_text(comment), active)
            for name in comment.names:
                if name not in self._codes:
                    yield from self._finding(UNKNOWN, comment, unknown_text(name, self._codes), active)

    def _unused(self, active: Set[str]) -> Iterator[FindingRow]:
        for comment in self._comments:
            for name in comment.names:
                code = self._codes.get(name)
                if code in active and code not in comment.used and code not in _OWN:
                    yield from self._finding(UNUSED, comment, unused_text(name), active)

    def _finding(self, code: str, comment: Comment, message: str, active: Set[str]) -> Iterator[FindingRow]:
        if code not in active:
            return
        rule = next(rule for rule in self._plan.rules if rule.code == code)
        identity = self._identities.of_text(code, MODULE, "".join(comment.text.split()))
        end = comment.col + len(comment.text)
        severity = self._plan.severity_of(rule)
        yield (comment.line, comment.col, comment.line, end, code, message, MODULE, severity, (), identity)
