"""What editors offer beside diagnostics: code actions, hover, code lenses, inlay hints and the pages behind them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from editor import Editor, connected, position
from lsprotocol import types

from moelint.linter.server.lens import methods
from moelint.linter.server.routes import Routes

ROOT = Path(__file__).parents[2]
BLOCK = "emberlm/overlap_block.py"


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample tree."""
    return Path(shutil.copytree(ROOT / "fixtures" / "sample", tmp_path / "sample"))


async def actions(editor: Editor, uri: str, item: types.Diagnostic, *only: str) -> list[Any]:
    context = types.CodeActionContext([item], list(only) or None)
    params = types.CodeActionParams(types.TextDocumentIdentifier(uri), item.range, context)
    found = await editor.client.text_document_code_action_async(params)
    return [action for action in found or () if isinstance(action, types.CodeAction)]


def apply(editor: Editor, uri: str, edit: types.WorkspaceEdit | None) -> None:
    """Make the edits of an action, the last one first, as a client does."""
    assert edit is not None and edit.changes is not None
    lines = editor.texts[uri].split("\n")
    text = editor.texts[uri]
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines) + 1)]
    for change in sorted(edit.changes[uri], key=lambda item: (item.range.start.line, item.range.start.character))[::-1]:
        begin = starts[change.range.start.line] + change.range.start.character
        end = starts[change.range.end.line] + change.range.end.character
        text = text[:begin] + change.new_text + text[end:]
    editor.write(uri, text)


