"""Which files are found: with git, without it, through links, around what cannot be read."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pathspec import GitIgnoreSpec

from moelint.linter import defaults
from moelint.linter.discovery import Excludes, Found, discover
from moelint.linter.errors import UsageError


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))


def write(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x = 1\n")


def find(*paths: str, exclude: tuple[str, ...] = defaults.EXCLUDE, force: bool = False) -> Found:
    return discover(paths, Excludes(exclude, os.getcwd()), force_exclude=force)


def git(*arguments: str) -> None:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    subprocess.run(["git", *identity, *arguments], check=True, capture_output=True)


def test_folders_without_init_count_and_the_order_is_fixed() -> None:
    write("b/deep/er/x.py", "a/y.pyi", "a/z.txt", "c.py")
    assert find(".").files == ["a/y.pyi", "b/deep/er/x.py", "c.py"]
    assert find("b", "a").files == ["b/deep/er/x.py", "a/y.pyi"]


def test_paths_look_as_the_user_wrote_them() -> None:
    write("a/x.py")
    assert find("./a/").files == ["a/x.py"]
    assert find(os.path.abspath("a")).files == [os.path.abspath("a/x.py")]


def test_a_file_is_found_once_however_often_it_is_named() -> None:
    write("a/x.py", "a/y.py")
    assert find("a/x.py", "a", "./a/x.py", os.path.abspath("a/y.py")).files == ["a/x.py", "a/y.py"]


def test_default_excludes_hold_below_the_folder_that_was_asked_for() -> None:
    write("src/build/x.py", "src/.venv/lib/y.py", "src/z.py")
    assert find("src").files == ["src/z.py"]
    assert find("src/build").files == ["src/build/x.py"]


def test_explicit_files_are_checked_unless_excludes_are_forced() -> None:
    write("build/x.py", "script")
    assert find("build/x.py", "script").files == ["build/x.py", "script"]
    assert find("build/x.py", "script", force=True).files == ["script"]
    assert find("build", force=True).files == []


def test_patterns_start_at_the_root() -> None:
    write("a/gen/x.py", "b/gen/x.py", "a/gen_x.py", "c_pb2.py")
    assert find(".", exclude=("a/gen", "*_pb2.py")).files == ["a/gen_x.py", "b/gen/x.py"]
    assert find("a", exclude=("a/gen",)).files == ["a/gen_x.py"]
    assert find("a/gen", exclude=("a/gen", "gen_x.py")).files == ["a/gen/x.py"]


def test_a_missing_path_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match=r"^nowhere\.py: no such file or folder$"):
        find("nowhere.py")


def test_texts_need_not_exist() -> None:
    found = discover(["new.py"], Excludes((), os.getcwd()), texts={os.path.abspath("new.py")})
    assert found.files == ["new.py"]


def test_links_to_folders_are_not_followed_and_loops_do_no_harm() -> None:
    write("real/x.py")
    os.symlink("..", "real/loop")
    os.symlink("real", "other")
    assert find(".").files == ["real/x.py"]
    assert find("other").files == ["other/x.py"]


def test_links_to_files_are_followed_and_broken_ones_reported_later() -> None:
    write("x.txt")
    os.symlink("x.txt", "linked.py")
    os.symlink("gone.txt", "broken.py")
    assert find(".").files == ["broken.py", "linked.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no pipes in folders")
def test_pipes_are_passed_over() -> None:
    os.mkfifo("pipe.py")
    assert find(".").files == []


def test_a_folder_named_like_a_file_is_a_folder() -> None:
    write("odd.py/x.py")
    assert find(".").files == ["odd.py/x.py"]


def test_a_folder_that_cannot_be_listed_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a/x.py", "b/y.py")
    scandir = os.scandir

    def racing(path: str) -> object:
        if path == "b":
            raise FileNotFoundError(2, "No such file or directory", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", racing)
    found = find(".")
    assert found.files == ["a/x.py"]
    assert found.unreadable == [("b", "No such file or directory")]


def test_git_decides_in_a_work_tree() -> None:
    git("init", "-q")
    write("src/tracked.py", "src/new.py", "src/ignored.py", "out/made.py", "other/x.py")
    Path(".gitignore").write_text("ignored.py\nout/\n")
    git("add", "src/tracked.py")
    assert find(".").files == ["other/x.py", "src/new.py", "src/tracked.py"]
    assert find("src").files == ["src/new.py", "src/tracked.py"]
    assert find("src/ignored.py").files == ["src/ignored.py"]


def test_default_excludes_hold_in_a_work_tree_too() -> None:
    git("init", "-q")
    write("venv/lib/x.py", "y.py")
    assert find(".").files == ["y.py"]


def test_an_ignored_folder_that_is_asked_for_is_walked() -> None:
    git("init", "-q")
    Path(".gitignore").write_text("/releases/\n")
    write("releases/pkg/x.py", "releases/pkg/build/y.py", "src/z.py")
    git("add", "src")
    assert find("releases").files == ["releases/pkg/x.py"]
    assert find("releases/pkg").files == ["releases/pkg/x.py"]
    assert find(".").files == ["src/z.py"]


def test_files_deleted_in_the_work_tree_are_marked() -> None:
    git("init", "-q")
    write("gone.py", "here.py")
    git("add", ".")
    os.unlink("gone.py")
    found = find(".")
    assert found.files == ["gone.py", "here.py"]
    assert "gone.py" in found.may_be_gone


def test_git_inside_a_hook_of_another_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    git("init", "-q")
    write("a/x.py", "a/ignored.py")
    Path(".gitignore").write_text("ignored.py\n")
    monkeypatch.setenv("GIT_DIR", "/nonexistent")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nonexistent/index")
    assert find("a").files == ["a/x.py"]


def test_nested_repositories_and_submodules_are_entered() -> None:
    write("lib/x.py", "lib/skip.py")
    Path("lib/.gitignore").write_text("skip.py\n")
    git("-C", "lib", "init", "-q")
    git("-C", "lib", "add", ".")
    git("-C", "lib", "commit", "-qm", "lib")
    git("init", "-q")
    write("y.py")
    assert find(".").files == ["lib/x.py", "y.py"]
    Path(".gitmodules").write_text('[submodule "lib"]\n\tpath = lib\n\turl = ./lib\n')
    git("-c", "advice.addEmbeddedRepo=false", "add", ".")
    assert find(".").files == ["lib/x.py", "y.py"]


def test_without_git_the_ignore_files_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a/keep.py", "a/made.py", "a/b/made.py", "a/b/back.py", "c/made.py")
    Path("a/.gitignore").write_text("made.py\nback.py\n")
    Path("a/b/.gitignore").write_text("!back.py\n")
    assert find(".").files == ["a/b/back.py", "a/keep.py", "c/made.py"]
    git("init", "-q")
    monkeypatch.setenv("PATH", "/nonexistent")
    assert find(".").files == ["a/b/back.py", "a/keep.py", "c/made.py"]


@pytest.mark.parametrize(
    ("lines", "read"),
    [
        ("*.so\n__pycache__/\n# *\n\n/target\n!keep.py\n", False),
        ("*.py\n", True),
        ("made\n", True),
        ("/src/made/\n", True),
        ("m?de\n", True),
        ("src/**\n", True),
        ("*\n!src\n", True),
        ("\\made\n", True),
    ],
)
def test_ignore_files_that_name_nothing_here_are_not_studied(
    lines: str, read: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    write("src/made/x.py", "src/y.py")
    Path(".gitignore").write_text(lines)
    studied: list[object] = []
    from_lines = GitIgnoreSpec.from_lines
    monkeypatch.setattr(GitIgnoreSpec, "from_lines", lambda given: studied.append(given) or from_lines(given))
    found = find(".").files
    spec = from_lines(lines.splitlines())
    assert found == [path for path in ("src/made/x.py", "src/y.py") if not spec.match_file(path)]
    assert bool(studied) is read


def test_lines_that_nobody_understands_are_passed_over() -> None:
    write("a.py", "made.py")
    Path(".gitignore").write_text("!\n[z-a]\nx\\\nmade.py\n")
    assert find(".").files == ["a.py"]


@pytest.mark.skipif(sys.platform != "linux", reason="only there a name may be any bytes")
def test_names_that_are_not_unicode_survive() -> None:
    name = os.fsdecode(b"caf\xe9.py")
    write(name)
    assert find(".").files == [name]
    git("init", "-q")
    assert find(".").files == [name]
