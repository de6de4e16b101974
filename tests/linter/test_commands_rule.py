"""`moelint rule`: pages, the list, JSON, and names that do not exist."""

from __future__ import annotations

import io
import json
import subprocess
import sys

import pytest

from moelint.linter.cli import main as moelint
from moelint.linter.commands.rule import find_rule, main
from moelint.linter.errors import UsageError
from moelint.linter.families import FAMILIES, numbers
from moelint.linter.registry import RuleEntry, entries
from moelint.linter.rule_docs import HEADINGS, rule_doc

FIRST = entries()[0]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_page_is_whole(entry: RuleEntry, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([entry.name]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"# {entry.name} ({entry.code})\n\nCode: **{entry.code}** | Family: **{entry.family}**")
    assert [line[3:] for line in page.splitlines() if line.startswith("## ")] == list(HEADINGS)
    assert f"Help: {entry.help}\n" in page
    assert "# profile:" not in page
    doc = rule_doc(entry)
    assert doc.summary.endswith(".")
    assert all(text for _, text in doc.sections)


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_a_code_tells_its_family(entry: RuleEntry) -> None:
    assert int(entry.code.removeprefix("MOE")) in numbers(entry.family)


def test_families_do_not_share_numbers() -> None:
    every = [number for family in FAMILIES for number in numbers(family)]
    assert every == sorted(set(every))
    assert all(numbers(family) for family in FAMILIES)


@pytest.mark.parametrize(
    "word",
    [FIRST.name, FIRST.code, FIRST.code.lower(), FIRST.name.upper(), FIRST.name.replace("-", "_")],
)
def test_a_rule_has_several_spellings(word: str) -> None:
    assert find_rule(word, entries()).code == FIRST.code


def test_an_unknown_rule_exits_2_with_a_proposal(capsys: pytest.CaptureFixture[str]) -> None:
    assert moelint(["rule", FIRST.name[:-1] + "x"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert f"unknown rule '{FIRST.name[:-1]}x'; did you mean '{FIRST.name}'?" in err


def test_a_rule_like_no_other_exits_2_with_a_way_on() -> None:
    with pytest.raises(UsageError, match=r"unknown rule 'zzzzzzzzzz'; moelint rule --all lists them"):
        main(["zzzzzzzzzz"])


@pytest.mark.parametrize("argv", [[], [FIRST.name, "--all"], ["--jsn"]])
def test_a_wrong_command_line_exits_2(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: moelint rule" in capsys.readouterr().err


def test_the_list_has_one_line_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--all"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [[e.code, e.name, e.severity] for e in entries()]
    assert all(line.endswith(e.help) for line, e in zip(lines, entries(), strict=True))


def test_json_of_one_and_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([FIRST.code, "--json"]) == 0
    one = json.loads(capsys.readouterr().out)
    assert list(one) == [
        "code",
        "name",
        "family",
        "severity",
        "since",
        "needs_helpers",
        "help",
        "summary",
        "sections",
    ]
    assert list(one["sections"]) == list(HEADINGS)
    assert main(["--all", "--json"]) == 0
    everything = json.loads(capsys.readouterr().out)
    assert everything[0] == one
    assert [item["code"] for item in everything] == [e.code for e in entries()]


def test_one_page_imports_one_rule() -> None:
    loaded = _modules_after([FIRST.name])
    rules = {entry.module for entry in entries()}
    assert loaded & rules == {FIRST.module}
    assert "rich" not in loaded


def test_the_list_imports_no_rule() -> None:
    assert not _modules_after(["--all"]) & {entry.module for entry in entries()}


def _modules_after(argv: list[str]) -> set[str]:
    code = (
        "import sys; from moelint.linter.commands.rule import main\n"
        f"main({argv!r}); sys.stderr.write(' '.join(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stderr.split())


def test_a_terminal_gets_colour_unless_it_is_not_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured, plain = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", coloured)
    assert main([FIRST.code]) == 0
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(sys, "stdout", plain)
    assert main([FIRST.code]) == 0
    assert "\x1b[" in coloured.getvalue()
    text = plain.getvalue()
    assert "\x1b" not in text and "```" not in text and "## " not in text
    assert text.startswith(f"{FIRST.severity}[{FIRST.code}] {FIRST.name}\n")
    assert [line for line in text.splitlines() if line in HEADINGS] == list(HEADINGS)
    assert all(len(line) <= 80 for line in text.splitlines())
