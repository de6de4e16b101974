"""`--diff-base`: in a real repository, with everything that git can put into a diff."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter.changed import Changes, files_of
from moelint.linter.cli import main
from moelint.linter.errors import UsageError

HEAD = "class Block:\n    factor = 1\n"
METHOD = """
    def {name}(self, x):
        y = self.experts(x, self.topk(x))
        y *= self.routed_scaling_factor
        return y
"""
GUARDED = """
    def guarded(self, x):
        fused = is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)
        # one
        # two
        # three
        y = self.experts(x, self.topk(x))
        if not fused:
            y *= self.routed_scaling_factor
        return y
"""


def git(*arguments: str, folder: Path | None = None) -> str:
    options = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *options, *arguments], check=True, capture_output=True, cwd=folder)
    return os.fsdecode(done.stdout).strip()


def text(*names: str, guarded: str = "") -> str:
    return HEAD + "".join(METHOD.format(name=name) for name in names) + guarded


@pytest.fixture
def repo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two files with old findings on main, the current branch is another one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "moelint.toml").write_text('profile = "sglang"\nselect = ["epilogue", "guards"]\n')
    (tmp_path / ".gitignore").write_text(".moelint_cache\nignored.py\n")
    (tmp_path / "a.py").write_text(text("f", "g", guarded=GUARDED))
    (tmp_path / "b.py").write_text(text("f"))
    git("init", "-q", "-b", "main")
    git("add", ".")
    git("commit", "-q", "-m", "base")
    git("checkout", "-q", "-b", "work")
    return tmp_path


def places(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    """Where `check --diff-base main` reports something."""
    capsys.readouterr()
    code = main(["check", "--diff-base", "main", *arguments])
    found = [line.split(": ")[0].rsplit(":", 1)[0] for line in capsys.readouterr().out.splitlines()]
    assert code == int(bool(found))
    return found


def test_without_changes_nothing_counts(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check"]) == 1
    assert places(capsys) == []


def test_a_changed_line_and_a_new_file_count(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "a.py").write_text(text("f", "new", "g", guarded=GUARDED))
    (repo / "c.py").write_text(text("f"))
    (repo / "ignored.py").write_text(text("f"))
    assert places(capsys) == ["a.py:11", "c.py:6"]
    git("add", ".")
    assert places(capsys) == ["a.py:11", "c.py:6"]
    git("commit", "-q", "-m", "work")
    assert places(capsys) == ["a.py:11", "c.py:6"]
    assert places(capsys, "b.py") == []


def test_what_came_to_the_base_since_does_not_count(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "c.py").write_text(text("f"))
    git("add", ".")
    git("commit", "-q", "-m", "work")
    git("checkout", "-q", "main")
    (repo / "b.py").write_text(text("x", "f"))
    git("commit", "-q", "-a", "-m", "others")
    git("checkout", "-q", "work")
    assert places(capsys) == ["c.py:6"]
    git("merge", "-q", "--no-edit", "main")
    assert places(capsys) == ["c.py:6"]


def test_a_move_alone_brings_nothing_and_a_change_in_it_counts(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "sub").mkdir()
    git("mv", "a.py", "sub/ä b.py")
    assert places(capsys) == []
    (repo / "sub" / "ä b.py").write_text(text("f", "g", "new", guarded=GUARDED))
    assert places(capsys) == ["sub/ä b.py:16"]


def test_what_was_taken_out_above_may_be_the_cause(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The scale itself and its neighbours are as they were: only the line that asked is another."""
    broken = GUARDED.replace("is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)", "_is_cuda")
    (repo / "a.py").write_text(text("f", "g", guarded=broken))
    assert places(capsys) == ["a.py:21"]
    gone = GUARDED.replace("        if not fused:\n    ", "").replace("            y *=", "        y *=")
    (repo / "a.py").write_text(text("f", "g", guarded=gone))
    assert places(capsys) == ["a.py:20"]


