"""`--fix` and `--diff` as a user types them: what is written, what is shown, what is refused."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from moelint.linter.cli import main
from moelint.linter.fixing import session as sessions
from moelint.linter.fixing.collect import Possible
from moelint.linter.model import Edit, Fix, Region

HELPER = "class TopK: ...\n\n\ndef is_routed_scaling_factor_fused_in_topk(topk_config): ...\n"
WISH = "self.experts.should_fuse_routed_scaling_factor_in_topk"
ASKED = "is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)"
BLOCK = f"""\
from sglang.srt.layers.moe.topk import TopK


class Block:
    def __init__(self, config, experts):
        self.experts = experts
        self.topk = TopK(config)

    def forward_deepep(self, x, shared):
        y = self.experts(x, self.topk(x))
        if shared is None and not {WISH}:  # not yet
            y *= self.routed_scaling_factor
        return y
"""
FIXED = BLOCK.replace("TopK\n\n", "TopK, is_routed_scaling_factor_fused_in_topk\n\n").replace(WISH, ASKED)
SELECT = ("--isolated", "--no-cache", "--select", "guards,epilogue,suppression")


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    owner = tmp_path / "sglang" / "srt" / "layers" / "moe"
    owner.mkdir(parents=True)
    (owner / "topk.py").write_text(HELPER)
    (tmp_path / "sglang" / "block.py").write_text(BLOCK)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, list[str]]:
    capsys.readouterr()
    code = main(["check", *SELECT, *argv])
    out, err = capsys.readouterr()
    return code, out, err.splitlines()


def test_fix_writes_and_reports_what_is_left(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--fix") == (0, "", ["0 findings, 2 files checked", "moelint: 1 finding fixed in 1 file"])
    assert (tree / "sglang" / "block.py").read_text() == FIXED
    assert run(capsys, "--fix", "sglang")[2] == ["0 findings, 2 files checked"]
    assert (tree / "sglang" / "block.py").read_text() == FIXED


def test_a_diff_writes_nothing_and_git_takes_it(tree: Path, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    block = tree / "sglang" / "block.py"
    block.write_bytes(b"\xef\xbb\xbf" + BLOCK.replace("\n", "\r\n").replace("class", "\f\r\nclass").encode())
    before = block.read_bytes()
    assert main(["check", *SELECT, "--diff"]) == 1
    assert block.read_bytes() == before
    (tree / "a.patch").write_bytes(capsysbinary.readouterr().out)
    subprocess.run(["git", "apply", "a.patch"], check=True, cwd=tree)
    after = b"\xef\xbb\xbf" + FIXED.replace("\n", "\r\n").replace("class", "\f\r\nclass").encode()
    assert block.read_bytes() == after


def test_a_diff_of_standard_input(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-m", "moelint", "check", *SELECT, "--diff", "-", "--stdin-filename", "sglang/new.py"]
    done = subprocess.run(command, input=BLOCK.encode(), capture_output=True)
    assert done.returncode == 1
    assert done.stdout.startswith(b"--- a/sglang/new.py\n+++ b/sglang/new.py\n")
    assert ASKED.encode() in done.stdout


def test_a_missing_helper_is_named_and_nothing_is_written(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "sglang" / "srt" / "layers" / "moe" / "topk.py").write_text("class TopK: ...\n")
    code, _, said = run(capsys, "--fix", "--unsafe-fixes")
    assert (code, (tree / "sglang" / "block.py").read_text()) == (1, BLOCK)
    assert said[1:] == [
        "moelint: 0 findings fixed in 0 files",
        "moelint: 1 more once sglang.srt.layers.moe.topk has is_routed_scaling_factor_fused_in_topk",
    ]


def test_a_helper_that_cannot_be_seen_makes_the_fix_unsafe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "block.py").write_text(BLOCK)
    assert run(capsys, "--fix")[2][1:] == [
        "moelint: 0 findings fixed in 0 files",
        "moelint: 1 more with --unsafe-fixes",
    ]
    assert (tmp_path / "block.py").read_text() == BLOCK
    assert run(capsys, "--fix", "--unsafe-fixes")[0] == 0
    assert (tmp_path / "block.py").read_text() == FIXED


@pytest.mark.parametrize(
    "options", [("--fix", "-"), ("--diff", "--fix"), ("--diff", "--add-ignore", "why")], ids=" ".join
)
def test_orders_that_contradict_each_other(
    tree: Path, capsys: pytest.CaptureFixture[str], options: Sequence[str]
) -> None:
    code, out, said = run(capsys, *options)
    assert (code, out, len(said)) == (2, "", 1)
    assert (tree / "sglang" / "block.py").read_text() == BLOCK


def test_a_suppressed_finding_and_one_in_the_baseline_are_left(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = tree / "sglang" / "block.py"
    excused = BLOCK.replace(
        "            y *=", "            # moelint: ignore[guard-not-asking] -- old\n            y *="
    )
    block.write_text(excused)
    run(capsys, "--fix")
    assert block.read_text() == excused
    block.write_text(BLOCK)
    assert main(["baseline", "create", *SELECT]) == 0
    run(capsys, "--fix", "--baseline", "moelint-baseline.jsonl")
    assert block.read_text() == BLOCK


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_mode_and_links_stay(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = tree / "sglang" / "block.py"
    os.chmod(block, 0o750)
    link = tree / "sglang" / "link.py"
    link.symlink_to("block.py")
    other = tree / "sglang" / "hard.py"
    run(capsys, "--fix", "sglang/link.py")
    assert (stat.S_IMODE(block.stat().st_mode), link.is_symlink(), block.read_text()) == (0o750, True, FIXED)
    block.write_text(BLOCK)
    os.link(block, other)
    run(capsys, "--fix", "sglang/block.py")
    assert (block.stat().st_ino, other.read_text()) == (other.stat().st_ino, FIXED)
    assert sorted(path.name for path in block.parent.iterdir()) == ["block.py", "hard.py", "link.py", "srt"]


def test_a_read_only_file_costs_one_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    block = tree / "sglang" / "block.py"
    os.chmod(block, 0o444)
    code, _, said = run(capsys, "--fix")
    path = os.path.join("sglang", "block.py")
    assert (code, said[1:]) == (
        1,
        [f"moelint: {path}: not changed: the file is read-only", "moelint: 0 findings fixed in 0 files"],
    )
    assert block.read_text() == BLOCK


def test_a_file_that_changes_meanwhile_is_left_alone(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    block = tree / "sglang" / "block.py"
    write = sessions.Session.write

    def late(session: sessions.Session) -> None:
        block.write_text(BLOCK + "# theirs\n")
        write(session)

    monkeypatch.setattr(sessions.Session, "write", late)
    assert "the file changed in the meantime" in run(capsys, "--fix")[2][1]
    assert block.read_text() == BLOCK + "# theirs\n"


def broken(text: str) -> Possible:
    """A fix that puts `text` at the top of the file."""
    return Possible((Fix("MOE401", IDENTITY[0], "break it", (Edit(0, 0, text, Region(1, 1, 1, 1)),), True),))


IDENTITY: list[str] = []


@pytest.mark.parametrize("text", ["def (:\n", "# harmless, repairs nothing\n"])
def test_a_fix_with_a_wrong_result_is_never_written(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    def fixes(path: str, data: bytes, findings: Sequence[sessions.Finding], plan: object) -> Possible:
        IDENTITY[:] = [finding.identity for finding in findings]
        return broken(text) if findings else Possible()

    monkeypatch.setattr(sessions, "possible_fixes", fixes)
    code, _, said = run(capsys, "--fix")
    assert (code, (tree / "sglang" / "block.py").read_text()) == (1, BLOCK)
    path = os.path.join("sglang", "block.py")
    assert said[1] == f"moelint: {path}:12: MOE401 not fixed: the file would have another finding or none less"


def failing(error: BaseException):
    def fail(*arguments: object) -> None:
        raise error

    return fail


@pytest.mark.parametrize("name", ["chmod", "replace", "fsync"])
def test_an_interrupt_while_writing_leaves_the_old_file_and_no_draft(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    before = sorted(os.listdir(tree / "sglang"))
    monkeypatch.setattr(os, name, failing(KeyboardInterrupt()))
    assert run(capsys, "--fix") == (130, "", [])
    monkeypatch.undo()
    assert sorted(os.listdir(tree / "sglang")) == before
    assert (tree / "sglang" / "block.py").read_text() == BLOCK


def test_a_full_disk_costs_one_line(
    tree: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", failing(OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))))
    path = os.path.join("sglang", "block.py")
    assert run(capsys, "--fix")[2][1] == f"moelint: {path}: not changed: No space left on device"
    assert (tree / "sglang" / "block.py").read_text() == BLOCK


def test_a_reader_of_the_diff_may_leave_early(tree: Path) -> None:
    for number in range(40):
        (tree / "sglang" / f"m{number}.py").write_text(BLOCK + "# padding\n" * 10)
    command = [sys.executable, "-m", "moelint", "check", *SELECT, "--diff"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        assert process.stderr.read() == b"moelint: 41 findings would be fixed in 41 files\n"
        assert process.wait(timeout=60) == 1


def test_a_wrong_output_is_noticed_before_anything_is_written(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "--fix", "--output", "srif")[0] == 2
    assert (tree / "sglang" / "block.py").read_text() == BLOCK


def test_a_check_without_fixes_imports_nothing_of_them(tree: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "moelint", "check", *SELECT, "sglang"]
    traced = subprocess.run(command, capture_output=True, text=True)
    assert traced.returncode == 1
    for name in ("libcst", "moelint.linter.fixing", "moelint.linter.repair", "moelint.rules._repairs"):
        assert f"{name}\n" not in traced.stderr


def test_a_broken_text_in_which_nothing_is_searched_is_not_written_either(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text("x = 1  # noqa: MOE401\n")

    def fixes(path: str, data: bytes, findings: Sequence[sessions.Finding], plan: object) -> Possible:
        edit = Edit(5, 21, "(", Region(1, 6, 1, 22))
        return Possible(tuple(Fix("MOE903", finding.identity, "break it", (edit,), True) for finding in findings))

    monkeypatch.setattr(sessions, "possible_fixes", fixes)
    assert run(capsys, "--fix")[0] == 1
    assert (tmp_path / "m.py").read_text() == "x = 1  # noqa: MOE401\n"
