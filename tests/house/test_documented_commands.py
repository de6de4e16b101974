"""The commands that pages show are typed: each page's in their order, in a repository that has the places they name."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_BLOCK = re.compile(r"^```([a-z]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SHELL = ("sh", "console")
PLACES = {
    "srt/models": "sglang/srt/models",
    "path/to/tree": ".",
    "path/to/model.py": "sglang/srt/models/some_model.py",
    "path -": ". -",
    "OLD": ".",
    "NEW": ".",
}
"""What stands for a place in the pages -> a place in the repository."""
LEFT_OUT = {
    "pip": "needs an index of packages",
    "code": "puts an extension into an editor",
    "make": "sets up environments; test_docs.py sees that its targets exist",
    "python": "is about a checkout or a release on disk",
    "moelint probe": "needs torch and a framework; tests/runtime_probe runs it",
    "moelint server": "waits for an editor; tests/linter/server talks to it",
}
"""Start of a command -> why it is not typed here."""
BLOCK = """\
from sglang.srt.layers.moe.ep_moe.layer import get_moe_impl_class
from sglang.srt.layers.moe.topk import TopK
from sglang.srt.utils import is_cuda

_is_cuda = is_cuda()


class SomeBlock:
    def __init__(self, config, quant_config):
        self.routed_scaling_factor = config.routed_scaling_factor
        self.experts = get_moe_impl_class(quant_config)(num_experts=8, routed_scaling_factor=self.routed_scaling_factor)
        self.topk = TopK(top_k=2, routed_scaling_factor=self.routed_scaling_factor)

    def forward(self, x):
        y = self.experts(x, self.topk(x, x))
        if not _is_cuda:
            y *= self.routed_scaling_factor
        return y
"""


def blocks(page: Path) -> list[tuple[str, str]]:
    """Language and text of the fenced blocks of a page."""
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(block: str) -> list[str]:
    """The commands of a shell block. Where some lines have a prompt, the others are what was printed."""
    lines = [line for line in block.splitlines() if line.strip()]
    typed = [line[2:] for line in lines if line.startswith("$ ")] or lines
    bare = [line.partition(" #")[0] for line in typed if not line.startswith("#")]
    return [" ".join(part.split()) for line in bare for part in line.split("; ")]


def left_out(command: str) -> bool:
    return any(f"{command} ".startswith(f"{start} ") for start in LEFT_OUT)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with findings, a branch to compare with and a copy of the sample."""
    models = tmp_path / "sglang" / "srt" / "models"
    models.mkdir(parents=True)
    for folder in (models, models.parent, models.parent.parent):
        (folder / "__init__.py").touch()
    (models / "some_model.py").write_text(BLOCK)
    shutil.copytree(ROOT / "fixtures" / "sample", tmp_path / "fixtures" / "sample")
    who = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    for command in ("init -q -b main", "add .", "commit -q -m first", "update-ref refs/remotes/origin/main HEAD"):
        subprocess.run(["git", *command.split()], cwd=tmp_path, env={**os.environ, **who}, check=True)
    return tmp_path


def typed(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line of a page in `folder`."""
    for shown, real in PLACES.items():
        command = re.sub(rf"(?<![\w/]){re.escape(shown)}(?![\w])", real, command)
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CI"))}
    program = shlex.join([sys.executable, "-m", "moelint"])
    return subprocess.run(
        re.sub(r"^moelint\b", lambda _: program, command),
        shell=True,
        cwd=folder,
        env={**environment, "COLUMNS": "100", "PYTHONUTF8": "1"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        encoding="utf-8",
    )


def test_there_is_a_reason_for_every_command_that_is_not_typed() -> None:
    shown = {line for page in PAGES for kind, text in blocks(page) if kind in _SHELL for line in commands(text)}
    assert {line for line in shown if not line.startswith("moelint ") and not left_out(line)} == set()
    assert [start for start in LEFT_OUT if not any(line.startswith(start) for line in shown)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_run(page: Path, repository: Path) -> None:
    """0 or 1, whatever is found: 2 is wrong usage or a fault."""
    for kind, text in blocks(page):
        for command in commands(text) if kind in _SHELL else ():
            if command.startswith("moelint ") and not left_out(command):
                if "block.py" in command:
                    (repository / "block.py").write_text(BLOCK)
                done = typed(command, repository)
                assert done.returncode in (0, 1), f"{command}\n{done.stdout}{done.stderr}"
                assert "Traceback" not in done.stderr, command


@pytest.mark.parametrize("name", ["index.md", "getting-started.md"])
def test_what_is_shown_is_what_is_printed(name: str, repository: Path) -> None:
    """A block of Python is saved as block.py; a block of text is what the command before it printed."""
    printed, compared = "", 0
    for kind, text in blocks(ROOT / "docs" / name):
        if kind == "python":
            (repository / "block.py").write_text(text)
        elif kind in _SHELL:
            outputs = [typed(line, repository).stdout for line in commands(text) if not left_out(line)]
            printed = outputs[-1] if outputs else printed
        elif kind == "text":
            assert text.rstrip() == printed.rstrip()
            compared += 1
    assert compared


def test_the_walk_through_ends_in_silence(repository: Path) -> None:
    wrong, right = (text for kind, text in blocks(ROOT / "docs" / "getting-started.md") if kind == "python")
    for text, code in ((wrong, 1), (right, 0)):
        (repository / "block.py").write_text(text)
        done = typed("moelint check block.py", repository)
        assert (done.returncode, done.stdout == "") == (code, code == 0)
