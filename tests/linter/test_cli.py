"""The door: options, exit codes, standard input, interruptions, and what a run that finds nothing may import."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import moelint.linter
import moelint.rules
from moelint.linter import check as check_module
from moelint.linter import cli, options
from moelint.linter.errors import UsageError
from moelint.linter.model import Report
from moelint.linter.report.summary import summary_line

BAD = (
    "from sglang import TopK\n\n\nclass Block:\n    def __init__(self, config):\n        self.topk = TopK(\n"
    "            routed_scaling_factor=config.routed_scaling_factor,\n"
    "            apply_routed_scaling_factor_on_output=True,\n        )\n"
)


@pytest.fixture(autouse=True)
def _in_tmp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)


def run(*argv: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "moelint", *argv]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def write(path: str, text: str = BAD) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(text)


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    write("bad.py")
    write("good.py", "x = 1\n")
    assert cli.main(["check", "good.py"]) == 0
    assert cli.main(["check", "bad.py"]) == 1
    assert cli.main(["check", "bad.py", "--exit-zero"]) == 0
    assert cli.main(["check", "bad.py", "--ignore", "literals"]) == 0
    assert cli.main(["check", "nowhere.py"]) == 2
    write("broken.py", "from sglang import routed_scaling_factor = (\n")
    assert cli.main(["check", "broken.py"]) == 1
    capsys.readouterr()


def test_nothing_found_says_so_and_how_much_was_checked(capsys: pytest.CaptureFixture[str]) -> None:
    for count in (1, 2):
        write(f"src/m{count}.py", "x = 1\n")
        assert cli.main(["check", "src", "--no-cache"]) == 0
        empty = Report((), (), (), count, 0, 0)
        assert capsys.readouterr() == ("", summary_line(empty, notes=False) + "\n")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["check", "nowhere"], "moelint: nowhere: no such file or folder"),
        (["check", "--selct", "x"], "moelint: unknown option --selct; did you mean '--select'?"),
        (["check", "-x"], "moelint: unknown option -x"),
        (["check", "--select"], "moelint: option --select needs a value: --select RULES"),
        (["check", "--jobs", "many"], "moelint: option --jobs: 'many' is not a number of 0 or more"),
        (["check", "--notes=yes"], "moelint: option --notes takes no value"),
        (["check", "@nowhere"], "moelint: @nowhere: cannot read arguments: "),
        (["check", "--select", "gaurds"], "did you mean 'guards'?"),
        (["check", "--profile", "sglnag"], "sglnag"),
        (["check", "--config", "nowhere.toml"], "nowhere.toml: the configuration file cannot be read"),
        (["check", "--output", "pdf"], "pdf"),
        (["chek"], "moelint: unknown command 'chek'; did you mean 'check'?"),
    ],
)
def test_wrong_usage_is_one_line_and_two(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    write("bad.py")
    assert cli.main(argv) == 2
    out, err = capsys.readouterr()
    assert out == "" and message in err
    assert len(err.splitlines()) == 1 and err.startswith("moelint: ")


def test_all_problems_of_a_configuration_are_told(capsys: pytest.CaptureFixture[str]) -> None:
    write("moelint.toml", 'selcet = ["x"]\njobs = -1\n')
    assert cli.main(["check"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 2 and all(line.startswith("moelint: ") and "moelint.toml" in line for line in lines)


def test_options_are_read_in_every_spelling() -> None:
    Path("more").write_text("--notes\n--select\nguards\n\nc d.py\n")
    read = options.parse(
        ["-j2", "-o", "json:x", "--output=full", "a.py", "--ignore=MOE101, x", "@more", "--", "--odd", "@e"]
    )
    assert (read.jobs, read.output, read.ignore) == (2, ["json:x", "full"], ["MOE101", "x"])
    assert (read.notes, read.select, read.paths) == (True, ["guards"], ["a.py", "c d.py", "--odd", "@e"])
    assert options.parse([]).paths == ["."]
    assert options.parse(["-j=3"]).jobs == 3
    with pytest.raises(UsageError):
        options.parse(["-nonsense"])


def test_every_option_has_a_field_and_a_line_of_help() -> None:
    fields = set(vars(options.Options()))
    listed = {option.field for _, section in options.SECTIONS for option in section}
    assert listed == fields - {"paths", "help"}
    text = options.usage()
    for _, section in options.SECTIONS:
        for option in section:
            assert f"{option.name} {option.value}".rstrip() in text
    assert all(len(line) <= 120 for line in text.splitlines())


def test_version_and_help() -> None:
    from moelint import __version__

    assert run("--version").stdout == f"moelint {__version__}\n"
    for argv in ((), ("--help",), ("check", "--help"), ("check", "-h", "nowhere")):
        done = run(*argv)
        assert (done.returncode, done.stderr) == (0, "") and done.stdout.startswith("usage: moelint")


@pytest.mark.parametrize("command", ["rule", "config", "new-rule"])
def test_other_commands_are_passed_on(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import importlib

    module = importlib.import_module(f"moelint.linter.commands.{command.replace('-', '_')}")
    seen: list[list[str]] = []
    monkeypatch.setattr(module, "main", lambda argv: seen.append(list(argv)) or 7)
    assert cli.main([command, "a", "--b"]) == 7
    assert seen == [["a", "--b"]]


def test_standard_input() -> None:
    done = run("check", "-", stdin=BAD)
    assert done.returncode == 1 and done.stdout.startswith("<stdin>:8:")
    done = run("check", "-", "--stdin-filename", "src/new.py", "--output", "concise", stdin=BAD)
    assert done.stdout.startswith("src/new.py:8:")
    done = run("check", "-", "--stdin-filename", "build/x.py", "--force-exclude", stdin=BAD)
    assert (done.returncode, done.stderr) == (0, "0 findings, 0 files checked\n")


def test_force_exclude_is_for_files_that_pre_commit_names() -> None:
    write("build/bad.py")
    assert run("check", "build/bad.py").returncode == 1
    assert run("check", "build/bad.py", "--force-exclude").returncode == 0
    assert run("check", "build/bad.py", "--exclude", "other", "--force-exclude").returncode == 1


def test_a_crash_of_a_rule_is_told_and_ends_with_two(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from moelint.rules.literal_fold_flag import LiteralFoldFlag

    write("bad.py")
    monkeypatch.setattr(LiteralFoldFlag, "check", lambda self, module: {}["x"])
    assert cli.main(["check", "bad.py", "--exit-zero"]) == 2
    assert "MOE-E001" in capsys.readouterr().out


def test_a_bug_of_our_own_is_no_finding(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(check_module, "run", lambda *_: {}["x"])
    assert cli.main(["check"]) == 2
    err = capsys.readouterr().err
    assert "KeyError" in err and err.endswith("moelint: this is a bug in moelint, please report it\n")


def test_an_interrupt_is_quiet(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(check_module, "run", interrupted)
    assert cli.main(["check"]) == 130
    assert capsys.readouterr() == ("", "")


@pytest.mark.usefixtures("heeds_interrupts")
@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_real_interrupt_is_quiet_too() -> None:
    command = [sys.executable, "-m", "moelint", "check", "-"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (130, b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="pipes")
def test_a_reader_that_leaves_early_is_no_error() -> None:
    for number in range(40):
        write(f"src/m{number}.py", BAD * 30)
    command = [sys.executable, "-m", "moelint", "check", "src", "--no-cache", "-o", "full"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read().decode()
    assert "Traceback" not in err and "BrokenPipe" not in err


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder with the package and its TOML parser: editable installs import much on their own."""
    package = tmp_path / "site" / "moelint"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(Path(moelint.__file__).read_text("utf-8"))
    for name, part in (("linter", moelint.linter), ("rules", moelint.rules)):
        (package / name).symlink_to(part.__path__[0], target_is_directory=True)
    if sys.version_info < (3, 11):
        import tomli

        (tmp_path / "site" / "tomli").symlink_to(Path(tomli.__file__).parent, target_is_directory=True)
    return tmp_path / "site"


