"""One file through the engine, with rules made for the purpose: rows, order, severities, crashes, odd sources."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from moelint.linter.engine import NOTHING, Engine
from moelint.linter.plan import Plan
from moelint.linter.registry import RuleEntry
from moelint.linter.rule import Draft, Module, Rule

if TYPE_CHECKING:
    from moelint.linter.model import Severity
    from moelint.linter.profile import Profile
    from moelint.linter.records import Record
    from moelint.linter.source import Source


class EveryCall(Rule):
    """A call of `mark`; the keyword `severity` of the call is the severity, `related` points at the argument."""

    code, family, tokens, help = "T001", "test", (("mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "mark":
                severity = next((k.value.value for k in node.keywords if k.arg == "severity"), None)  # type: ignore[attr-defined]
                related = tuple((argument, "here") for argument in node.args)
                yield Draft(node, f"mark on {len(node.args)}", "f", related, severity)
                yield Draft(node, f"mark on {len(node.args)}", "f", related, severity)


class Fails(Rule):
    code, family, tokens, help = "T002", "test", (("mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        raise LookupError("no\nluck")


class FailsEarly(EveryCall):
    code = "T008"

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        raise LookupError("no words")


class FailsToo(Rule):
    code, family, tokens, help = "T003", "test", (("mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        yield Draft(module.tree, "a module has no place", "f")


class Recurses(Rule):
    code, family, tokens, help = "T004", "test", (("mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        return self.check(module)


class OwnersOnly(EveryCall):
    code, roles = "T005", ("owner",)


class HelpersOnly(EveryCall):
    code, needs_helpers = "T006", True


PROFILES = {
    "generic": {"name": "generic"},
    "pkg": {
        "name": "pkg",
        "packages": ["pkg"],
        "owner": ["pkg.topk"],
        "leaf": ["pkg.kernels.*"],
        "answer_calls": ["ask"],
    },
}


def entry(rule: type[Rule]) -> RuleEntry:
    name = rule.__name__.lower()
    return RuleEntry(
        rule.code, name, rule.family, rule.severity, "1", rule.help, rule.tokens, rule.needs_helpers, rule.roles,
        rule.__module__, rule.__name__,
    )  # fmt: skip


def check(
    text: str | bytes, *rules: type[Rule], profile: str = "generic", path: str = "/p/a.py", plan: Plan | None = None
) -> Record:
    plan = plan or Plan("/p")
    plan.profiles = PROFILES
    plan.rules = tuple(entry(rule) for rule in rules)
    data = text.encode() if isinstance(text, str) else text
    return Engine(plan).check(path, data, profile, plan.rules)


def test_rows_are_in_source_order_and_each_is_there_once() -> None:
    findings, hidden, problems, parsed = check("x = mark(1)\nmark()\n", EveryCall)
    assert [row[:7] for row in findings] == [
        (1, 5, 1, 12, "T001", "mark on 1", "f"),
        (2, 1, 2, 7, "T001", "mark on 0", "f"),
    ]
    assert findings[0][8] == ((1, 10, 1, 11, "here"),)
    assert (hidden, problems, parsed) == ((), (), True)
    assert findings[0][9] != findings[1][9]


def test_columns_count_characters_and_survive_a_mark_and_crlf() -> None:
    findings = check(b"\xef\xbb\xbfx = 'h\xc3\xa9'; mark()\r\ny = mark()\r\n", EveryCall)[0]
    assert [row[:2] for row in findings] == [(1, 11), (2, 5)]


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        (None, ["error", "error", "warning", "note"]),
        ("error", ["error", "error", "warning", "note"]),
        ("warning", ["warning", "warning", "warning", "note"]),
        ("note", ["note", "note", "note", "note"]),
    ],
)
def test_the_configured_severity_counts_unless_the_rule_thinks_less_of_a_finding(
    configured: Severity | None, expected: list[str]
) -> None:
    plan = Plan("/p")
    plan.severity = {} if configured is None else {"T001": configured}
    text = "mark()\nmark(severity='error')\nmark(severity='warning')\nmark(severity='note')\n"
    assert [row[7] for row in check(text, EveryCall, plan=plan)[0]] == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("/p/pkg/topk.py", {"T001", "T005", "T006"}),
        ("/p/pkg/model.py", {"T001", "T006"}),
        ("/p/pkg/kernels/k.py", set()),
    ],
)
def test_role_of_the_module_and_helpers_of_the_profile_select_rules(path: str, expected: set[str]) -> None:
    record = check("mark()", EveryCall, OwnersOnly, HelpersOnly, profile="pkg", path=path)
    assert {row[4] for row in record[0]} == expected
    assert record[3] is bool(expected), "what no rule looks at is not even parsed"


def test_a_profile_without_helpers_silences_rules_that_need_them() -> None:
    assert check("mark()", HelpersOnly) == NOTHING


def test_a_rule_that_fails_leaves_the_others_their_say() -> None:
    findings, _, problems, _ = check("mark()", Fails, EveryCall, FailsToo)
    assert [row[4] for row in findings] == ["T001"]
    assert [(code, internal) for code, _, _, internal in problems] == [("MOE-E001", True), ("MOE-E001", True)]
    assert "fails failed on this file (LookupError: no\nluck; test_engine.py:" in problems[0][2]
    assert "--ignore T002 " in problems[0][2]


def test_a_rule_that_fails_before_the_parse_is_reported_too() -> None:
    findings, _, problems, _ = check("mark()", FailsEarly, EveryCall)
    assert [row[4] for row in findings] == ["T001"]
    assert [(code, internal) for code, _, _, internal in problems] == [("MOE-E001", True)]
    assert check("mark()", FailsEarly)[2] == problems


def test_rules_that_fail_for_one_reason_share_a_line() -> None:
    class Twin(Fails):
        code = "T007"

    sys.modules[__name__].__dict__["Twin"] = Twin
    problems = check("mark()", Fails, Twin)[2]
    assert len(problems) == 1
    assert problems[0][2].startswith("fails, twin failed") and "--ignore T002,T007 " in problems[0][2]


def test_a_rule_that_runs_too_deep_is_no_internal_error() -> None:
    findings, _, problems, _ = check("mark()", Recurses, EveryCall)
    assert len(findings) == 1
    assert [(code, internal) for code, _, _, internal in problems] == [("MOE-E004", False)]


@pytest.mark.parametrize(
    ("data", "code", "line", "text"),
    [
        (b"mark(\n\n", "MOE-E002", 1, "was never closed"),
        (b"x = 1\nif mark:\n", "MOE-E002", 2, "expected an indented block"),
        (b"x = 1\nmark\x00\n", "MOE-E002", 1, "null bytes"),
        (b"x = 1\n'\xff' + mark\n", "MOE-E002", 2, "byte 0xff is not utf-8"),
        (b"# coding: nonsense\nmark\n", "MOE-E002", 1, "the encoding 'nonsense' is unknown"),
        (b"# coding: hex\nmark\n", "MOE-E002", 1, "the encoding 'hex' is unknown"),
        (b"# coding: ascii\nmark = '\xc3\xa9'\n", "MOE-E002", 2, "byte 0xc3 is not ascii"),
        (b"\xef\xbb\xbf# coding: latin-1\nmark\n", "MOE-E002", 1, "says that it is latin-1"),
        (b"mark = " + b"(" * 5000 + b")" * 5000, "MOE-E00", 1, ""),
        (b"mark" + b".a" * 200_000, "MOE-E004", 1, "nested too deeply"),
        (b"mark = " + b"-" * 200_000 + b"1", "MOE-E004", 1, "nested too deeply"),
    ],
)
def test_a_file_that_cannot_be_parsed_is_a_diagnostic(data: bytes, code: str, line: int, text: str) -> None:
    findings, _, problems, _ = check(data, EveryCall)
    assert findings == ()
    assert len(problems) == 1
    assert problems[0][0].startswith(code) and problems[0][1] == line and text in problems[0][2]
    assert problems[0][3] is False


def test_declared_encodings_are_honoured() -> None:
    findings = check(
        "#!/usr/bin/python\n# vim: set fileencoding=latin-1 :\nx = 'é'; mark('é')\n".encode("latin-1"), EveryCall
    )[0]
    assert [row[:4] for row in findings] == [(3, 10, 3, 19)]
    assert check("# coding: UTF_8-unix\nx = 'é'; mark()\n", EveryCall)[0][0][:2] == (2, 10)
    assert check("x = 1\ny = 2\n# coding: latin-1\nmark('é')\n", EveryCall)[0][0][3] == 10


def test_what_the_compiler_warns_about_is_not_shown(capfd: pytest.CaptureFixture[str]) -> None:
    check("x = '\\d' is 1\nmark()\n", EveryCall)
    assert capfd.readouterr() == ("", "")


def test_identities_do_not_hang_on_the_checkout(tmp_path: Path) -> None:
    here, there = Plan("/p"), Plan(str(tmp_path))
    first = check("mark()", EveryCall, path="/p/src/a.py", plan=here)[0][0][9]
    second = check("mark()", EveryCall, path=str(tmp_path / "src" / "a.py"), plan=there)[0][0][9]
    assert first == second


def test_trees_die_with_their_use_while_the_collector_is_off() -> None:
    import gc
    import weakref

    seen: list[weakref.ref[Module]] = []

    class Looks(EveryCall):
        code = "T008"

        def check(self, module: Module) -> Iterable[Draft]:
            module.__dict__["fact"] = module  # facts refer to each other and to their module
            seen.extend([weakref.ref(module), *(weakref.ref(cls.node) for cls in module.classes.values())])  # type: ignore[list-item]
            return super().check(module)

    sys.modules[__name__].__dict__["Looks"] = Looks
    gc.disable()
    try:
        check("class A:\n    def f(self):\n        def g(): mark(self.f)\n", Looks)
        assert len(seen) == 2
        assert [ref() for ref in seen] == [None, None]
    finally:
        gc.enable()
