"""The baseline: what it covers after edits, moves and merges, and that it lets nothing new in."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter import baseline, check, ratchet
from moelint.linter.baseline import Entry, Key, Verdict
from moelint.linter.errors import ConfigError
from moelint.linter.model import Diagnostic, Finding, Region, Report
from moelint.linter.options import parse
from moelint.linter.plan import plan_for

FILE = baseline.DEFAULT
SCALE = "{y} *= self.routed_scaling_factor"
ALONE = "{y} = {y} * self.routed_scaling_factor"
QUOTED = "{y} = {y} .mul( self.routed_scaling_factor , out= self.buffers['a'] )"
WRONG = (SCALE, ALONE, QUOTED)


class Method:
    """A method with wrong statements, each found once."""

    def __init__(self, name: str, statements: tuple[str, ...], *, arg: str = "x", noise: int = 0) -> None:
        self.name = name
        self.statements = statements
        self.arg = arg
        self.noise = noise

    def text(self) -> str:
        lines = [f"    def {self.name}(self, {self.arg}):"]
        lines += [f"        # line {number}" for number in range(self.noise)]
        lines += [f"        y = self.experts({self.arg}, self.topk({self.arg}))"]
        lines += [f"        {statement.format(y='y')}" for statement in self.statements]
        return "\n".join([*lines, "        return y", ""])


def module(methods: list[Method], *, name: str = "Block", above: int = 0) -> str:
    head = "".join(f"import module{number}  # noqa\n\n" for number in range(above))
    return f"{head}class {name}:\n" + "\n".join(method.text() for method in methods or [Method("nothing", ())])


statements = st.lists(st.sampled_from(WRONG), min_size=0, max_size=3).map(tuple)
methods = st.lists(st.sampled_from("abcd"), max_size=3, unique=True).flatmap(
    lambda names: st.tuples(*(st.builds(Method, st.just(f"forward_{name}"), statements) for name in names)).map(list)
)
trees = st.dictionaries(st.sampled_from(["m1.py", "m2.py", "sub/m3.py"]), methods, min_size=1)


@contextmanager
def folder(files: dict[str, str]) -> Iterator[Path]:
    """A temporary folder with these files, which is the current one."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        try:
            put(files)
            yield Path(name)
        finally:
            os.chdir(before)


def put(files: dict[str, str]) -> None:
    for path, text in files.items():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(text)


def run(*paths: str) -> ratchet.Run:
    plan = plan_for(
        parse(["--isolated", "--no-cache", "--jobs", "1", "--profile", "sglang", "--select", "MOE301", *paths])
    )
    asked = paths or (".",)
    outcome = check.run(asked, plan)
    return ratchet.Run(plan, asked, outcome.paths, check.report(outcome))


def create() -> tuple[Entry, ...]:
    return baseline.entries_of(run().report.findings, os.getcwd())


def verdict(*paths: str) -> Verdict:
    return run(*paths).compare(FILE)


def reformat() -> None:
    subprocess.run([sys.executable, "-m", "ruff", "format", "--isolated", "-q", "--line-length", "40", "."], check=True)


def test_the_wrong_statements_are_findings() -> None:
    with folder({"m.py": module([Method("f", WRONG)])}):
        assert sum(entry.allowed for entry in create()) == len(WRONG)


@given(trees)
@settings(max_examples=40, deadline=None)
def test_it_covers_exactly_what_it_was_made_of(tree: dict[str, list[Method]]) -> None:
    with folder({path: module(m) for path, m in tree.items()}):
        entries = create()
        baseline.write(FILE, entries)
        assert baseline.read(FILE) == entries
        found = verdict()
        assert (found.new, found.stale, found.moved) == ((), (), ())
        assert found.entries == entries
        assert baseline.is_current(FILE, entries)
        assert sum(e.allowed for e in entries) == sum(len(m.statements) for ms in tree.values() for m in ms)


