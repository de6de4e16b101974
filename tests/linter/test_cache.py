"""The cache changes nothing but the time: after edits, with other options, damaged, or out of reach."""

from __future__ import annotations

import os
import random
import shutil
from pathlib import Path

import pytest

from moelint.linter import cache as cache_module
from moelint.linter import check, options, reading
from moelint.linter.cache import Cache
from moelint.linter.check import Outcome
from moelint.linter.plan import plan_for

OLD = 1_600_000_000_000_000_000
BAD = (
    "from sglang import TopK\n\n\nclass Block:\n    def __init__(self, config):\n        self.topk = TopK(\n"
    "            routed_scaling_factor=config.routed_scaling_factor,\n"
    "            apply_routed_scaling_factor_on_output=True,\n        )\n"
)
GOOD = BAD.replace("=True", "=self.experts.should_fuse_routed_scaling_factor_in_topk")
BROKEN = BAD.replace("class Block:", "class Block")
HIDDEN = BAD.replace("=True,", "=True,  # moelint: ignore[literal-fold-flag] -- test")
PLAIN = "x = 1\n"
OPTIONS = (
    ("--select", "guards"),
    ("--ignore", "literal-fold-flag"),
    ("--ignore", "suppression"),
    ("--profile", "generic"),
    ("--profile", "vllm"),
    ("--config", "plain.toml"),
    ("--config", "strict.toml"),
    ("--config", "mild.toml"),
    ("--config", "partly.toml"),
)
KINDS = (BAD, GOOD, BROKEN, HIDDEN, PLAIN)


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(check, "_MANY", 1)


def write(path: str, text: str, mtime: int = OLD) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)
    os.utime(path, ns=(mtime, mtime))