@pytest.mark.asyncio
async def test_a_finding_can_be_excused_and_read_about(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        before = await editor.items(uri)
        item = next(item for item in before if item.code == "MOE301")
        offered = await actions(editor, uri, item)
        ignore = next(action for action in offered if "ignore epilogue-unguarded" in action.title)
        apply(editor, uri, ignore.edit)
        after = await editor.items(uri)
        assert sorted(i.code for i in after) == sorted(i.code for i in before if i is not item)
        line = editor.texts[uri].split("\n")[item.range.start.line]
        column = line.index("epilogue-unguarded") + 3
        place = types.HoverParams(types.TextDocumentIdentifier(uri), types.Position(item.range.start.line, column))
        hover = await editor.client.text_document_hover_async(place)
        assert hover is not None and "# epilogue-unguarded (MOE301)" in hover.contents.value  # type: ignore[union-attr]
        assert hover.range is not None and hover.range.start.character == line.index("epilogue-unguarded")
        command = types.ExecuteCommandParams("moelint.openRule", ["MOE301"])
        address = await editor.client.workspace_execute_command_async(command)
        assert Path(str(address).removeprefix("file://")).read_text("utf-8").startswith("# epilogue-unguarded")
        assert [shown.uri for shown in editor.client.shown_documents] == [address]


@pytest.mark.asyncio
async def test_a_repair_makes_the_finding_vanish_one_by_one_and_all_at_once(sample: Path) -> None:
    async with connected(sample) as editor:
        unused = "x = 1  # moelint: ignore[MOE301] -- gone\n"
        whole = (sample / BLOCK).read_text("utf-8") + unused + unused.replace("x", "y")
        uri = editor.open(sample / BLOCK, whole)
        first, second = [item for item in await editor.items(uri) if item.code == "MOE903"]
        offered = await actions(editor, uri, first, "quickfix")
        repair = next(action for action in offered if action.is_preferred)
        apply(editor, uri, repair.edit)
        assert [item.range for item in await editor.items(uri) if item.code == "MOE903"] == [second.range]
        editor.write(uri, whole)
        (repair_all,) = await actions(editor, uri, first, "source.fixAll")
        resolved = await editor.client.code_action_resolve_async(repair_all)
        apply(editor, uri, resolved.edit)
        assert "MOE903" not in {item.code for item in await editor.items(uri)}
        assert editor.texts[uri] == (sample / BLOCK).read_text("utf-8") + "x = 1\ny = 1\n"


BLOCKS = """class Block:
    def __init__(self):
        self.topk = TopK()

    def forward(self, x):
        return self.forward_deepep(x)

    def forward_deepep(self, x):
        out = self.experts(x)
        out *= self.routed_scaling_factor
        return out
"""
STEPS = [
    {"path": "pkg/block.py", "line": 9, "what": "the experts run: routed weight rsf"},
    {"path": "pkg/block.py", "line": 10, "what": "routed multiplied by rsf"},
]
CELL = {
    "block": "Block", "path": "pkg/block.py", "line": 8, "route": "forward_deepep", "question": "scale",
    "condition": "platform=hip", "verdict": "wrong", "reason": "routed rsf^2, expected rsf^1", "trace": STEPS,
}  # fmt: skip
RIGHT = CELL | {"condition": "platform=cuda", "verdict": "right", "reason": "", "trace": STEPS[1:]}
BLOCK_ROW = {
    "block": "Block", "path": "pkg/block.py", "line": 1, "routes": {"forward_deepep": "wrong"},
    "failure": "", "notes": [],
}  # fmt: skip
TABLES = {
    "cells": [CELL, RIGHT],
    "blocks": [BLOCK_ROW],
}
PATCHED = f"""
import json, sys
from moelint.linter.server import routes
async def lines(module, folder, text):
    yield json.dumps({{"done": 1, "total": 1, "block": "Block"}}).encode()
    yield json.dumps({{"tables": {json.loads(json.dumps(TABLES))!r}}}).encode()
routes.lines_of = lines
from moelint.linter.cli import main
sys.exit(main(["server"]))
"""


@pytest.mark.asyncio
async def test_routes_are_shown_above_on_and_behind_their_lines(tmp_path: Path) -> None:
    path = tmp_path / "pkg" / "block.py"
    path.parent.mkdir()
    path.write_text(BLOCKS, "utf-8")
    async with connected(tmp_path, command=["-c", PATCHED], settings={"inlayHints": True}) as editor:
        uri = editor.open(path)
        document = types.TextDocumentIdentifier(uri)

        async def lenses() -> Sequence[Any]:
            return await editor.client.text_document_code_lens_async(types.CodeLensParams(document)) or ()

        await lenses()
        await editor.until(lambda: editor.lens_refreshes > 0)
        shown = [(lens.range.start.line, lens.command.title) for lens in await lenses()]
        assert shown == [
            (4, "1 route, 1 wrong, 0 unknown"),
            (7, "wrong: 1 of 2 kinds of configuration wrong"),
        ]
        assert editor.client.progress_reports, "progress was not reported"

        hover = await editor.client.text_document_hover_async(types.HoverParams(document, types.Position(9, 20)))
        assert hover is not None
        text = hover.contents.value  # type: ignore[union-attr]
        assert "| `forward_deepep` | **wrong**: routed rsf^2, expected rsf^1 | platform=hip |" in text
        assert "routed multiplied by rsf (block.py:10)" in text and "platform=cuda" in text

        span = types.Range(types.Position(0, 0), types.Position(20, 0))
        hints = await editor.client.text_document_inlay_hint_async(types.InlayHintParams(document, span))
        assert [(hint.position.line, hint.label) for hint in hints or ()] == [
            (8, "routed rsf^1"),
            (9, "routed rsf^1 or rsf^2"),
        ]

        lens = (await lenses())[0]
        params = types.ExecuteCommandParams(lens.command.command, lens.command.arguments)
        address = await editor.client.workspace_execute_command_async(params)
        page = Path(str(address).removeprefix("file://")).read_text("utf-8")
        assert page.startswith("# Routes of Block") and "platform=hip" in page

        editor.insert(uri, 0, "# one more line\n")
        aged = [(lens.range.start.line, lens.command.title) for lens in await lenses()]
        assert aged[0] == (5, "1 route, 1 wrong, 0 unknown (before the last edits)")
        hover = await editor.client.text_document_hover_async(types.HoverParams(document, types.Position(10, 20)))
        assert hover is not None and "forward_deepep" in hover.contents.value  # type: ignore[union-attr]


def test_lines_are_followed_through_edits_elsewhere() -> None:
    old = ["a", "b", "c", "d", "e"]
    routes = Routes(1, old, (), ())
    assert [routes.analysed_line(["a", "b", "c", "d", "e"], line) for line in (1, 5)] == [1, 5]
    assert [routes.analysed_line(["a", "new", "b", "c", "d", "e"], line) for line in (1, 2, 3, 6)] == [1, None, 2, 5]
    assert [routes.analysed_line(["a", "d", "e"], line) for line in (1, 2, 3)] == [1, 4, 5]


def test_methods_are_found_in_their_classes() -> None:
    lines = [
        "class A:",
        "    def forward(self): pass",
        "    async def op_gate(self): pass",
        "",
        "x = 1",
        "    def forward_b(self): pass",
    ]
    assert list(methods(lines)) == [("A", "forward", 2), ("A", "op_gate", 3)]
    assert position("ab\n\U0001f9eac", 4) == types.Position(1, 2)
