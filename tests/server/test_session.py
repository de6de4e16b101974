"""Whole sessions with a server process: what an editor sees is what `moelint check` finds in its text."""

from __future__ import annotations

import asyncio
import shutil
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from editor import VIOLATION, Editor, connected, session
from lsprotocol import types
from pytest_lsp import make_test_lsp_client

from moelint.linter import check
from moelint.linter import options as command_line
from moelint.linter.plan import plan_for

ROOT = Path(__file__).parents[2]
BLOCK = "emberlm/overlap_block.py"
pytestmark = pytest.mark.asyncio


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    """A copy of the sample tree."""
    return Path(shutil.copytree(ROOT / "fixtures" / "sample", tmp_path / "sample"))


def found_by_check(folder: Path, name: str, text: str) -> list[tuple[Any, int, int, int, int]]:
    """Code and place, as the protocol counts, of what a fresh check finds in a text without wide characters."""
    options = command_line.parse(["--no-cache", "--jobs", "1", str(folder / name)])
    report = check.check(options.paths, plan_for(options), {str(folder / name): text.encode()})
    found = []
    for finding in report.findings:
        place = finding.region
        found.append((finding.code, place.line - 1, place.col - 1, place.end_line - 1, place.end_col - 1))
    for problem in report.diagnostics:
        line = text.split("\n")[problem.line - 1]
        indent = len(line) - len(line.lstrip())
        found.append((problem.code, problem.line - 1, indent, problem.line - 1, len(line)))
    return sorted(found)


def rows(items: Sequence[types.Diagnostic]) -> list[tuple[Any, int, int, int, int]]:
    return sorted(
        (i.code, i.range.start.line, i.range.start.character, i.range.end.line, i.range.end.character) for i in items
    )


async def test_pulled_diagnostics_are_the_findings_of_check(sample: Path) -> None:
    async with connected(sample) as editor:
        provider: Any = editor.initialized.capabilities.diagnostic_provider
        assert provider.inter_file_dependencies and provider.workspace_diagnostics
        uri = editor.open(sample / BLOCK)
        items = await editor.items(uri)
        assert len(items) >= 2
        assert rows(items) == found_by_check(sample, BLOCK, editor.texts[uri])


