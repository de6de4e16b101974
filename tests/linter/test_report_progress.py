"""The line of progress: when it shows, and that it leaves nothing behind."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest

from moelint.linter.report.progress import PATIENCE, Progress, no_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture(autouse=True)
def _at_a_desk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("TERM", "xterm")


def on_screen(text: str) -> str:
    """What a terminal shows after `text`, which holds one line and carriage returns."""
    cells: list[str] = []
    at = 0
    for char in text:
        if char == "\r":
            at = 0
        else:
            cells[at : at + 1] = [char]
            at += 1
    return "".join(cells).rstrip()


def test_a_short_run_shows_nothing() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(stream, clock=clock) as advance:
        for done in range(100):
            advance(done, 100)
            clock.now += PATIENCE / 101
    assert stream.getvalue() == ""


def test_a_long_run_shows_a_line_and_erases_it() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(stream, clock=clock) as advance:
        advance(1, 4000)
        clock.now += PATIENCE
        advance(1000, 4000)
        assert on_screen(stream.getvalue()) == "checking [######..................] 1000/4000 files"
        clock.now += 1
        advance(9, 10)
        assert on_screen(stream.getvalue()) == "checking [#####################...] 9/10 files"
    assert on_screen(stream.getvalue()) == ""
    assert stream.getvalue().endswith("\r")
    assert "\n" not in stream.getvalue()


def test_the_line_is_erased_after_an_error_too() -> None:
    stream, clock = Terminal(), Clock()
    with pytest.raises(KeyboardInterrupt), Progress(stream, clock=clock) as advance:
        clock.now += 1
        advance(1, 2)
        raise KeyboardInterrupt
    assert on_screen(stream.getvalue()) == ""


def test_updates_are_rare() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(stream, clock=clock) as advance:
        clock.now += PATIENCE
        for done in range(1000):
            advance(done, 1000)
            clock.now += 0.001
        assert stream.getvalue().count("checking") <= 11


def test_nobody_watches_a_pipe_a_ci_run_or_a_dumb_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Progress(io.StringIO()).__enter__() is no_progress
    assert Progress(Terminal(), enabled=False).__enter__() is no_progress
    assert Progress(Terminal()).__enter__() is not no_progress
    monkeypatch.setenv("TERM", "dumb")
    assert Progress(Terminal()).__enter__() is no_progress
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("CI", "true")
    assert Progress(Terminal()).__enter__() is no_progress


def test_nothing_of_nothing_is_no_division() -> None:
    stream, clock = Terminal(), Clock()
    with Progress(stream, clock=clock) as advance:
        clock.now += 1
        advance(0, 0)
        assert on_screen(stream.getvalue()) == "checking [........................] 0/0 files"


@pytest.mark.parametrize("module", ["progress", "formats.concise", "formats.full"])
def test_the_start_up_path_imports_nothing_slow(module: str) -> None:
    code = (
        f"import sys, moelint.linter.report.{module}; print(*({{'rich', 'dataclasses', 'json'}} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
