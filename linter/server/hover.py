"""Hover: on a suppression's code its rule; on a finding its message; inside a block the routes that pass there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from typing import Any

from lsprotocol import types

from moelint.linter.server.analyst import Checked
from moelint.linter.server.app import MoelintServer
from moelint.linter.server.documents import Document
from moelint.linter.server.positions import characters, units
from moelint.linter.server.routes import Routes, RouteService
from moelint.linter.server.tables import summary, table

_COMMENT = re.compile(r"#\s*(?:moelint:\s*ignore(?:-file)?\s*\[([^\]]*)\]|noqa:\s*([A-Z0-9, ]+))")
_NAME = re.compile(r"[\w-]+")
_WORD = re.compile(r"\w+")


class Hover:
    """Answers hover requests."""

    def __init__(self, server: MoelintServer, routes: RouteService) -> None:
        self._server = server
        self._routes = routes

    def register(self) -> None:
        self._server.on(types.TEXT_DOCUMENT_HOVER, self.hover)

    async def hover(self, params: types.HoverParams) -> types.Hover | None:
        """What is known of a place; None if that is nothing."""
        checked = await self._server.checked(params.text_document.uri)
        if checked is None or params.position.line >= len(checked.document.lines):
            return None
        document, encoding = checked.document, self._server.presenter.encoding
        text = document.lines[params.position.line]
        column = characters(text, params.position.character, encoding)
        named = self._named(text, column)
        if named is not None:
            code, start, end = named
            span = types.Range(
                types.Position(params.position.line, units(text[:start], encoding)),
                types.Position(params.position.line, units(text[:end], encoding)),
            )
            return types.Hover(_markdown(self._server.pages.markdown(code)), span)
        parts = [*self._findings(checked, params.position.line + 1, column + 1)]
        parts += self._passing(checked, params.position.line + 1, _word(text, column))
        return types.Hover(_markdown("\n\n---\n\n".join(parts))) if parts else None

    def _named(self, text: str, column: int) -> tuple[str, int, int] | None:
        """The code of the rule that a suppression names at `column`, and from where to where."""
        for match in _COMMENT.finditer(text):
            group = 1 if match[1] is not None else 2
            for name in _NAME.finditer(text, match.start(group), match.end(group)):
                if name.start() <= column <= name.end():
                    code = self._server.pages.code_of(name[0])
                    return (code, name.start(), name.end()) if code is not None else None
        return None

    def _findings(self, checked: Checked, line: int, column: int) -> Iterator[str]:
        for finding in checked.findings:
            region = finding.region
            if (region.line, region.col) <= (line, column) <= (region.end_line, region.end_col):
                page = self._server.pages.address(finding.code)
                yield f"**[{finding.code} {finding.name}]({page})** {finding.message}\n\n{finding.help}"

    def _passing(self, checked: Checked, line: int, word: str) -> Iterator[str]:
        """The routes through a line: those that touch something there, or for a word of the field all of its block."""
        uri = checked.document.uri
        self._routes.want(uri)
        known = self._routes.known(uri)
        was = known.analysed_line(checked.document.lines, line) if known is not None else None
        if known is None or was is None:
            return
        block = _block_at(known, was)
        if block is None:
            return
        cells = [cell for cell in known.cells if cell["block"] == block["block"]]
        here = [cell for cell in cells if _touches(cell, checked.document, was)]
        if not here and word in self._vocabulary(checked):
            here = cells
        if here:
            yield f"**{block['block']}**: {summary(block)}\n\n{table(here)}"

    @staticmethod
    def _vocabulary(checked: Checked) -> frozenset[str]:
        """What the file's profile calls the factor, fold flags, answers, routers and experts."""
        profile = checked.project.engine.profile(checked.profile)
        names = profile.factor | profile.flags | profile.runner_flags | profile.answer_calls | profile.answer_names
        return names | profile.routers | profile.constructors | profile.experts | profile.wish | {"topk"}


def _touches(cell: Mapping[str, Any], document: Document, line: int) -> bool:
    name = document.path.replace(os.sep, "/")
    return any(step["line"] == line and name.endswith(f"/{step['path']}") for step in cell["trace"])


def _block_at(known: Routes, line: int) -> Mapping[str, Any] | None:
    """The block whose class holds a line."""
    above = [block for block in known.blocks if block["line"] <= line]
    block = max(above, key=lambda item: int(item["line"]), default=None)
    if block is None:
        return None
    between = known.lines[block["line"] : line]
    return None if any(text and text[0] not in " \t#)" for text in between) else block


def _word(text: str, column: int) -> str:
    return next((match[0] for match in _WORD.finditer(text) if match.start() <= column <= match.end()), "")


def _markdown(text: str) -> types.MarkupContent:
    return types.MarkupContent(types.MarkupKind.Markdown, text)
