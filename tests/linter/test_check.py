"""The core function: files in, report out; in-memory texts, the pool, odd files, the choice of profile."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from moelint.linter import check as check_module
from moelint.linter import options, pool, reading, registry
from moelint.linter.check import Outcome, check, report, run
from moelint.linter.discovery import Excludes, discover
from moelint.linter.errors import ConfigError, UsageError
from moelint.linter.model import Diagnostic, Report
from moelint.linter.plan import Plan, plan_for
from moelint.linter.settings import Settings
from moelint.linter.worker import Worker

BAD = (
    "from sglang import TopK\n\n\nclass Block:\n    def __init__(self, config):\n        self.topk = TopK(\n"
    "            routed_scaling_factor=config.routed_scaling_factor,\n"
    "            apply_routed_scaling_factor_on_output=True,\n        )\n"
)


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def plan(*argv: str) -> Plan:
    return plan_for(options.parse([*argv, "--no-cache"]))


def on(*paths: str, argv: tuple[str, ...] = ()) -> Report:
    return check(paths, plan(*argv))


def write(path: str, text: str | bytes = BAD) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_bytes(text.encode() if isinstance(text, str) else text)


def problems(found: Report) -> list[tuple[str, str]]:
    return [(diagnostic.code, diagnostic.path) for diagnostic in found.diagnostics]


def test_a_report_of_findings() -> None:
    write("src/a.py")
    write("src/b.py", "x = 1\n")
    found = on("src")
    (finding,) = found.findings
    assert (finding.code, finding.name, finding.family) == ("MOE501", "literal-fold-flag", "literals")
    assert (finding.path, finding.region.line, finding.qualname) == ("src/a.py", 8, "Block.__init__")
    assert finding.help and finding.identity
    assert (found.files, found.parsed, found.cached, found.profiles) == (2, 1, 0, ("sglang",))
    assert found.exit_code == 1


def test_what_is_suppressed_is_kept_apart() -> None:
    write("a.py", BAD.replace("=True,", "=True,  # moelint: ignore[MOE501] -- test"))
    found = on("a.py")
    assert found.findings == () and [f.code for f in found.suppressed] == ["MOE501"]
    assert found.exit_code == 0


def test_text_in_memory_stands_for_a_file() -> None:
    write("a.py", "x = 1\n")
    for path in ("a.py", os.path.abspath("a.py"), "./a.py"):
        found = check([path], plan(), {os.path.abspath("a.py"): BAD.encode()})
        assert [(f.code, f.path) for f in found.findings] == [("MOE501", path)]
    assert [f.path for f in check(["new.py"], plan(), {"new.py": BAD.encode()}).findings] == ["new.py"]
    found = check(["."], plan(), {"a.py": BAD.encode()})
    assert [f.path for f in found.findings] == ["a.py"], "an open file in a folder counts as it is edited"


def test_a_missing_path_is_a_usage_error() -> None:
    with pytest.raises(UsageError):
        on("nowhere")


@pytest.mark.parametrize("jobs", [1, 2, 5])
def test_processes_change_nothing(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for index in range(70):
        write(f"src/m{index}.py", BAD.replace("Block", f"Block{index}") if index % 3 else "x = (\n# _scaling_factor")
    alone = run(["src"], plan("-j", "1"))
    monkeypatch.setattr(check_module, "_SEARCH_SHARE", 10)
    monkeypatch.setattr(check_module, "_ANALYSE_SHARE", 2000)
    shared = run(["src"], plan("-j", str(jobs)))
    assert len(alone.records) == 46
    assert (alone.records, alone.files, alone.parsed) == (shared.records, shared.files, shared.parsed)


@pytest.mark.parametrize(
    "argv",
    [(), ("--select", "suppression"), ("--ignore", "MOE501"), ("--profile", "vllm"), ("--profile", "own.toml")],
)
def test_the_search_in_bulk_finds_what_the_plain_one_finds(
    argv: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("own.toml", 'name = "own"\nfactor = ["my_own_word"]\n')
    for number, text in enumerate(
        (BAD, "x = 1\n", "x.my_own_word = 2\n", "# moelint: ignore[x]\n", "reduce = experts")
    ):
        write(f"src/m{number}.py", text)
        write(f"sglang/m{number}.py", text)
    chosen = plan(*argv)
    worker = Worker(chosen, {}, hashing=False)
    for path in discover(["."], Excludes((), ".")).files:
        assert worker.scan_in_bulk(path)[4] == worker.scan(path)[4]
    plain = run(["."], chosen)
    monkeypatch.setattr(check_module, "_MANY", 1)
    assert run(["."], chosen).records == plain.records


def test_small_runs_start_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py")
    monkeypatch.setattr(os, "fork", None)
    monkeypatch.setattr(pool, "processors", lambda: 8)
    assert len(on("a.py").findings) == 1


def test_progress_is_told() -> None:
    write("a.py")
    write("b.py")
    ticks: list[tuple[int, int]] = []
    run(["."], plan(), None, lambda done, total: ticks.append((done, total)))
    assert ticks == [(1, 2), (2, 2)]


def test_files_that_cannot_be_read_are_reported_and_the_others_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py")
    os.symlink("gone", "broken.py")
    write("denied.py")
    write("vanished.py")
    write("large.py", b"# routed_scaling_factor\n" * 20_000)
    write("latin.py", "from sglang import é  # routed_scaling_factor\n".encode("latin-1"))
    write("syntax.py", "from sglang import routed_scaling_factor = (\n")
    monkeypatch.setattr(reading, "MAX_BYTES", 400_000)
    really_open = os.open

    def faulty(path: str, flags: int) -> int:
        if path == "denied.py":
            raise PermissionError(13, "Permission denied", path)
        if path == "vanished.py":
            raise FileNotFoundError(2, "No such file or directory", path)
        return really_open(path, flags)

    monkeypatch.setattr(os, "open", faulty)
    found = on(".")
    assert problems(found) == [
        ("MOE-E007", "broken.py"),
        ("MOE-E006", "denied.py"),
        ("MOE-E005", "large.py"),
        ("MOE-E002", "latin.py"),
        ("MOE-E002", "syntax.py"),
        ("MOE-E008", "vanished.py"),
    ]
    assert [f.path for f in found.findings] == ["a.py"]
    assert found.exit_code == 1
    assert all("\n" not in diagnostic.message and ": " in diagnostic.message for diagnostic in found.diagnostics)


def test_a_file_deleted_from_a_work_tree_is_no_problem() -> None:
    import subprocess

    write("a.py")
    write("gone.py")
    subprocess.run(["git", "init", "-q"], check=True)
    subprocess.run(["git", "add", "."], check=True)
    os.unlink("gone.py")
    found = on(".")
    assert problems(found) == [] and len(found.findings) == 1


def test_a_file_that_grows_while_it_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py", "")
    fstat = os.fstat

    def early(fd: int) -> os.stat_result:
        stat = fstat(fd)
        Path("a.py").write_text(BAD)
        return stat

    monkeypatch.setattr(os, "fstat", early)
    assert len(on("a.py").findings) == 1


def test_a_file_that_does_not_tell_its_size_is_read_and_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    data, stamp = reading.read("/proc/self/status")
    assert stamp[2] == 0 and data.startswith(b"Name:")
    monkeypatch.setattr(reading, "MAX_BYTES", 100)
    with pytest.raises(reading.TooLargeError):
        reading.read("/proc/self/status")


def test_folders_that_cannot_be_listed_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a/x.py")
    write("b/y.py", "x = 1\n")
    scandir = os.scandir

    def faulty(path: str) -> object:
        if path == "b":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    monkeypatch.setattr(os, "scandir", faulty)
    found = on(".")
    assert problems(found) == [("MOE-E010", "b")] and len(found.findings) == 1


def test_a_crash_keeps_all_other_findings_and_ends_with_two(monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.py")
    write("b.py")
    from moelint.rules.literal_fold_flag import LiteralFoldFlag

    real = LiteralFoldFlag.check

    def fragile(self: LiteralFoldFlag, module: object) -> object:
        if module.path.endswith("a.py"):  # type: ignore[attr-defined]
            raise LookupError
        return real(self, module)  # type: ignore[arg-type]

    monkeypatch.setattr(LiteralFoldFlag, "check", fragile)
    found = on(".")
    assert [f.path for f in found.findings] == ["b.py"]
    assert [(d.code, d.path, d.internal) for d in found.diagnostics] == [("MOE-E001", "a.py", True)]
    assert found.exit_code == 2


@pytest.mark.parametrize(
    ("path", "text", "argv", "profile"),
    [
        ("src/a.py", BAD, (), "sglang"),
        ("src/a.py", BAD.replace("from sglang import", "from vllm.x import"), (), "vllm"),
        ("sglang/a.py", BAD.replace("from sglang import", "from vllm.x import"), (), "sglang"),
        ("src/a.py", BAD.replace("from sglang import TopK", ""), (), "sglang"),
        ("src/a.py", "x = c.routed_scaling_factor\n", (), "generic"),
        ("sglang/a.py", BAD, ("--profile", "generic"), "generic"),
        ("sglang/a.py", BAD, ("--profile", "own.toml"), "own"),
    ],
)
def test_the_profile_of_a_file(path: str, text: str, argv: tuple[str, ...], profile: str) -> None:
    write("own.toml", 'name = "own"\nfactor = ["routed_scaling_factor"]\n')
    write(path, text)
    assert on(path, argv=argv).profiles == (profile,)


def test_the_profile_does_not_hang_on_the_current_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    write("python/sglang/srt/a.py", BAD.replace("from sglang import TopK", ""))
    first = on("python")
    monkeypatch.chdir("python/sglang/srt")
    second = on("a.py")
    assert first.profiles == second.profiles == ("sglang",)
    assert [f.code for f in first.findings] == [f.code for f in second.findings]


def test_leaf_modules_are_not_parsed() -> None:
    write("sglang/kernels/k.py", "def k(routed_scaling_factor) return\n")
    chosen = next(rule.code for rule in registry.entries() if "leaf" not in rule.roles)
    found = on(".", argv=(".", "--select", chosen))
    assert (found.files, found.parsed, found.diagnostics) == (1, 0, ())


def test_configuration_files_count() -> None:
    write("pyproject.toml", '[tool.moelint]\nignore = ["literal-fold-flag"]\n')
    write("src/a.py")
    assert on("src", argv=("src",)).findings == ()
    assert len(on("src", argv=("src", "--isolated")).findings) == 1
    assert len(on("src", argv=("src", "--select", "MOE501")).findings) == 1
    write("pyproject.toml", '[tool.moelint]\nper-file-ignores = { "src/**" = ["literals"] }\n')
    assert on("src", argv=("src",)).findings == ()
    write("pyproject.toml", '[tool.moelint]\nseverity = { literals = "note" }\n')
    assert on("src", argv=("src",)).exit_code == 0
    write("pyproject.toml", '[tool.moelint]\nextend-exclude = ["src/a.py"]\n')
    assert on("src", argv=("src",)).files == 0
    write("pyproject.toml", '[tool.moelint]\nignroe = ["x"]\n')
    with pytest.raises(ConfigError, match="ignroe"):
        plan("src")


def test_rules_off_in_a_file_are_not_missed_by_its_suppressions() -> None:
    write("pyproject.toml", '[tool.moelint]\nper-file-ignores = { "a.py" = ["MOE501"] }\n')
    text = BAD.replace("=True,", "=True,  # moelint: ignore[MOE501] -- test")
    write("a.py", text)
    write("b.py", text.replace("=True", "=x"))
    found = on(".", argv=(".",))
    assert [(f.code, f.path) for f in found.findings if f.family == "suppression"] == [("MOE903", "b.py")]


def test_the_plan_without_settings_is_that_of_default_settings() -> None:
    quick, full = Plan(os.getcwd()), Plan(os.getcwd(), Settings(os.getcwd()))
    assert [rule.code for rule in quick.rules] == [rule.code for rule in full.rules]
    for name in (
        "severity",
        "profiles",
        "forced",
        "fallback",
        "exclude",
        "cache_dir",
        "jobs",
        "output",
        "require_reason",
    ):
        assert getattr(quick, name) == getattr(full, name), name
    assert quick.fingerprint() != Plan("/elsewhere").fingerprint()


def test_code_elsewhere_keeps_its_cache_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    write("release/a.py")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    folder = plan_for(options.parse([str(tmp_path / "release")])).cache_dir
    assert folder is not None and folder.startswith(str(tmp_path / "home" / "moelint"))
    assert plan_for(options.parse(["."])).cache_dir == str(tmp_path / "here" / ".moelint_cache")


def test_project_paths(tmp_path: Path) -> None:
    write("src/a.py")
    made = Plan(str(tmp_path))
    expected = {"src/a.py": "src/a.py", str(tmp_path / "x.py"): "x.py", "src/../b.py": "b.py", "../c.py": "../c.py"}
    assert {path: made.project_path(path) for path in expected} == expected
    assert Plan(str(tmp_path / "src")).project_path("b.py") == "../b.py"


def test_reports_are_in_the_order_of_files_and_lines() -> None:
    write("b.py", BAD + BAD.replace("class Block", "class Other"))
    write("a.py")
    found = on("b.py", "a.py")
    assert [(f.path, f.region.line) for f in found.findings if f.code == "MOE501"] == [
        ("b.py", 8),
        ("b.py", 17),
        ("a.py", 8),
    ]


def test_a_run_imports_only_rules_whose_tokens_occur() -> None:
    import subprocess

    write("a.py", "x = 1  # moelint: ignore[nothing-such] -- x\n")
    code = (
        "import sys; from moelint.linter import check, options, plan\n"
        "o = options.parse(['a.py', '--no-cache']); r = check.run(o.paths, plan.plan_for(o))\n"
        "assert [row[4] for row in r.records[0][1][0]] == ['MOE902']\n"
        "print([m for m in sys.modules if m.startswith('moelint.rules.') and m != 'moelint.rules._index'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
    assert len(registry.entries()) > 10


def test_diagnostics_alone_fail_the_run() -> None:
    outcome = Outcome()
    outcome.records.append(("a.py", ((), (), (("MOE-E006", 3, "text", False),), False)))
    assert report(outcome).diagnostics == (Diagnostic("MOE-E006", "a.py", 3, "text"),)
    assert report(outcome).exit_code == 1
