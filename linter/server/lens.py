"""Code lenses above the routes of blocks, the page that they open, and inlay hints on lines that scale."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lsprotocol import types

from moelint.linter.server.app import MoelintServer
from moelint.linter.server.positions import line_range, units
from moelint.linter.server.routes import Routes, RouteService
from moelint.linter.server.tables import page, summary

SHOW_ROUTES = "moelint.showRoutes"
_CLASS = re.compile(r"class\s+(\w+)")
_METHOD = re.compile(r"\s+(?:async\s+)?def\s+(forward\w*|_forward\w*|op_\w+)\s*\(")


class Lenses:
    """Answers requests for code lenses and inlay hints."""

    def __init__(self, server: MoelintServer, routes: RouteService) -> None:
        self._server = server
        self._routes = routes

    def register(self) -> None:
        self._server.on(types.TEXT_DOCUMENT_CODE_LENS, self.lenses, types.CodeLensOptions(resolve_provider=False))
        self._server.on(types.TEXT_DOCUMENT_INLAY_HINT, self.hints, types.InlayHintOptions(resolve_provider=False))

        @self._server.command(SHOW_ROUTES)
        def show_routes(uri: str, block: str) -> str:
            return self._show(uri, block)

    def lenses(self, params: types.CodeLensParams) -> list[types.CodeLens]:
        """One lens above the `forward` of each block, and one above each other route."""
        uri = params.text_document.uri
        document = self._server.documents.get(uri)
        if document is None or not self._server.user.code_lens:
            return []
        self._routes.want(uri)
        known = self._routes.known(uri)
        if known is None:
            return []
        encoding = self._server.presenter.encoding
        age = "" if known.serial == document.serial else " (before the last edits)"
        found = []
        blocks = {block["block"]: block for block in known.blocks}
        for name, method, line in methods(document.lines):
            if name in blocks:
                title = _title(blocks[name], method, known)
                if title:
                    command = types.Command(title + age, SHOW_ROUTES, arguments=[uri, name])
                    found.append(types.CodeLens(line_range(document.lines, line, encoding), command))
        return found

    def hints(self, params: types.InlayHintParams) -> list[types.InlayHint]:
        """The factor's exponents in the routed part after each line that multiplies by it or divides."""
        uri = params.text_document.uri
        document = self._server.documents.get(uri)
        if document is None or not self._server.user.inlay_hints:
            return []
        self._routes.want(uri)
        known = self._routes.known(uri)
        if known is None or known.serial != document.serial:
            return []
        encoding = self._server.presenter.encoding
        return [
            types.InlayHint(
                types.Position(line - 1, units(document.lines[line - 1], encoding)),
                f"routed {' or '.join(f'rsf^{power}' for power in sorted(powers))}",
                padding_left=True,
            )
            for line, powers in sorted(exponents(known, document.path).items())
            if params.range.start.line <= line - 1 <= params.range.end.line and line <= len(document.lines)
        ]

    def _show(self, uri: str, block: str) -> str:
        """Write the table of a block where rule pages are, and open it."""
        known = self._routes.known(uri)
        found = next((item for item in known.blocks if item["block"] == block), None) if known is not None else None
        if known is None or found is None:
            return ""
        cells = [cell for cell in known.cells if cell["block"] == block]
        return self._server.show(self._server.pages.written(f"routes-{block}.md", page(found, cells)))


def methods(lines: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    """Class, method and line, from 1, of everything that may be a route."""
    name = ""
    for number, line in enumerate(lines, 1):
        match = _CLASS.match(line)
        if match:
            name = match[1]
        elif name:
            match = _METHOD.match(line)
            if match:
                yield name, match[1], number
            elif line and line[0] not in " \t#)":
                name = ""


def _title(block: Mapping[str, Any], method: str, known: Routes) -> str:
    if method == "forward":
        return summary(block)
    if method not in block["routes"]:
        return ""
    cells = [cell for cell in known.cells if (cell["block"], cell["route"]) == (block["block"], method)]
    scale = [cell for cell in cells if cell["question"] == "scale"]
    wrong = sum(cell["verdict"] == "wrong" for cell in scale)
    return f"{block['routes'][method]}: {wrong} of {len(scale)} kinds of configuration wrong"


def exponents(known: Routes, path: str) -> dict[int, set[int]]:
    """Line -> the exponents that the routed part may have after it."""
    found: dict[int, set[int]] = {}
    name = os.path.normpath(path).replace(os.sep, "/")
    for cell in known.cells:
        power = 0
        for step in cell["trace"]:
            change = _change(step["what"])
            power += change
            if change and name.endswith(f"/{step['path']}"):
                found.setdefault(step["line"], set()).add(power)
    return found


def _change(what: str) -> int:
    """By how much a step changes the exponent in the routed part."""
    if what.startswith("the experts run: routed weight rsf"):
        return 1
    if not what.startswith("routed"):
        return 0
    return what.endswith("multiplied by rsf") - what.endswith("divided by rsf")
