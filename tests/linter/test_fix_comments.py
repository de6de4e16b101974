"""`# noqa: CODE`, and the fixes of suppression comments."""

from __future__ import annotations

from pathlib import Path

import pytest

from moelint.linter import check, options
from moelint.linter.fixing import Session, repaired
from moelint.linter.model import Report
from moelint.linter.plan import Plan, plan_for

SCALE = "        y *= self.routed_scaling_factor"
BLOCK = f"""\
class Block:
    def forward(self, x):
        y = self.experts(x, self.topk(x))
{SCALE}
        return y
"""


def orders(path: Path, *more: str) -> Plan:
    rules = "MOE301,MOE401,suppression"
    return plan_for(options.parse(["--isolated", "--no-cache", "--profile", "sglang", "--select", rules, *more]))


def run(folder: Path, comment: str, *, above: str = "", unsafe: bool = False) -> tuple[Report, Session]:
    path = folder / "m.py"
    path.write_text(BLOCK.replace(SCALE, f"{above}{SCALE}{comment}"))
    plan = orders(path)
    found = check.check([str(path)], plan)
    return found, repaired(found.findings, plan, {}, unsafe=unsafe)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


@pytest.mark.parametrize(
    "comment", ["  # noqa: MOE301", "  # NOQA:E501,MOE301 -- why", "  # noqa : moe301", "  # x # noqa: E501 MOE301"]
)
def test_a_noqa_with_our_code_hides_the_finding(tmp_path: Path, comment: str) -> None:
    found, _ = run(tmp_path, comment)
    assert (codes(found), [finding.code for finding in found.suppressed]) == ([], ["MOE301"])


def test_the_reason_of_a_noqa_is_kept(tmp_path: Path) -> None:
    (hidden,) = run(tmp_path, "  # noqa: MOE301 -- the kernel folds")[0].suppressed
    assert hidden.excuse is not None and hidden.excuse.reason == "the kernel folds"


@pytest.mark.parametrize(
    ("comment", "above"),
    [("  # noqa", ""), ("  # noqa: E501", ""), ("  # noqa MOE301", ""), ("", "        # noqa: MOE301\n")],
)
def test_what_is_no_noqa_for_us_hides_nothing(tmp_path: Path, comment: str, above: str) -> None:
    assert "MOE301" in codes(run(tmp_path, comment, above=above)[0])


@pytest.mark.parametrize(
    ("comment", "code", "after"),
    [
        ("  # noqa: MOE301, MOE401", "MOE903", "  # noqa: MOE301"),
        ("  # noqa: MOE999,E501,MOE301 -- so", "MOE902", "  # noqa: E501, MOE301 -- so"),
        (
            "  # moelint: ignore[epilogue-unguarded, MOE401] -- so",
            "MOE903",
            "  # moelint: ignore[epilogue-unguarded] -- so",
        ),
        ("  # moelint: ignore[]", "MOE901", ""),
        ("  # a # moelint: ignore[MOE401] -- so", "MOE903", "  # a"),
    ],
)
def test_what_hides_nothing_goes(tmp_path: Path, comment: str, code: str, after: str) -> None:
    found, session = run(tmp_path, comment)
    assert code in codes(found)
    (new,) = session.new.values()
    assert new.decode() == BLOCK.replace(SCALE, SCALE + after)


@pytest.mark.parametrize(
    ("comment", "code", "after"),
    [
        ("  # moelint: ignore", "MOE901", "  # moelint: ignore[epilogue-unguarded]"),
        ("  # moelint: ignore -- so it is", "MOE901", "  # moelint: ignore[epilogue-unguarded] -- so it is"),
        ("  # moelint: ignore[MOE301] so it is", "MOE901", "  # moelint: ignore[MOE301] -- so it is"),
        ("  # moelint: ignore[MOE301,,] -- so", "MOE901", "  # moelint: ignore[MOE301] -- so"),
        ("  # moelint: ignore[epilogue-ungarded]", "MOE902", "  # moelint: ignore[epilogue-unguarded]"),
    ],
)
def test_what_was_meant_to_hide_is_written_right_only_if_asked(
    tmp_path: Path, comment: str, code: str, after: str
) -> None:
    found, session = run(tmp_path, comment)
    assert code in codes(found)
    assert (session.new, session.unsafe) == ({}, 1)
    (new,) = run(tmp_path, comment, unsafe=True)[1].new.values()
    assert new.decode() == BLOCK.replace(SCALE, SCALE + after)


def test_a_comment_on_a_line_of_its_own_takes_the_line_along(tmp_path: Path) -> None:
    _, session = run(tmp_path, "", above="        # moelint: ignore[MOE401] -- so\n")
    (new,) = session.new.values()
    assert new.decode() == BLOCK


def test_an_unused_noqa_is_found_where_nothing_else_is(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text("x = 1  # noqa: MOE301\n")
    plan = orders(path)
    found = check.check([str(path)], plan)
    assert codes(found) == ["MOE903"]
    assert repaired(found.findings, plan, {}, unsafe=False).new == {str(path): b"x = 1\n"}
