"""Record an editor's session on real model files: `python tools/editor_session.py FILE ...`.

For each file: open it, type a statement that breaks the policy before the last return of the
experts' output, see it, take it out by the repair that is offered, see the finding vanish, hover over a line that the
routes go through, and read the code lenses. Each step is printed with its seconds. Exit code 1 if a step fails.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "server"))

import editor as scripted  # type: ignore[import-not-found]  # noqa: E402
from lsprotocol import types  # noqa: E402

BEFORE = "        return final_hidden_states\n"
TYPED = "        final_hidden_states *= self.routed_scaling_factor\n"
LENS_LIMIT = 600.0


class Step:
    """Prints what happened, with the time since the last step."""

    def __init__(self) -> None:
        self.failed = False
        self._last = time.perf_counter()

    def __call__(self, good: bool, text: str) -> None:
        now = time.perf_counter()
        print(f"  {'ok  ' if good else 'FAIL'} {now - self._last:6.2f} s  {text}", flush=True)
        self._last = now
        self.failed = self.failed or not good


async def record(path: Path, cache: Path) -> bool:
    """One file. Says whether everything went well."""
    print(path.name)
    step = Step()
    async with scripted.connected(cache, path.parent) as editor:
        uri = editor.open(path)
        document = types.TextDocumentIdentifier(uri)
        before = await editor.items(uri)
        step(True, f"open: {len(before)} findings")

        text = editor.texts[uri]
        start = text.rindex(BEFORE)
        line = text.count("\n", 0, start)
        for length in range(1, len(TYPED) + 1):
            place = types.Position(line, length - 1)
            change = types.TextDocumentContentChangePartial(types.Range(place, place), TYPED[length - 1])
            editor.send(uri, change, text[:start] + TYPED[:length] + text[start:])
        typed = await editor.items(uri)
        new = [item for item in typed if item.range.start.line == line]
        step(bool(new), f"type {TYPED.strip()!r}: {', '.join(sorted({str(item.code) for item in new})) or 'nothing'}")

        repair = await repair_of(editor, document, new)
        step(repair is not None, f"repair offered: {repair.title if repair else 'none'}")
        if repair is not None:
            apply(editor, uri, repair.edit)
            left = await editor.items(uri)
            step(len(left) <= len(before) and editor.texts[uri] == text, f"applied: {len(left)} findings")

        lenses: Sequence[Any] = ()
        end = time.perf_counter() + LENS_LIMIT
        while not lenses and time.perf_counter() < end:
            lenses = await editor.client.text_document_code_lens_async(types.CodeLensParams(document)) or ()
            await asyncio.sleep(0.5)
        step(bool(lenses), f"code lenses: {'; '.join(lens.command.title for lens in lenses[:4]) or 'none'}")

        rows = await hovered(editor, document, editor.texts[uri])
        step(bool(rows), f"hover over the factor: {rows} lines in the table")
    return not step.failed


async def repair_of(editor: scripted.Editor, document: types.TextDocumentIdentifier, new: Sequence[Any]) -> Any:
    """The first repair that is offered for the typed line."""
    for item in new:
        params = types.CodeActionParams(document, item.range, types.CodeActionContext([item]))
        for action in await editor.client.text_document_code_action_async(params) or ():
            edit = getattr(action, "edit", None)
            if edit is not None and "with a reason" not in action.title:
                return action
    return None


def apply(editor: scripted.Editor, uri: str, edit: types.WorkspaceEdit) -> None:
    """Make the edits of an action."""
    assert edit.changes is not None
    lines = editor.texts[uri].splitlines(keepends=True)
    for change in sorted(edit.changes[uri], key=lambda item: item.range.start.line, reverse=True):
        first, last = change.range.start, change.range.end
        head = lines[first.line][: first.character] if first.line < len(lines) else ""
        tail = lines[last.line][last.character :] if last.line < len(lines) else ""
        lines[first.line : last.line + 1] = [head + change.new_text + tail]
    editor.write(uri, "".join(lines))


async def hovered(editor: scripted.Editor, document: types.TextDocumentIdentifier, text: str) -> int:
    """The lines of the longest table that hovering over a mention of the factor gives."""
    most = 0
    for number, line in enumerate(text.split("\n")):
        if "self.routed_scaling_factor" in line:
            place = types.Position(number, line.index("routed_scaling_factor") + 2)
            hover = await editor.client.text_document_hover_async(types.HoverParams(document, place))
            contents = getattr(hover, "contents", None)
            most = max(most, getattr(contents, "value", "").count("\n| `"))
    return most


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", type=Path, nargs="+", help="deepseek_v2.py and glm4_moe.py of SGLang 0.5.22")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".cache" / "editor-session", help="where pages may be written"
    )
    chosen = parser.parse_args()
    chosen.cache.mkdir(parents=True, exist_ok=True)
    outcome = [asyncio.run(record(file.resolve(), chosen.cache.resolve())) for file in chosen.files]
    return 0 if all(outcome) else 1


if __name__ == "__main__":
    sys.exit(main())