@given(trees, st.integers(0, 4), st.integers(0, 3), st.sampled_from(["x", "inputs", "h0"]), st.booleans())
@settings(max_examples=40, deadline=None)
def test_edits_elsewhere_and_reformatting_change_nothing(
    tree: dict[str, list[Method]], above: int, noise: int, arg: str, ruff: bool
) -> None:
    """Lines above, comments inside, a parameter renamed that is not part of the statement, ruff's format."""
    with folder({path: module(m) for path, m in tree.items()}):
        before = create()
        baseline.write(FILE, before)
        edited = {path: [Method(m.name, m.statements, arg=arg, noise=noise) for m in ms] for path, ms in tree.items()}
        put({path: module(ms, above=above) for path, ms in edited.items()})
        if ruff:
            reformat()
        found = verdict()
        assert (found.new, found.stale, found.moved) == ((), (), ())
        assert found.entries == before


@given(trees, trees)
@settings(max_examples=40, deadline=None)
def test_what_is_new_counts_and_what_is_gone_is_stale(
    before: dict[str, list[Method]], after: dict[str, list[Method]]
) -> None:
    """Per function and statement, whatever the edit: no more is covered than there was."""
    with folder({path: module(m) for path, m in before.items()}):
        old = {e.key: e.allowed for e in create()}
        baseline.write(FILE, create())
        for path in before.keys() - after.keys():
            Path(path).write_text("")  # emptied, not gone: nothing may move out of it
        put({path: module(m) for path, m in after.items()})
        now = {e.key: e.allowed for e in create()}
        found = verdict()
        assert len(found.new) + len(found.excused) == sum(now.values())
        assert sum(e.allowed for e in found.entries) == len(found.excused) <= sum(old.values())
        assert sum(e.allowed for e in found.stale) == sum(old.values()) - len(found.excused)
        for key, count in now.items():
            kept = sum(e.allowed for e in found.entries if e.key == key)
            assert min(count, old.get(key, 0)) <= kept <= count
        baseline.write(FILE, found.entries)
        again = verdict()
        assert (again.stale, again.moved, len(again.new)) == ((), (), len(found.new))


@given(methods, methods, st.booleans())
@settings(max_examples=25, deadline=None)
def test_a_move_with_git_takes_the_entries_along(moved: list[Method], others: list[Method], ruff: bool) -> None:
    with folder({"old/a.py": module(moved), "b.py": module(others)}):
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], check=True)
        before = create()
        baseline.write(FILE, [entry._replace(reason=f"because of {entry.key.path}") for entry in before])
        os.makedirs("new/deep")
        subprocess.run(["git", "mv", "old/a.py", "new/deep/c.py"], check=True)
        if ruff:
            reformat()
        for found in (verdict(), verdict("new/deep/c.py")):
            assert (found.new, found.stale) == ((), ())
            assert len(found.moved) == sum(len(m.statements) for m in moved)
        baseline.write(FILE, found.entries)
        assert [entry._replace(reason="") for entry in baseline.read(FILE)] == list(create())
        reasons = {entry.reason for entry in baseline.read(FILE) if entry.key.path == "new/deep/c.py"}
        assert reasons <= {"because of old/a.py"}


def test_a_copy_beside_the_original_is_new() -> None:
    text = module([Method("f", (SCALE,))])
    with folder({"a.py": text}):
        baseline.write(FILE, create())
        put({"b.py": text})
        assert [finding.path for finding in verdict().new] == ["b.py"]


def test_nothing_moves_out_of_a_file_that_is_still_there() -> None:
    """Else one could write anew, in another file, what was repaired here."""
    with folder({"a.py": module([Method("f", (SCALE,))]), "b.py": ""}):
        baseline.write(FILE, create())
        put({"a.py": module([]), "b.py": module([Method("f", (SCALE,))])})
        found = verdict()
        assert ([f.path for f in found.new], found.moved, len(found.stale)) == (["b.py"], (), 1)