def settle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let files count as unchanged for long, although their change times cannot be set back."""
    monkeypatch.setattr(reading, "_RECENT", -(10**18))


def tree() -> None:
    for index in range(20):
        write(f"src/m{index}.py", KINDS[index % len(KINDS)])


def run(*argv: str) -> Outcome:
    chosen = options.parse(["src", *argv])
    return check.run(chosen.paths, plan_for(chosen))


def same(first: Outcome, second: Outcome) -> bool:
    return (first.records, first.files, first.profiles) == (second.records, second.files, second.profiles)


def test_a_second_run_answers_from_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    cold, warm = run(), run()
    assert cold.records and same(cold, warm)
    assert (cold.parsed, cold.cached) == (16, 0)
    assert (warm.parsed, warm.cached) == (0, 20)


def test_unchanged_files_are_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    cold = run()
    monkeypatch.setattr(reading, "read", None)
    assert same(run(), cold)


def test_the_folder_says_what_it_is() -> None:
    tree()
    run()
    assert Path(".moelint_cache/CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f06886806bc55\n")
    assert Path(".moelint_cache/.gitignore").read_text() == "*\n"


def test_no_cache_and_another_folder() -> None:
    tree()
    run("--no-cache")
    assert not Path(".moelint_cache").exists()
    run("--cache-dir", "elsewhere/deep")
    assert not Path(".moelint_cache").exists()
    assert len(list(Path("elsewhere/deep").glob("results-*"))) == 1


def test_an_edit_of_the_same_size_and_time_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    write("src/a.py", BAD)
    assert len(run().records) == 1
    edited = BAD.replace("=True,", "=flag,")
    assert len(edited) == len(BAD)
    write("src/a.py", edited)
    assert os.stat("src/a.py").st_mtime_ns == OLD
    assert same(run(), run("--no-cache"))


def test_files_that_have_just_changed_are_read_again() -> None:
    write("src/a.py", BAD)
    assert (run().cached, run().cached) == (0, 1)
    stamped = [entry[0] for entry in _entries().values()]
    assert stamped == [None], "its stamp may not be trusted yet"


def test_touched_files_are_known_by_their_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    cold = run()
    for path in Path("src").iterdir():
        os.utime(path, ns=(OLD + 5, OLD + 5))
    touched = run()
    assert same(cold, touched)
    assert (touched.parsed, touched.cached) == (0, 16)
    assert run().cached == 20


def test_a_moved_project_keeps_its_answers_and_their_paths(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    tree()
    run()
    shutil.copytree(tmp_path, tmp_path.parent / f"{tmp_path.name}-moved")
    monkeypatch.chdir(tmp_path.parent / f"{tmp_path.name}-moved")
    assert same(run(), run("--no-cache"))


@pytest.mark.parametrize("argv", OPTIONS)
def test_other_options_have_other_answers(argv: tuple[str, ...]) -> None:
    _configured_tree()
    run()
    for _ in range(2):
        assert same(run(*argv), run(*argv, "--no-cache"))
    assert same(run(), run("--no-cache"))


def test_runs_with_many_options_share_a_folder() -> None:
    _configured_tree()
    for argv in OPTIONS * 2:
        assert same(run(*argv), run(*argv, "--no-cache")), argv


def _configured_tree() -> None:
    tree()
    write("src/unreasoned.py", HIDDEN.replace(" -- test", ""))
    Path("plain.toml").write_text("")
    Path("strict.toml").write_text("require-reason = true\n")
    Path("mild.toml").write_text('severity = { all = "note" }\n')
    Path("partly.toml").write_text('per-file-ignores = { "src/m0.py" = ["all"] }\n')


def test_files_that_are_gone_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    run()
    os.unlink("src/m1.py")
    write("src/m2.py", PLAIN)
    run()
    assert "src/m2.py" in _entries() and "src/m1.py" not in _entries()


def test_another_folder_asked_for_does_not_lose_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    write("lib/x.py", BAD)
    run()
    chosen = options.parse(["lib"])
    assert len(check.run(chosen.paths, plan_for(chosen)).records) == 1
    assert run().cached == 20


def test_random_edits_never_make_a_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    dice = random.Random(7)
    for _ in range(12):
        for _ in range(3):
            path = f"src/m{dice.randrange(24)}.py"
            deed = dice.randrange(4)
            if deed == 0 and os.path.exists(path):
                os.unlink(path)
            elif deed == 1 and os.path.exists(path):
                os.utime(path, ns=(OLD + dice.randrange(9), OLD))
            else:
                write(path, dice.choice(KINDS), OLD + dice.randrange(3))
        assert same(run(), run("--no-cache"))


@pytest.mark.parametrize("damage", ["empty", "cut", "flipped", "text", "other", "folder", "shape"])
def test_a_damaged_cache_does_no_harm(damage: str) -> None:
    tree()
    cold = run()
    (file,) = Path(".moelint_cache").glob("results-*")
    content = file.read_bytes()
    if damage == "folder":
        file.unlink()
        file.mkdir()
    elif damage == "shape":
        import marshal

        body = marshal.dumps([1, 2, 3])
        file.write_bytes(content[:16] + cache_module.digest(body) + body)
    else:
        flipped = content[:-40] + bytes([content[-40] ^ 1]) + content[-39:]
        file.write_bytes(
            {"empty": b"", "cut": content[:-9], "flipped": flipped, "text": b"hello\n", "other": content[20:]}[damage]
        )
    again = run()
    assert same(cold, again) and again.cached == 0


def test_a_folder_that_cannot_be_made_does_no_harm() -> None:
    tree()
    Path("file").write_text("")
    cold = run("--no-cache")
    assert same(run("--cache-dir", "file/below"), cold)
    assert same(run("--cache-dir", "/proc/none"), cold)


def test_a_cache_of_another_key_is_not_believed(tmp_path: Path) -> None:
    write("a.py", PLAIN)
    first = Cache(str(tmp_path / "c"), str(tmp_path), b"key")
    first.store("a.py", (None, b"h", "generic", None))
    first.save()
    (file,) = (tmp_path / "c").glob("results-*")
    second = Cache(str(tmp_path / "c"), str(tmp_path), b"other")
    file.rename(second._file)
    assert second.by_content("a.py", b"h") is None
    assert Cache(str(tmp_path / "c"), str(tmp_path), b"key").by_content("a.py", b"h") is None
    shutil.copy(second._file, file)
    assert Cache(str(tmp_path / "c"), str(tmp_path), b"key").by_content("a.py", b"h") is not None


def test_results_of_few_option_sets_are_kept(tmp_path: Path) -> None:
    write("a.py", PLAIN)
    for number in range(9):
        made = Cache(str(tmp_path / "c"), str(tmp_path), str(number).encode())
        made.store("a.py", (None, b"h", "generic", None))
        made.save()
    assert len(list((tmp_path / "c").glob("results-*"))) == 5


def test_nothing_is_written_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    tree()
    run()
    (file,) = Path(".moelint_cache").glob("results-*")
    before = file.stat().st_ino
    run()
    assert file.stat().st_ino == before


def test_the_code_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    first = cache_module.key_of("x")
    assert cache_module.key_of("x") == first != cache_module.key_of("y")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "new_rule.py").write_text("")
    monkeypatch.setattr("moelint.rules.__path__", [str(tmp_path / "rules")])
    assert cache_module.key_of("x") != first


def test_a_file_that_changes_between_search_and_analysis_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch)
    write("src/a.py", BAD)
    unknown = check._Run._unknown

    def edit(self: check._Run, hits: list[object]) -> list[object]:
        write("src/a.py", GOOD, OLD + 1)
        return unknown(self, hits)  # type: ignore[arg-type,return-value]

    monkeypatch.setattr(check._Run, "_unknown", edit)
    assert run().records == []
    monkeypatch.setattr(check._Run, "_unknown", unknown)
    again = run()
    assert again.records == [] and again.cached == 1


def _entries() -> dict[str, tuple[object, ...]]:
    (file,) = Path(".moelint_cache").glob("results-*")
    import marshal

    entries: dict[str, tuple[object, ...]] = marshal.loads(file.read_bytes()[32:])[1]
    return entries