def imported(site: Path, *argv: str) -> set[str]:
    """The modules that `moelint ARGV` imports, beyond those of an idle interpreter."""
    code = "import sys\nsys.path.insert(0, sys.argv.pop(1))\nidle = set(sys.modules)\n"
    rest = "from moelint.linter import cli\ncli.main(sys.argv[1:])\nprint(*set(sys.modules) - idle)"
    command = [sys.executable, "-I", "-S", "-c", code + rest, str(site), *argv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.splitlines()[-1].split())


HEAVY = """argparse ast astroid asyncio collections concurrent.futures contextlib dataclasses difflib enum functools
hashlib importlib inspect json libcst logging multiprocessing operator pathlib pathspec re rich subprocess tempfile
tokenize tomllib torch traceback typing warnings"""


def test_a_file_without_tokens_costs_no_import(site: Path) -> None:
    write("a.py", "x = 1\n")
    new = imported(site, "check", "a.py")
    assert "moelint.linter.check" in new
    assert new & set(HEAVY.split()) == set()
    assert {name for name in new if name.startswith("moelint.rules.")} <= {"moelint.rules._index"}
    assert (
        not {"moelint.linter.model", "moelint.linter.settings", "moelint.linter.report", "moelint.linter.engine"} & new
    )
    write("a.py", BAD)
    assert {"ast", "moelint.linter.engine"} <= imported(site, "check", "a.py")


def test_a_project_without_settings_of_ours_needs_no_toml(site: Path) -> None:
    write("pyproject.toml", '[project]\nname = "x"\n')
    write("a.py", "x = 1\n")
    assert "tomllib" not in imported(site, "check", "a.py")
    write("pyproject.toml", "[tool.moelint]\n")
    assert {"tomllib", "tomli"} & imported(site, "check", "a.py")
