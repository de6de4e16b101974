"""`moelint rule`: what a rule does, why, and what to write instead."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from moelint.linter.errors import UsageError
from moelint.linter.registry import RuleEntry, entries

_READABLE = 100
"""The widest page, in columns, that prose is still easy to read on."""

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from moelint.linter.rule_docs import RuleDoc


def main(argv: Sequence[str]) -> int:
    """Print one rule's documentation, or the list of all rules. Raises UsageError for a rule that is not known."""
    parser = _parser()
    options = parser.parse_args(argv)
    if options.all == bool(options.rule):
        parser.error("name one rule, or give --all")
    known = entries()
    if options.all:
        text = _json([_doc(entry).as_dict() for entry in known]) if options.json else _listing(known)
        sys.stdout.write(text)
        return 0
    doc = _doc(find_rule(options.rule, known))
    if options.json:
        sys.stdout.write(_json(doc.as_dict()))
    elif sys.stdout.isatty():
        _show(doc, sys.stdout)
    else:
        sys.stdout.write(doc.markdown())
    return 0


def find_rule(word: str, known: Iterable[RuleEntry]) -> RuleEntry:
    """The rule with this name or code, whatever its case and with `_` for `-`. Raises UsageError."""
    table: dict[str, RuleEntry] = {}
    for entry in known:
        table[entry.name] = table[entry.code.lower()] = entry
    found = table.get(word.lower().replace("_", "-"))
    if found is None:
        from moelint.linter.suggest import did_you_mean

        names = [spelling for entry in table.values() for spelling in (entry.name, entry.code)]
        raise UsageError(f"unknown rule {word!r}{did_you_mean(word, names) or '; moelint rule --all lists them'}")
    return found


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser("moelint rule", description="Explain a rule: what it does, why, and what to write instead.")
    parser.add_argument("rule", nargs="?", metavar="NAME-or-CODE", help="for example MOE101")
    parser.add_argument("--all", action="store_true", help="list every rule, one a line")
    parser.add_argument("--json", action="store_true", help="print JSON, with the whole documentation")
    return parser


def _doc(entry: RuleEntry) -> RuleDoc:
    from moelint.linter.rule_docs import rule_doc

    return rule_doc(entry)


def _json(data: object) -> str:
    import json

    return json.dumps(data, indent=2) + "\n"


def _listing(known: Sequence[RuleEntry]) -> str:
    """Code, name, severity and what to do, in columns; no rule is imported for it."""
    name = max((len(entry.name) for entry in known), default=0)
    severity = max((len(entry.severity) for entry in known), default=0)
    return "".join(f"{e.code}  {e.name:{name}}  {e.severity:{severity}}  {e.help}\n" for e in known)


def _show(doc: RuleDoc, stream: TextIO) -> None:
    """The page for a terminal."""
    from rich.console import Console
    from rich.markdown import Markdown
    from rich.padding import Padding
    from rich.syntax import Syntax
    from rich.text import Text
    from rich.theme import Theme

    from moelint.linter.report.page import page_for

    page = page_for(stream)
    console = Console(
        file=stream,
        width=min(page.width, _READABLE),
        force_terminal=page.colour,
        color_system="standard" if page.colour else None,
        no_color=not page.colour,
        legacy_windows=False,
        theme=Theme({"markdown.code": "bold"}),
    )
    console.print(Text.assemble((f"{doc.entry.severity}[{doc.entry.code}]", "bold red"), f" {doc.entry.name}"))
    console.print(Text("  ".join(f"{label.lower()}: {value}" for label, value in doc.facts[1:]), style="dim"))
    console.print()
    console.print(Markdown(doc.summary))
    console.print(Text.assemble(("help: ", "green"), doc.entry.help))
    for heading, _ in doc.sections:
        console.print()
        console.print(Text(heading, style="bold cyan"))
        for code, text in doc.blocks(heading):
            shown = Syntax(text, "python", theme="ansi_dark", background_color="default") if code else Markdown(text)
            console.print(Padding(shown, (0, 0, 0, 4 if code else 2)))
