"""Whatever is typed, server and a fresh check agree: random edits, in any order, in one long session."""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from editor import connected, position
from lsprotocol import types

from moelint.linter import check
from moelint.linter import options as command_line
from moelint.linter.plan import plan_for

ROOT = Path(__file__).parents[2]
PIECES = (
    "\n",
    "    ",
    "out = out * self.routed_scaling_factor\n",
    "        final_hidden_states *= self.routed_scaling_factor\n",
    "        if not _is_cuda:\n",
    "# moelint: ignore[MOE301] -- typed\n",
    "    def forward_deepep(self, x):\n        return self.experts(x) * self.routed_scaling_factor\n",
    "apply_routed_scaling_factor_on_output=True",
    "'\U0001f9ea'",
    "\u20ac",
    "\x0c",
    "(",
    "    return x\n",
    "routed_scaling_factor",
)
STEPS = 160


def expected(path: Path, text: str) -> list[tuple[Any, ...]]:
    """What a fresh check finds, with columns in UTF-16 units."""
    options = command_line.parse(["--no-cache", "--jobs", "1", str(path)])
    report = check.check(options.paths, plan_for(options), {str(path): text.encode()})
    lines = text.split("\n")

    def at(line: int, col: int) -> tuple[int, int]:
        return line - 1, len(lines[line - 1][: col - 1].encode("utf-16-le")) // 2

    found: list[tuple[Any, ...]] = [
        (f.code, f.message, *at(f.region.line, f.region.col), *at(f.region.end_line, f.region.end_col))
        for f in report.findings
    ]
    found += [(problem.code, problem.message, problem.line - 1) for problem in report.diagnostics]
    return sorted(found)


def shown(items: Any) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    for item in items:
        start, end = item.range.start, item.range.end
        if item.code.startswith("MOE-"):
            found.append((item.code, item.message, start.line))
        else:
            found.append((item.code, item.message, start.line, start.character, end.line, end.character))
    return sorted(found)


@pytest.mark.asyncio
@pytest.mark.parametrize("seed", [1, 2])
async def test_server_and_check_agree_after_random_edits(tmp_path: Path, seed: int) -> None:
    sample = Path(shutil.copytree(ROOT / "fixtures" / "sample", tmp_path / "sample"))
    path = sample / "emberlm" / ("overlap_block.py" if seed == 1 else "fused_shared_block.py")
    chance = random.Random(seed)
    compared = different = 0
    async with connected(sample, settings={"debounceMs": 0}) as editor:
        uri = editor.open(path)
        original = editor.texts[uri]
        for step in range(STEPS):
            text = editor.texts[uri]
            if chance.random() < 0.2:
                editor.write(uri, original)
            else:
                start = chance.randrange(len(text) + 1)
                if chance.random() < 0.7:
                    start = text.rfind("\n", 0, start) + 1
                end = min(len(text), start + (chance.randrange(80) if chance.random() < 0.3 else 0))
                new = chance.choice(PIECES)
                span = types.Range(position(text, start), position(text, end))
                change = types.TextDocumentContentChangePartial(span, new)
                editor.send(uri, change, text[:start] + new + text[end:])
            if step % 4 == 0:
                report = shown(await editor.items(uri))
                assert report == expected(path, editor.texts[uri]), editor.texts[uri]
                compared += 1
                different += bool(report) and not report[0][0].startswith("MOE-")
    assert compared >= STEPS // 4 and different >= 5
