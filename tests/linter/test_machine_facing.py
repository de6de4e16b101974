"""What scripts, hooks and services do to a program: odd files, odd streams, odd names, interrupts."""

from __future__ import annotations

import builtins
import errno
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moelint.linter.cli import main
from moelint.linter.outputs import format_names

WRONG = """\
class Block:
    def forward(self, x):
        y = self.experts(x, self.topk(x))
        y *= self.routed_scaling_factor
        return y
"""
BASE = ("check", "--isolated", "--no-cache", "--profile", "sglang", "--select", "MOE301")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(WRONG)
    return tmp_path


def moelint(*argv: str, **options: Any) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "moelint", *argv], capture_output=True, timeout=120, **options)


def concise(capsys: pytest.CaptureFixture[str], *argv: str) -> list[str]:
    """The places of the findings and diagnostics of a run."""
    capsys.readouterr()
    main([*BASE, *argv])
    return [line.split(" ")[0] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("name", format_names())
def test_a_reader_that_leaves_early_costs_neither_noise_nor_the_exit_code(tree: Path, name: str) -> None:
    for number in range(300):
        (tree / f"m{number}.py").write_text(WRONG)
    command = [sys.executable, "-m", "moelint", *BASE, "-o", name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read().decode()
        assert (process.wait(timeout=60), said) == (1, "301 findings, 301 files checked\n")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's way of closing streams")
@pytest.mark.parametrize(
    ("closing", "code"), [(">&-", 1), ("2>&-", 1), (">&- 2>&-", 1), (">/dev/full", 2), ("2>/dev/full", 2)]
)
def test_streams_that_are_closed_or_full(tree: Path, closing: str, code: int) -> None:
    script = f'"{sys.executable}" -m moelint {" ".join(BASE)} m.py {closing}'
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert done.returncode == code
    assert "Traceback" not in done.stderr
    if closing == ">/dev/full":
        assert done.stderr == "moelint: cannot write: No space left on device\n"


@pytest.mark.skipif(sys.platform == "win32", reason="a shell's way of closing streams")
@pytest.mark.parametrize(
    ("arguments", "code"), [("check nowhere.py", 2), ("rule --all > /dev/full", 2), ("check - <&-", 2)]
)
def test_streams_that_are_closed_or_full_without_findings(tree: Path, arguments: str, code: int) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"{sys.executable}" -m moelint {arguments} 2>/dev/full'], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (code, "")


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_an_interrupt_ends_the_workers_and_leaves_no_half_files(tree: Path) -> None:
    for number in range(40):
        methods = "\n".join(WRONG.replace("class Block:\n", "").replace("forward", f"f{n}") for n in range(150))
        (tree / f"m{number}.py").write_text(f"class Block:\n{methods}")
    code = "import sys; from moelint.linter.cli import main; print(flush=True); main()"
    arguments = ["check", "--isolated", "--profile", "sglang", "-j", "2", "-o", "json:out.json", "--cache-dir", "cache"]
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.5)
        os.killpg(process.pid, signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert (process.returncode, out, err) == (130, b"", b"")
        with pytest.raises(ProcessLookupError):
            os.killpg(process.pid, 0)
    assert not (tree / "out.json").exists()
    assert not [path for path in tree.glob("cache/*") if path.name.startswith("results")]


def read_only(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    """Make every attempt to write below `root` fail as on a read-only file system (root may write anywhere else)."""

    def guard(function: Callable[..., Any], writes: Callable[..., bool]) -> Callable[..., Any]:
        def guarded(path: Any, *arguments: Any, **options: Any) -> Any:
            inside = not isinstance(path, int) and os.path.abspath(os.fsdecode(path)).startswith(str(root))
            if inside and writes(*arguments, **options):
                raise OSError(errno.EROFS, os.strerror(errno.EROFS), path)
            return function(path, *arguments, **options)

        return guarded

    monkeypatch.setattr(builtins, "open", guard(open, lambda mode="r", *a, **o: bool(set("wax+") & set(mode))))
    for name in ("mkdir", "unlink", "replace", "rename"):
        monkeypatch.setattr(os, name, guard(getattr(os, name), lambda *a, **o: True))


def test_a_read_only_tree_is_checked_like_any_other(
    tree: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for number in range(100):  # enough that a cache is wanted
        (tree / f"m{number}.py").write_text(WRONG)
    arguments = ["check", "--isolated", "--profile", "sglang", "--select", "MOE301", "--jobs", "1"]
    read_only(monkeypatch, tree)
    assert main(arguments) == 1
    said = capsys.readouterr()
    assert said.err == "101 findings, 101 files checked\n"
    assert not (tree / ".moelint_cache").exists()
    assert main([*arguments, "-o", "json:out.json"]) == 2
    assert capsys.readouterr().err == "moelint: cannot write out.json: Read-only file system\n"
    assert main(["baseline", "create", *arguments[1:]]) == 2
    assert "moelint-baseline.jsonl: Read-only file system" in capsys.readouterr().err
    assert main([*arguments, "--add-ignore", "why", "m.py"]) == 1
    assert "m.py: not changed: Read-only file system" in capsys.readouterr().err
    assert (tree / "m.py").read_text() == WRONG


def test_without_git_files_are_found_and_ignore_files_honoured(tree: Path) -> None:
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("ignored.py\n")
    (tree / "ignored.py").write_text(WRONG)
    environment = {**os.environ, "PATH": ""}
    done = moelint(*BASE, env=environment)
    assert (done.returncode, done.stderr.decode()) == (1, "1 finding, 1 file checked\n")


def test_thousands_of_files_from_a_file(tree: Path) -> None:
    names = [f"file number {number} of many.py" for number in range(1500)]
    for name in names:
        (tree / name).write_text("x = 1\n")
    for end in ("\n", "\r\n"):
        (tree / "list").write_bytes(b"\xef\xbb\xbf" + end.join([*names, "m.py", ""]).encode())
        done = moelint(*BASE, "@list")
        assert (done.returncode, done.stderr.decode()) == (1, "1 finding, 1501 files checked\n")
    done = moelint(*BASE, *names)
    assert (done.returncode, done.stderr.decode()) == (0, "0 findings, 1500 files checked\n")
    done = moelint(*BASE, "@nowhere")
    assert (done.returncode, b"cannot read arguments" in done.stderr) == (2, True)


def test_line_ends_marks_and_form_feeds_do_not_move_a_finding(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = "# 日本 😀\n\x0c\n" + WRONG.replace("        y *=", "        '''\n  😀 '''; y *=")
    (tree / "m.py").write_text(text, encoding="utf-8", newline="")
    main([*BASE, "-o", "json"])
    [expected] = json.loads(capsys.readouterr().out)["findings"]
    assert (
        text.split("\n")[expected["region"]["line"] - 1][expected["region"]["column"] - 1 :]
        == "y *= self.routed_scaling_factor"
    )
    for end in ("\r\n", "\r", "\n"):
        for mark in (b"", b"\xef\xbb\xbf"):
            (tree / "m.py").write_bytes(mark + text.replace("\n", end).encode())
            main([*BASE, "-o", "json"])
            assert json.loads(capsys.readouterr().out)["findings"] == [expected]


@pytest.mark.skipif(sys.platform == "win32", reason="links")
def test_links_in_circles_are_told_and_cost_nothing_else(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "sub").mkdir()
    os.symlink("loop.py", tree / "loop.py")
    os.symlink("two.py", tree / "one.py")
    os.symlink("one.py", tree / "two.py")
    os.symlink("..", tree / "sub" / "up")
    os.symlink("sub", tree / "sub" / "self")
    for git in (False, True):
        if git:
            subprocess.run(["git", "init", "-q"], check=True)
        assert sorted(concise(capsys)) == ["loop.py:1:1:", "m.py:4:9:", "one.py:1:1:", "two.py:1:1:"]


@pytest.mark.skipif(sys.platform == "win32", reason="file names are bytes elsewhere only")
def test_names_that_are_not_text(tree: Path) -> None:
    odd = b"\xff \n\x1b[31m.py"
    shutil.copy(tree / "m.py", os.path.join(os.fsencode(tree), odd))
    for name in format_names():
        done = moelint(*BASE, "-o", name)
        assert (done.returncode, done.stderr.decode()) == (1, "2 findings, 2 files checked\n"), name
        assert b"\x1b" not in done.stdout
        done.stdout.decode("utf-8")
    (tree / "list").write_bytes(b"\xfe.py\n")
    shutil.copy(tree / "m.py", os.path.join(os.fsencode(tree), b"\xfe.py"))
    assert moelint(*BASE, "@list").stdout.startswith(b"\\udcfe.py:4:9: MOE301")


@pytest.mark.parametrize(
    ("name", "text", "problems"),
    [
        (
            "pyproject.toml",
            '[tool.moelint]\nselect = ["gaurds"]\nbaseline = 3\njobs = -1\nfrobnicate = 1\n',
            [
                "pyproject.toml: tool.moelint.select[0]: unknown rule or family 'gaurds'; did you mean 'guards'?",
                "pyproject.toml: tool.moelint.baseline: expected a path, not 3",
                "pyproject.toml: tool.moelint.jobs: expected an integer, 0 or more, not -1",
                "pyproject.toml: tool.moelint.frobnicate: unknown key",
            ],
        ),
        (
            "moelint.toml",
            'output = "srif"\n',
            ["moelint.toml: output[0]: unknown format 'srif'; did you mean 'sarif'?"],
        ),
        ("moelint.toml", "select = \n", ["moelint.toml: not valid TOML"]),
        (
            "moelint.toml",
            'per-file-ignores = { "a" = ["x"] }\n',
            ['moelint.toml: per-file-ignores."a"[0]: unknown rule'],
        ),
    ],
)
def test_errors_of_the_configuration_name_file_and_key(
    tree: Path, name: str, text: str, problems: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tree / name).write_text(text)
    assert main(["check"]) == 2
    said = capsys.readouterr().err.splitlines()
    assert len(said) == len(problems)
    for line, problem in zip(said, problems, strict=True):
        assert line.startswith("moelint: ") and problem in line


def test_exit_zero_hides_findings_but_no_errors(tree: Path) -> None:
    assert main([*BASE, "--exit-zero"]) == 0
    assert main([*BASE, "--exit-zero", "nowhere"]) == 2
