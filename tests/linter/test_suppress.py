"""Suppression comments: what they cover, and what is said about those that are wrong or idle."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

import pytest

from moelint.linter import registry, suppression_rules
from moelint.linter.engine import Engine
from moelint.linter.plan import Plan
from moelint.linter.rule import Draft, Module, Rule
from moelint.linter.suppress import read_comments

if TYPE_CHECKING:
    from moelint.linter.records import FindingRow, Record


class MarkedName(Rule):
    """Every name that ends in `_mark`."""

    code, family, tokens, help = "T101", "test", (("_mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        for node in ast.walk(module.tree):
            name = getattr(node, "id", None) or getattr(node, "name", None) or ""
            if name.endswith("_mark"):
                yield Draft(node, name, "f")


class Fails(Rule):
    code, family, tokens, help = "T102", "test", (("_mark",),), "do not"

    def check(self, module: Module) -> Iterable[Draft]:
        raise LookupError


def plan(*rules: type[Rule], reason: bool = False) -> Plan:
    made = Plan("/p")
    own = tuple(
        registry.RuleEntry(r.code, r.__name__.lower(), r.family, r.severity, "1", r.help, r.tokens, False, r.roles,
                           __name__, r.__name__)
        for r in rules
    )  # fmt: skip
    made.rules = own + tuple(rule for rule in registry.entries() if rule.family == "suppression")
    made.require_reason = reason
    return made


def check(text: str, *rules: type[Rule], reason: bool = False) -> Record:
    orders = plan(*(rules or (MarkedName,)), reason=reason)
    return Engine(orders).check("/p/a.py", text.encode(), "generic", orders.rules)


def outcome(text: str, *rules: type[Rule], reason: bool = False) -> tuple[list[str], list[str]]:
    """What stays and what is hidden, each as `LINE NAME` or `LINE CODE`."""
    findings, hidden, problems, _ = check(text, *rules, reason=reason)
    assert [problem for problem in problems if not problem[3]] == []

    def shown(row: FindingRow) -> str:
        return f"{row[0]} {row[5] if row[4].startswith('T') else row[4]}"

    return [shown(row) for row in findings], [shown(row) for row in hidden]


HIDE = "# moelint: ignore[markedname] -- so it is"


def test_a_trailing_comment_covers_its_logical_line() -> None:
    assert outcome(f"a_mark  {HIDE}\nb_mark\n") == (["2 b_mark"], ["1 a_mark"])
    assert outcome(f"a_mark; b_mark  {HIDE}\n") == ([], ["1 a_mark", "1 b_mark"])
    assert outcome("a_mark  # moelint: ignore[T101]\n") == ([], ["1 a_mark"])


@pytest.mark.parametrize("place", [0, 1, 2, 3])
def test_on_any_line_of_a_statement_it_covers_the_whole(place: int) -> None:
    lines = ["x = f(", "    a_mark,", "    b_mark,", ")"]
    lines[place] += f"  {HIDE}"
    assert outcome("\n".join([*lines, "c_mark"])) == (["5 c_mark"], ["2 a_mark", "3 b_mark"])


def test_a_line_of_its_own_inside_brackets_belongs_to_the_statement() -> None:
    assert outcome(f"x = [\n    a_mark,\n    {HIDE}\n    b_mark,\n]\nc_mark\n")[0] == ["6 c_mark"]


def test_a_line_of_its_own_covers_the_next_logical_line() -> None:
    assert outcome(f"{HIDE}\n\n# more\na_mark\nb_mark\n") == (["5 b_mark"], ["4 a_mark"])
    assert outcome(f"{HIDE}\nx = (\n    a_mark\n)\nb_mark\n") == (["5 b_mark"], ["3 a_mark"])
    assert outcome(f"if x:\n    {HIDE}\n    a_mark\nb_mark\n") == (["4 b_mark"], ["3 a_mark"])
    assert outcome(f"if x:\n    y\n    {HIDE}\na_mark\nb_mark\n") == (["5 b_mark"], ["4 a_mark"])


def test_of_a_compound_statement_the_header_alone_is_covered() -> None:
    assert outcome(f"{HIDE}\nif a_mark:\n    b_mark\n") == (["3 b_mark"], ["2 a_mark"])
    assert outcome(f"if a_mark:  {HIDE}\n    b_mark\n") == (["2 b_mark"], ["1 a_mark"])


def test_decorators_go_with_what_they_decorate() -> None:
    text = f"{HIDE}\n@d(\n    a_mark\n)\n@e\nclass B_mark:\n    c_mark\n"
    assert outcome(text) == (["7 c_mark"], ["3 a_mark", "6 B_mark"])


def test_the_whole_file() -> None:
    text = "a_mark\n# moelint: ignore-file[markedname] -- generated\nif x:\n    b_mark\n"
    assert outcome(text) == ([], ["1 a_mark", "4 b_mark"])
    assert outcome(f"a_mark\nx = 1  {HIDE.replace('ignore', 'ignore-file')}\n") == ([], ["1 a_mark"])


def test_other_comments_may_stand_in_front() -> None:
    assert outcome(f"a_mark  # noqa: F821 {HIDE}\n") == ([], ["1 a_mark"])


def test_several_rules_in_one_comment() -> None:
    text = "a_mark  # moelint: ignore[literal-fold-flag, T101] -- both\n"
    assert outcome(text) == ([], ["1 a_mark"])


@pytest.mark.parametrize(
    ("comment", "flaw"),
    [
        ("ignore", "names no rule, and there is no form that hides everything"),
        ("ignore -- reason", "names no rule, and there is no form that hides everything"),
        ("ignore[] -- reason", "names no rule between two commas or brackets"),
        ("ignore[T101,] -- reason", "names no rule between two commas or brackets"),
        ("ignore[T101] because", "has 'because' after the bracket"),
        ("ignore[T101] --", "gives no reason"),
        ("ignore[T101", "names no rule, and there is no form that hides everything"),
        ("disable[T101] -- reason", "says 'disable' where"),
        ("ignore-next[T101] -- reason", "says 'ignore-next' where"),
        ("", "says '' where"),
    ],
)
def test_a_malformed_comment_hides_nothing_and_is_reported(comment: str, flaw: str) -> None:
    findings, hidden, _, _ = check(f"a_mark  # moelint:{comment}\n")
    assert hidden == ()
    assert [row[4] for row in findings] == ["T101", "MOE901"]
    assert flaw in findings[1][5] and findings[1][:2] == (1, 9)


def test_a_reason_can_be_required() -> None:
    text = "a_mark  # moelint: ignore[T101]\n"
    assert outcome(text) == ([], ["1 a_mark"])
    assert outcome(text, reason=True) == (["1 a_mark", "1 MOE901"], [])
    assert outcome(f"a_mark  {HIDE}\n", reason=True) == ([], ["1 a_mark"])


def test_unknown_names_are_reported_with_the_nearest_known_one() -> None:
    findings = check("a_mark  # moelint: ignore[marked-nam, T101] -- x\n")[0]
    assert [row[4] for row in findings] == ["MOE902"]
    assert "'marked-nam', which is no rule; did you mean 'markedname'?" in findings[0][5]
    assert [row[4] for row in check("# moelint: ignore[test] -- families are no rules\n")[0]] == ["MOE902"]


def test_what_hides_nothing_is_reported_name_by_name() -> None:
    text = "x = 1  # moelint: ignore[T101] -- x\na_mark  # moelint: ignore[T101, MOE903] -- y\n"
    assert outcome(text) == (["1 MOE903"], ["2 a_mark"])
    findings = check(text)[0]
    assert findings[0][5] == "This suppression of T101 hides nothing." and findings[0][7] == "warning"


def test_idle_comments_are_excused_where_their_rule_did_not_run() -> None:
    text = "x_mark_ = 1  # moelint: ignore[T101, T102] -- x\n"
    assert outcome(text, MarkedName, Fails) == (["1 MOE903"], [])
    assert [row[5] for row in check(text, MarkedName, Fails)[0]] == ["This suppression of T101 hides nothing."]
    assert outcome("x = 1  # moelint: ignore[literal-fold-flag] -- not selected here\n") == ([], [])


def test_findings_about_comments_can_be_hidden_too() -> None:
    text = (
        "# moelint: ignore-file[unused-suppression] -- kept for the old branch\nx = 1  # moelint: ignore[T101] -- x\n"
    )
    assert outcome(text) == ([], ["2 MOE903"])


def test_text_that_only_looks_like_a_comment() -> None:
    assert outcome('a = "# moelint: ignore[T101] -- x"\na_mark\n') == (["2 a_mark"], [])
    assert outcome('"""\n# moelint: ignore-file[T101] -- x\n"""\na_mark\n') == (["4 a_mark"], [])
    assert outcome("a_mark  # see moelint: ignore[T101]\n") == (["1 a_mark"], [])