def test_of_two_copies_of_a_file_that_is_gone_one_is_new() -> None:
    text = module([Method("f", (SCALE,))])
    with folder({"a.py": text}):
        baseline.write(FILE, create())
        os.unlink("a.py")
        put({"b.py": text, "c.py": text})
        found = verdict()
        assert (len(found.new), len(found.moved), found.stale) == (1, 1, ())


@pytest.mark.parametrize("after", [[Method("g", (SCALE,))], [Method("f", ()), Method("g", (SCALE,))]])
def test_a_renamed_function_keeps_its_entry(after: list[Method]) -> None:
    with folder({"a.py": module([Method("f", (SCALE,))])}):
        baseline.write(FILE, create())
        put({"a.py": module(after, name="Renamed")})
        found = verdict()
        assert (found.new, found.stale, len(found.moved)) == ((), (), 1)
        [entry] = found.entries
        assert entry.key.qualname == "Renamed.g"


def test_a_second_one_of_the_same_in_another_function_is_new() -> None:
    with folder({"a.py": module([Method("f", (SCALE,))])}):
        baseline.write(FILE, create())
        put({"a.py": module([Method("f", (SCALE,)), Method("g", (SCALE,))])})
        assert [finding.qualname for finding in verdict().new] == ["Block.g"]


