"""What the documents promise exists: commands in the Makefile, options in `--help`, files behind links."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / name for name in ("README.md", "DEVELOPERS.md", "CHANGELOG.md")] + sorted((ROOT / "docs").rglob("*.md"))
_FENCE = re.compile(r"^```[a-z-]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_LINK = re.compile(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)\s]*)?\)")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def commands(page: Path) -> list[str]:
    """What a reader would type: the lines of code blocks, without a prompt or a comment, and the code in sentences."""
    text = page.read_text(encoding="utf-8")
    blocks = [line for block in _FENCE.findall(text) for line in block.splitlines()]
    found = [*blocks, *_SPAN.findall(_FENCE.sub("", text))]
    return [re.sub(r"^(\$|#|- run:|run:|entry:)\s+|\s+# .*$", "", line.strip()) for line in found]


def test_readme_names_exactly_the_two_commands_to_start_with() -> None:
    set_up = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Set up")[2]
    first_block = _FENCE.findall(set_up)[0]
    assert [line.partition("#")[0].strip() for line in first_block.splitlines()] == ["make lint", "make test"]


def test_readme_shows_what_is_really_printed() -> None:
    shown = re.findall(r"^fixtures/sample/.+", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    command = [sys.executable, "-m", "moelint", "check", "--isolated", "--no-cache", "fixtures/sample"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True).stdout.splitlines()
    assert shown
    assert set(shown) <= set(printed)


def test_ci_runs_the_two_commands_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert [line for line in script.splitlines() if line.startswith("make")] == ["make lint", "make test"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_make_commands_exist(page: Path) -> None:
    named = {line.split()[1] for line in commands(page) if re.match(r"make [a-z]", line)}
    known = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert named <= known


@cache
def help_of(*command: str) -> str:
    done = subprocess.run([sys.executable, *command, "--help"], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def subcommands() -> list[str]:
    return [path.stem.replace("_", "-") for path in (ROOT / "linter" / "commands").glob("[a-z]*.py")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_options_exist(page: Path) -> None:
    known = set(
        _OPTION.findall("".join(help_of("-m", "moelint", name) for name in ("check", "server", *subcommands())))
    )
    known |= set(_OPTION.findall(help_of("-m", "moelint")))
    own = [line for line in commands(page) if re.match(r"(\S*/)?moelint |(\S*/)?python -m moelint |--[a-z]", line)]
    named = {option for line in own for option in _OPTION.findall(line)}
    text = page.read_text(encoding="utf-8")
    scripts = set(re.findall(r"bench/\w+\.py", text)) | ({"bench/compare.py"} if "bench" in text else set())
    known |= {option for script in scripts for option in _OPTION.findall(help_of(script))}
    assert named <= known


def test_places_that_developers_are_sent_to_exist() -> None:
    spans = _SPAN.findall((ROOT / "DEVELOPERS.md").read_text(encoding="utf-8"))
    places = [span for span in spans if re.fullmatch(r"[a-z_]+/[a-z_/*.]*", span)]
    assert "linter/engine.py" in places
    assert [place for place in places if not list(ROOT.glob(place.rstrip("/")))] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    targets = _LINK.findall(page.read_text(encoding="utf-8"))
    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_option_is_documented() -> None:
    assert help_of("-m", "moelint", "check") in (ROOT / "docs" / "usage.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [["lint"], ["lint", "SRC=somewhere"], ["lint", "RELEASE=sglang==0.5.23"], ["test"]]
)
def test_make_knows_what_to_run(arguments: list[str], tmp_path: Path) -> None:
    """A dry run in a copy without an environment: set-up comes first, then the linter or the checks."""
    for name in ("Makefile", "pyproject.toml", "setup.py"):
        shutil.copy(ROOT / name, tmp_path)
    outside_make = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    done = subprocess.run(["make", "-n", *arguments], cwd=tmp_path, env=outside_make, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[0].startswith("python3 tools/venv.py .venv")
    wanted = {"lint": "moelint check", "test": "python -m pytest"}[arguments[0]]
    assert wanted in done.stdout
    for assignment in arguments[1:]:
        assert assignment.partition("=")[2] in done.stdout