def test_a_removed_suppression_is_a_change(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    muted = text("f").replace("        y *=", "        # moelint: ignore[MOE301] -- why\n\n\n        y *=")
    (repo / "b.py").write_text(muted)
    git("commit", "-q", "-a", "-m", "mute")
    git("branch", "-f", "main")
    (repo / "b.py").write_text(muted.replace("        # moelint: ignore[MOE301] -- why\n", ""))
    assert places(capsys) == ["b.py:8"]


def test_a_related_place_in_the_diff_counts(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    split = text("f").replace(
        "        y *= self.routed_scaling_factor", "        s = self.routed_scaling_factor\n        y *= s"
    )
    (repo / "b.py").write_text(split)
    git("commit", "-q", "-a", "-m", "split")
    git("branch", "-f", "main")
    (repo / "b.py").write_text(split.replace("s = self", "s = 1.0 * self"))
    capsys.readouterr()
    main(["check", "-o", "json", "b.py"])
    import json

    [item] = json.loads(capsys.readouterr().out)["findings"]
    assert {place["region"]["line"] for place in item["related"]} == {6}
    assert item["region"]["line"] == 7
    assert places(capsys) == ["b.py:7"]


def test_from_a_folder_below_and_about_a_repository_elsewhere(
    repo: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    (repo / "sub").mkdir()
    (repo / "sub" / "c.py").write_text(text("f"))
    monkeypatch.chdir(repo / "sub")
    assert places(capsys) == ["c.py:6"]
    assert places(capsys, "..") == ["../sub/c.py:6"]
    monkeypatch.chdir(tmp_path_factory.mktemp("elsewhere"))
    assert places(capsys, str(repo)) == [f"{repo}/sub/c.py:6"]
    assert places(capsys, str(repo / "b.py")) == []


def test_what_does_not_parse_counts_where_it_changed(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repo / "b.py").write_text(text("f") + "def (:\n")
    git("commit", "-q", "-a", "-m", "break")
    git("branch", "-f", "main")
    assert places(capsys) == []
    (repo / "b.py").write_text("\n" + text("f") + "def (:\n")
    assert places(capsys) == ["b.py:9"]


def test_the_baseline_comes_first(repo: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["baseline", "create", "--baseline", "old.jsonl"])
    (repo / "a.py").write_text(
        text("f", "new", "g", guarded=GUARDED).replace("y = self.experts", "z = y = self.experts")
    )
    assert places(capsys, "--baseline", "old.jsonl") == ["a.py:11"]


@pytest.mark.parametrize(
    ("ref", "words"),
    [("nonsense", "git knows no such commit"), ("--all", "git knows no such commit"), ("HEAD:b.py", "no such commit")],
)
def test_a_reference_that_is_none_is_an_error(
    repo: Path, ref: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in ("a.py", "moelint.toml"):
        assert main(["check", f"--diff-base={ref}", path]) == 2
        assert words in capsys.readouterr().err


def test_a_shallow_clone_is_told_what_it_lacks(repo: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    git("commit", "-q", "--allow-empty", "-m", "more")
    clone = tmp_path_factory.mktemp("clone")
    git("clone", "-q", "--depth=1", "--no-single-branch", f"file://{repo}", str(clone))
    git("checkout", "-q", "work", folder=clone)
    with pytest.raises(UsageError, match="no common history"):
        Changes.since("origin/main", str(clone))
    git("fetch", "-q", "--unshallow", folder=clone)
    assert not Changes.since("origin/main", str(clone)).has(str(clone / "a.py"))


def test_without_git_there_is_a_clear_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(text("f"))
    assert main(["check", "--diff-base", "main"]) == 2
    assert "is in no git work tree" in capsys.readouterr().err
    git("init", "-q")
    monkeypatch.setenv("PATH", "")
    assert main(["check", "--diff-base", "main"]) == 2
    assert "is in no git work tree, or git is not there" in capsys.readouterr().err


ODD_LINES = st.sampled_from(
    [
        b"x",
        b"y",
        b"",
        b"-- a/x",
        b"++ b/x",
        b"-- /dev/null",
        b"@ -1 +1 @@",
        b"@@ -1,2 +3,4 @@",
        b"\\ No newline",
        b"\r",
        b"\x0c",
    ]
)
ODD_NAMES = [
    b"plain.py",
    b"two words.py",
    b'qu"ote.py',
    b"tab\there.py",
    b"line\nbreak.py",
    b"\xff\xfe.py",
    "ä.py".encode(),
    b"a\\b.py",
]
texts = st.tuples(st.lists(ODD_LINES, max_size=8), st.booleans()).map(lambda t: b"\n".join(t[0]) + b"\n" * t[1])


@given(st.dictionaries(st.sampled_from(ODD_NAMES), st.tuples(texts, texts), min_size=1, max_size=3))
@settings(max_examples=40, deadline=None)
def test_every_diff_is_read_right(files: dict[bytes, tuple[bytes, bytes]]) -> None:
    """The lines outside the changes are lines of the old text, in order, and no name is misread."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(os.path.realpath(name))
        git("init", "-q", folder=root)
        git("config", "core.autocrlf", "false", folder=root)
        for path, (old, _) in files.items():
            (root / os.fsdecode(path)).write_bytes(old)
        git("add", ".", folder=root)
        git("commit", "-q", "-m", "old", folder=root)
        for path, (_, new) in files.items():
            (root / os.fsdecode(path)).write_bytes(new)
        changes = Changes.since("HEAD", str(root))
        for path, (old, new) in files.items():
            full = str(root / os.fsdecode(path))
            assert changes.has(full) is (old != new)
            assert changes.old_text(full) == (old if old != new else None)
            touched = {line for lines in changes._lines.get(full, []) for line in lines}
            before, after = (content.removesuffix(b"\n").split(b"\n") for content in (old, new))
            rest = iter(before)
            assert all(any(line == other for other in rest) for n, line in enumerate(after, 1) if n not in touched)


def test_a_hunk_header_in_the_text_is_text() -> None:
    diff = (
        b"diff --git a/m.py b/m.py\n--- a/m.py\n+++ b/m.py\n@@ -1,2 +1,2 @@ class A:\n--- a/z.py\n-x\n+++ b/z.py\n+y\n"
        b"\\ No newline at end of file\n@@ -9 +8,0 @@\n-gone\n"
        b"diff --git a/d.py b/d.py\ndeleted file mode 100644\n--- a/d.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n"
        b'--- /dev/null\n+++ "b/\\303\\244\\t\\"\\\\.py"\n@@ -0,0 +1 @@\n+x\n'
    )
    assert list(files_of(diff)) == [
        (b"m.py", b"m.py", [range(1, 3), range(8, 10)]),
        (None, 'ä\t"\\.py'.encode(), [range(1, 2)]),
    ]


def test_a_run_without_it_does_not_import_it(repo: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "moelint", "check", "a.py"]
    assert "moelint.linter.changed" not in subprocess.run(command, capture_output=True, text=True).stderr