def merged(base: str, ours: str, theirs: str, *, union: bool) -> tuple[str, bool]:
    """What git makes of the three texts, and whether without a conflict."""
    for name, text in (("base", base), ("ours", ours), ("theirs", theirs)):
        Path(f".{name}").write_text(text)
    command = ["git", "merge-file", "-p", *(["--union"] if union else []), ".ours", ".base", ".theirs"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert 0 <= done.returncode < 128
    return done.stdout, done.returncode == 0


branches = st.lists(st.sampled_from("abcdef"), unique=True)


@given(st.lists(st.sampled_from("abcdef"), unique=True), branches, branches, st.booleans())
@settings(max_examples=40, deadline=None)
def test_two_branches_merge_line_by_line(base: list[str], ours: list[str], theirs: list[str], union: bool) -> None:
    """Functions are fixed and added on two branches, each with its own baseline; then git merges files and lines."""

    def tree(names: set[str]) -> dict[str, str]:
        return {f"{n}.py": module([Method("f", (SCALE, ALONE))] if n in names else []) for n in "abcdef"}

    with folder(tree(set(base))):
        texts = []
        for names in (base, ours, theirs):
            put(tree(set(names)))
            texts.append(baseline.render(create()))
        kept = {n for n in base if n in ours and n in theirs}
        put(tree(kept | (set(ours) - set(base)) | (set(theirs) - set(base))))
        text, clean = merged(*texts, union=union)
        Path(FILE).write_text(text)
        if not clean:
            with pytest.raises(ConfigError, match="an unresolved merge"):
                baseline.read(FILE)
            return
        found = verdict()
        assert found.new == ()
        if not union:
            assert found.stale == ()
        baseline.write(FILE, found.entries)
        assert baseline.read(FILE) == create()


def test_counts_of_a_merge_are_not_added_up() -> None:
    key = Key("a.py", "MOE301", "f", "00")
    entries = (Entry(key, 2), Entry(key, 3, "why"), Entry(key, 1, "other"))
    assert baseline.joined(entries) == (Entry(key, 3, "why"),)
    assert baseline.summed(entries) == (Entry(key, 6),)


def test_one_entry_is_one_line_without_line_numbers_or_times() -> None:
    with folder({"b.py": module([Method("f", WRONG)]), "a.py": module([Method("g", (SCALE, SCALE))])}):
        lines = baseline.render(entry._replace(reason="old") for entry in create()).splitlines()
        assert lines[0] == '{"moelint-baseline": 1}'
        assert lines[1].startswith('{"path": "a.py", "code": "MOE301", "in": "Block.g", "statement": "')
        assert lines[1].endswith('", "count": 2, "reason": "old"}')
        assert lines == sorted(lines, key=lambda line: (line != lines[0], line))
        put({"b.py": module([Method("f", WRONG, noise=5)], above=7)})
        assert baseline.render(entry._replace(reason="old") for entry in create()).splitlines() == lines


def test_a_path_that_is_not_utf8_comes_back() -> None:
    entry = Entry(Key(os.fsdecode(b"a\xff.py"), "MOE301", "f", "00"), 1, "日本")
    with folder({}):
        baseline.write(FILE, [entry])
        assert Path(FILE).read_bytes().isascii()
        assert baseline.read(FILE) == (entry,)


FINDING = Finding("MOE301", "n", "f", "error", "a.py", Region(1, 1, 1, 2), "m", "h", "f", (), "0" * 32)


def test_notes_neither_fill_nor_use_a_baseline() -> None:
    note = replace(FINDING, severity="note")
    assert baseline.entries_of([note], "/") == ()
    [entry] = baseline.entries_of([FINDING], os.getcwd())
    found = baseline.compare([note], [entry], os.getcwd(), lambda key: True)
    assert (found.new, found.excused, found.stale) == ((note,), (), (entry,))


@pytest.mark.parametrize(
    ("asked", "files", "failed", "path", "judged"),
    [
        ((".",), ("a.py",), (), "a.py", True),
        ((".",), ("a.py",), ("a.py",), "a.py", False),
        ((".",), ("a.py",), ("sub",), "sub/b.py", False),
        ((".",), ("a.py",), (), "sub/b.py", True),
        (("a.py",), ("a.py",), (), "sub/b.py", False),
        (("a.py",), ("a.py",), (), "gone.py", True),
        (("sub",), ("sub/b.py",), (), "a.py", False),
    ],
)
def test_an_entry_is_stale_only_if_the_run_would_have_found_it(
    asked: tuple[str, ...], files: tuple[str, ...], failed: tuple[str, ...], path: str, judged: bool
) -> None:
    with folder({"a.py": "", "sub/b.py": ""}):
        plan = plan_for(parse(["--isolated"]))
        report = Report((), tuple(Diagnostic("MOE-E002", f, 1, "m") for f in failed), (), 1, 1, 0)
        baseline.write(FILE, [Entry(Key(path, "MOE301", "f", "00"), 1), Entry(Key(path, "MOE999", "f", "00"), 1)])
        found = ratchet.Run(plan, asked, files, report).compare(FILE)
        assert [entry.key.code for entry in found.stale] == (["MOE301"] if judged else [])
        assert len(found.entries) == (1 if judged else 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1: expected"),
        ("[]\n", "line 1: expected"),
        ('{"moelint-baseline": 2}\n', "line 1: expected"),
        ('{"moelint-baseline": 1}\nx\n', "line 2: expected a JSON object"),
        ('{"moelint-baseline": 1}\n{"path": "a"}\n', "line 2: expected 'code' to be text"),
        ('{"moelint-baseline": 1}\n<<<<<<< ours\n=======\n', "line 3: an unresolved merge"),
        ("\udcff", "not UTF-8 at byte 0"),
    ],
)
def test_what_is_no_baseline_is_refused_with_its_line(text: str, words: str) -> None:
    with folder({}):
        Path(FILE).write_bytes(os.fsencode(text))
        with pytest.raises(ConfigError) as caught:
            baseline.read(FILE)
        assert words in str(caught.value)
        assert str(caught.value).startswith(f"{FILE}: ")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"count": 0}, "'count' to be 1 or more"),
        ({"count": True}, "expected 'count' to be a number"),
        ({"count": "1"}, "expected 'count' to be a number"),
        ({"line": 3}, "unknown key 'line'"),
        ({"reason": 1}, "'reason' to be text"),
    ],
)
def test_entries_are_checked(change: dict[str, object], words: str) -> None:
    import json

    data = {"path": "a", "code": "MOE301", "in": "f", "statement": "0", "count": 1, **change}
    with folder({FILE: f'{{"moelint-baseline": 1}}\n{json.dumps(data)}\n'}), pytest.raises(ConfigError, match=words):
        baseline.read(FILE)
