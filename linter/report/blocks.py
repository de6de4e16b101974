"""Paint findings and diagnostics with rich, which only this module imports, and only when something is painted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from moelint.linter.model import Diagnostic, Finding, Place
from moelint.linter.report.frame import Row, Sources, Unreadable, frame
from moelint.linter.report.page import Page
from moelint.linter.report.text import one_line, shown_path

if TYPE_CHECKING:
    from rich.text import Text

_SEVERITY = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan"}
_RULE_LINE, _PLACE, _DIM, _RELATED, _HELP = "blue", "bold", "dim", "cyan", "green"
_CONTEXT = 2


class Glyphs:
    """The characters of the frame."""

    def __init__(self, unicode: bool) -> None:
        self.bar, self.inside, self.gap = "│┃┆" if unicode else "|>:"
        self.first, self.next, self.last = ("╭─▶", "├─▶", "╰─▶") if unicode else ("-->", "-->", "-->")
        self.alone = "──▶" if unicode else "-->"
        self.mark, self.related = ("━", "─") if unicode else ("^", "-")


class Painter:
    """Turns findings into text for one page."""

    def __init__(self, page: Page) -> None:
        from rich.console import Console

        self._width = page.width
        self._unicode = page.unicode
        self._glyphs = Glyphs(page.unicode)
        self._sources = Sources(page.sources)
        self._console = Console(
            width=page.width,
            force_terminal=page.colour,
            color_system="standard" if page.colour else None,
            no_color=not page.colour,
            highlight=False,
            legacy_windows=False,
        )

    def finding(self, finding: Finding) -> str:
        """A block of lines: header, message, frame, related places, help, and where to read more."""
        style, glyphs = _SEVERITY[finding.severity], self._glyphs
        last = max(finding.region.end_line + _CONTEXT, *(place.region.end_line for place in finding.related), 0)
        gutter = len(str(last))
        lines = [_text((f"{finding.severity}[{finding.code}]", style), (f" {finding.name}", "bold"))]
        lines += self._indented(finding.message)
        where = f"in {finding.qualname}" if finding.qualname else ""
        lines += self._place(glyphs.first, gutter, finding, where, _DIM)
        lines += self._frame(finding, gutter, style, glyphs.mark, _CONTEXT)
        for place in finding.related:
            lines += self._place(glyphs.next, gutter, place, place.message)
            lines += self._frame(place, gutter, _RELATED, glyphs.related, 0)
        if finding.help:
            lines += self._help(finding.help, gutter)
        lines.append(_arrow(glyphs.last, gutter, (f"moelint rule {finding.name}", _DIM)))
        return self._ink(lines)

    def diagnostic(self, item: Diagnostic) -> str:
        """A block for a file, or a rule on a file, that could not be checked."""
        title = "internal error" if item.internal else "not checked"
        place = f"{one_line(shown_path(item.path))}:{item.line}"
        return self._ink(
            [
                _text((f"{title}[{item.code}]", _SEVERITY["error"])),
                *self._indented(item.message),
                _arrow(self._glyphs.alone, 1, (place, _PLACE)),
            ]
        )

    def _place(self, arrow: str, gutter: int, place: Finding | Place, message: str, style: str = "") -> list[Text]:
        """Place and message, the message on lines of its own where it does not fit behind the place."""
        head = _arrow(arrow, gutter, (_at(place), _PLACE))
        body = self._paragraph(message, self._width - gutter - 6, style) if message else []
        if len(body) == 1 and head.cell_len + 2 + body[0].cell_len <= self._width:
            return [head + _text(("  ", "")) + body[0]]
        bar = _text((f" {'':{gutter}} {self._glyphs.bar}   ", _RULE_LINE))
        return [head, *(bar + line for line in body)]

    def _help(self, message: str, gutter: int) -> list[Text]:
        label = "help: "
        head = _arrow(self._glyphs.next, gutter, (label, _HELP))
        bar = _text((f" {'':{gutter}} {self._glyphs.bar}   {'':{len(label)}}", _RULE_LINE))
        body = self._paragraph(message, self._width - head.cell_len)
        return [(bar if index else head) + line for index, line in enumerate(body)]

    def _frame(self, place: Finding | Place, gutter: int, style: str, mark: str, context: int) -> list[Text]:
        try:
            source = self._sources.get(place.path)
            rows = frame(source, place.region, self._width - gutter - 4, context, unicode=self._unicode)
        except Unreadable as error:
            return [_text((f" {'':{gutter}} {self._glyphs.gap} ", _RULE_LINE), (f"(no source: {error})", _DIM))]
        return [line for row in rows for line in self._row(row, gutter, style, mark)]

    def _row(self, row: Row, gutter: int, style: str, mark: str) -> list[Text]:
        glyphs = self._glyphs
        if row.number is None:
            return [_text((f" {'':{gutter}} {glyphs.gap}", _RULE_LINE))]
        bar = (glyphs.inside, style) if row.inside else (glyphs.bar, _RULE_LINE)
        lines = [_text((f" {row.number:>{gutter}} ", _RULE_LINE), bar, (f" {row.text}" if row.text else "", ""))]
        if row.marked:
            marks = f" {'':{row.start}}{mark * (row.end - row.start)}"
            lines.append(_text((f" {'':{gutter}} ", ""), bar, (marks, style)))
        return lines

    def _indented(self, message: str) -> list[Text]:
        return [_text(("  ", "")) + line for line in self._paragraph(message, self._width - 2)]

    def _paragraph(self, message: str, width: int, style: str = "") -> list[Text]:
        """`message` folded into lines of at most `width` cells; code between backquotes stands out."""
        text = _text((one_line(message), style))
        text.highlight_regex(r"`[^`]+`", "bold")
        lines = list(text.wrap(self._console, max(width, 20)))
        for line in lines:
            line.rstrip()
        return lines

    def _ink(self, lines: list[Text]) -> str:
        with self._console.capture() as capture:
            self._console.print(_text(("\n", "")).join(lines), soft_wrap=True)
        return capture.get()


def _at(place: Finding | Place) -> str:
    return f"{one_line(shown_path(place.path))}:{place.region.line}:{place.region.col}"


def _arrow(arrow: str, gutter: int, *parts: tuple[str, str]) -> Text:
    return _text((f" {'':{gutter}} {arrow} ", _RULE_LINE), *parts)


def _text(*parts: tuple[str, str]) -> Text:
    from rich.text import Text

    return Text.assemble(*parts)