def test_line_ends_of_all_kinds() -> None:
    assert outcome(f"x = 1\r\na_mark  {HIDE}\r\nb_mark\r\n") == (["3 b_mark"], ["2 a_mark"])
    assert outcome(f"x = 1\ra_mark  {HIDE}\rb_mark\r") == (["3 b_mark"], ["2 a_mark"])
    assert outcome(f"a_mark  {HIDE}") == ([], ["1 a_mark"])


def test_the_identity_of_an_idle_comment_does_not_hang_on_its_line() -> None:
    first = check("x = 1  # moelint: ignore[T101] -- x\n")[0][0]
    second = check("\n\ny = 2  # moelint: ignore[T101] -- x\n")[0][0]
    assert first[9] == second[9] and first[0] != second[0]


def test_files_without_the_mark_are_not_tokenized(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("moelint.linter.suppress.read_comments", None)
    assert outcome("a_mark  # ignore me\n") == (["1 a_mark"], [])


@pytest.mark.parametrize("rule", suppression_rules.RULES, ids=lambda rule: rule.name())
def test_the_examples_in_the_documentation_are_true(rule: type[Rule]) -> None:
    parts = re.split(r"^## (.+)$", inspect.cleandoc(rule.__doc__ or ""), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert list(sections) == ["What it does", "Why is this bad?", "Example", "Use instead", "Limits"]
    for heading, expected in (("Example", [rule.code]), ("Use instead", [])):
        block = re.findall(r"```python\n(.*?)```", sections[heading], re.DOTALL)[0]
        orders = Plan("/p")
        findings = Engine(orders).check("/p/a.py", block.encode(), "generic", orders.rules)[0]
        assert [row[4] for row in findings] == expected


def test_reading_needs_no_rules() -> None:
    comments = read_comments(f"a\n{HIDE}\nb\n", require_reason=False)
    assert [(c.line, c.col, c.first, c.last, c.names) for c in comments] == [(2, 1, 3, 3, ("markedname",))]