async def test_a_diagnostic_says_where_to_read_on(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        items = await editor.items(uri)
        guard = next(item for item in items if item.code == "MOE401")
        assert guard.source == "moelint"
        assert guard.severity == types.DiagnosticSeverity.Error
        related = guard.related_information
        assert related and all(place.location.uri == uri and place.message for place in related)
        assert guard.code_description is not None
        page = Path(guard.code_description.href.removeprefix("file://"))
        assert page.read_text("utf-8").startswith("# guard-not-asking (MOE401)")


async def test_unsaved_text_wins_over_the_disk(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK, text="x = 1\n")
        assert list(await editor.items(uri)) == []
        editor.write(uri, (sample / BLOCK).read_text("utf-8"))
        assert len(await editor.items(uri)) >= 2


async def test_the_same_result_is_not_sent_twice(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        first = await editor.pulled(uri)
        again = await editor.pulled(uri, first.result_id)
        assert (again.kind, again.result_id) == ("unchanged", first.result_id)
        editor.replace(uri, "self.routed_scaling_factor", "2.0")
        assert (await editor.pulled(uri, first.result_id)).kind == "full"


async def test_older_clients_are_told(sample: Path) -> None:
    async with connected(sample, pull=False) as editor:
        uri = editor.open(sample / BLOCK)
        assert rows(await editor.pushed(uri)) == found_by_check(sample, BLOCK, editor.texts[uri])
        for number in range(8):
            editor.insert(uri, 0, f"# {number} \U0001f9ea\n")
        assert rows(await editor.pushed(uri)) == found_by_check(sample, BLOCK, editor.texts[uri])
        editor.close(uri)
        await editor.until(lambda: not editor.published[uri][1])


async def test_text_that_does_not_parse_is_said_to(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        editor.write(uri, editor.texts[uri] + "def broken(:\n")
        items = await editor.items(uri)
        assert [item.code for item in items] == ["MOE-E002"]
        assert items[0].range.start.line == editor.texts[uri].count("\n") - 1


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
async def test_columns_are_counted_in_the_negotiated_units(sample: Path, encoding: str, width: int) -> None:
    async with connected(sample, encodings=[encoding]) as editor:
        assert editor.initialized.capabilities.position_encoding == encoding
        uri = editor.open(sample / BLOCK)
        plain = next(item for item in await editor.items(uri) if item.code == "MOE301")
        line = editor.texts[uri].split("\n")[plain.range.start.line]
        indent = line[: len(line) - len(line.lstrip())]
        wide = f"{indent}'\U0001f9ea'; {line.lstrip()}"
        editor.write(uri, editor.texts[uri].replace(line, wide))
        moved = next(item for item in await editor.items(uri) if item.code == "MOE301")
        assert moved.range.start.line == plain.range.start.line
        assert moved.range.start.character == plain.range.start.character + len("''; ") + width


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
async def test_edits_are_placed_in_the_negotiated_units(sample: Path, encoding: str, width: int) -> None:
    async with connected(sample, encodings=[encoding]) as editor:
        uri = editor.open(sample / BLOCK, text="x = '\U0001f9ea'  # \x0c\u2028 no end of a line\nbad(:\n")
        assert [item.range.start.line for item in await editor.items(uri)] == []
        word = editor.open(sample / "emberlm/more.py", "a = '\U0001f9ea'; routed_scaling_factor = (\n")
        column = len("a = ''; ") + width
        span = types.Range(types.Position(0, column), types.Position(0, column + len("routed_scaling_factor = (")))
        editor.send(word, types.TextDocumentContentChangePartial(span, "b = 1"), "a = '\U0001f9ea'; b = 1\n")
        assert list(await editor.items(word)) == []


async def test_configuration_holds_at_once(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        before = {item.code for item in await editor.items(uri)}
        assert {"MOE301", "MOE401"} <= before
        config = sample / "moelint.toml"
        config.write_text('ignore = ["MOE401"]\n[severity]\nMOE301 = "warning"\n', "utf-8")
        editor.changed_on_disk(config)
        await editor.until(lambda: editor.refreshes > 0)
        items = await editor.items(uri)
        assert {item.code for item in items} == before - {"MOE401"}
        assert {i.severity for i in items if i.code == "MOE301"} == {types.DiagnosticSeverity.Warning}
        config.write_text('ignore = ["no-such-rule"]\n', "utf-8")
        editor.changed_on_disk(config)
        assert {item.code for item in await editor.items(uri)} == before - {"MOE401"}
        await editor.until(lambda: any("no-such-rule" in message.message for message in editor.client.messages))


async def test_the_baseline_holds_at_once(sample: Path) -> None:
    (sample / "moelint.toml").write_text('baseline = "known.jsonl"\n', "utf-8")
    (sample / "known.jsonl").write_text('{"moelint-baseline": 1}\n', "utf-8")
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)
        assert len(await editor.items(uri)) >= 2
        command = [sys.executable, "-m", "moelint", "baseline", "update", "--grow", "--reason", "old", "."]
        done = subprocess.run(command, cwd=sample, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        editor.changed_on_disk(sample / "known.jsonl")
        assert list(await editor.items(uri)) == []
        editor.replace(uri, "        return", f"{VIOLATION}        return")
        assert len(await editor.items(uri)) >= 1


async def test_every_folder_has_its_own_configuration(sample: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(sample, tmp_path / "other"))
    (other / "moelint.toml").write_text('select = ["MOE401"]\n', "utf-8")
    (sample / "moelint.toml").write_text(f'exclude = ["{BLOCK}"]\n', "utf-8")
    async with connected(sample, other) as editor:
        assert list(await editor.items(editor.open(sample / BLOCK))) == []
        assert {item.code for item in await editor.items(editor.open(other / BLOCK))} == {"MOE401"}


async def test_the_whole_workspace_can_be_asked_for(sample: Path, tmp_path: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK, text="x = 1\n")
        params = types.WorkspaceDiagnosticParams(previous_result_ids=[])
        report = await editor.client.workspace_diagnostic_async(params)
        by_uri: dict[str, Any] = {item.uri: item for item in report.items}
        assert not by_uri[uri].items
        closed = {address: item for address, item in by_uri.items() if address != uri}
        assert closed and all(item.items for item in closed.values())
        for address, item in closed.items():
            path = Path(address.removeprefix("file://"))
            text = path.read_text("utf-8")
            assert rows(item.items) == found_by_check(sample, str(path.relative_to(sample)), text)
        known = [types.PreviousResultId(item.uri, item.result_id) for item in by_uri.values()]
        again = await editor.client.workspace_diagnostic_async(types.WorkspaceDiagnosticParams(known))
        assert {item.kind for item in again.items} == {"unchanged"}


async def test_a_cancelled_request_is_answered_as_such(sample: Path) -> None:
    async with connected(sample, settings={"debounceMs": 5000}) as editor:
        uri = editor.open(sample / BLOCK)
        await editor.items(uri)
        for number in range(2):
            editor.insert(uri, 0, f"# {number}\n")
        params = types.DocumentDiagnosticParams(types.TextDocumentIdentifier(uri))
        asked = editor.client.protocol.send_request(types.TEXT_DOCUMENT_DIAGNOSTIC, params, msg_id="mine")
        editor.client.protocol.notify(types.CANCEL_REQUEST, types.CancelParams("mine"))
        with pytest.raises(Exception, match="cancel"):
            await asyncio.wait_for(asyncio.wrap_future(asked), 4)


CRASHING = """
import sys
from moelint.linter.server import analyst
whole = analyst._checked
def broken(document, project, checkpoint):
    if "crash me" in document.text:
        raise ZeroDivisionError("on purpose")
    return whole(document, project, checkpoint)
analyst._checked = broken
from moelint.linter.cli import main
sys.exit(main(["server"]))
"""


async def test_a_crash_is_a_line_and_a_status_and_not_the_end(sample: Path) -> None:
    async with connected(sample, command=["-c", CRASHING]) as editor:
        uri = editor.open(sample / BLOCK)
        before = rows(await editor.items(uri))
        whole = editor.texts[uri]
        editor.write(uri, whole + "# crash me\n")
        items = await editor.items(uri)
        assert [item.code for item in items] == ["MOE-E001"] and "on purpose" in items[0].message
        await editor.until(lambda: editor.statuses[-1:] == ["crashed"])
        assert any("on purpose" in line.message for line in editor.client.log_messages)
        editor.write(uri, whole)
        assert rows(await editor.items(uri)) == before
        await editor.until(lambda: editor.statuses[-1:] == ["ok"])


async def test_tcp(sample: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "moelint", "server", "--tcp", "--port", str(port)]
    process = subprocess.Popen(command, cwd=sample)
    try:
        client = make_test_lsp_client()
        for _ in range(300):
            try:
                await client.start_tcp("127.0.0.1", port)
                break
            except OSError:
                await asyncio.sleep(0.1)
        async with session(client, sample) as editor:
            assert len(await editor.items(editor.open(sample / BLOCK))) >= 2
        assert await asyncio.to_thread(process.wait, 20) == 0
    finally:
        process.kill()


def _resident(editor: Editor) -> int:
    """Bytes of memory that the server's process holds."""
    pages = int(Path(f"/proc/{editor.pid}/statm").read_text().split()[1])
    return pages * 4096


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc to measure")
async def test_memory_is_bounded_over_thousands_of_edits(sample: Path) -> None:
    async with connected(sample) as editor:
        uri = editor.open(sample / BLOCK)

        async def type_on(edits: int) -> None:
            for number in range(edits):
                if number % 2:
                    editor.replace(uri, f"# {number - 1}\n", "")
                else:
                    editor.insert(uri, 0, f"# {number}\n")
                if number % 20 == 0:
                    await editor.items(uri)

        await type_on(500)
        before = _resident(editor)
        await type_on(1500)
        await editor.items(uri)
        assert _resident(editor) - before < 8_000_000
