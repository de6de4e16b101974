"""docs/formats.md shows what the formats write."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from moelint.linter.model import Finding, Place, Region, Report
from moelint.linter.report import format_names
from moelint.linter.report.formats import concise, full, github
from moelint.linter.report.formats.json import report_as_dict
from moelint.linter.report.page import Page
from moelint.linter.report.statistics import statistics_table
from moelint.linter.report.summary import summary_line

DOCS = Path(__file__).parents[2] / "docs"
TEXT = (DOCS / "formats.md").read_text("utf-8")
BLOCKS = re.findall(r"^```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
SOURCE = b"""\
class Block:
    def f(self, x):
        y = self.experts(x)
        if not _is_cuda:
            y *= self.factor
        return y
"""
FINDING = Finding(
    "MOE401",
    "guard-not-asking",
    "guards",
    "error",
    "m.py",
    Region(5, 13, 5, 29),
    "The factor is multiplied in under `not _is_cuda`. A platform flag does not say whether routing folded it.",
    "ask it",
    "Block.f",
    (Place("m.py", Region(4, 16, 4, 24), "decided here"),),
    "0123",
)


def test_the_examples_are_what_the_formats_write() -> None:
    report = Report((FINDING,), (), (), 1, 1, 0)
    assert full.render(report, Page(80, sources={"m.py": SOURCE})) in BLOCKS
    assert concise.render(report, Page(80)) in BLOCKS
    assert github.render(report, Page()) in BLOCKS


def test_the_summary_is_what_a_run_prints() -> None:
    notes = [replace(FINDING, severity="note", region=Region(n, 1, n, 2)) for n in (1, 2)]
    report = Report((FINDING, FINDING, FINDING, *notes), (), (), 41, 1, 0)
    assert f"{summary_line(report, notes=False)}\n" in BLOCKS


def test_the_table_is_what_statistics_print() -> None:
    other = replace(FINDING, code="MOE101", name="factor-arithmetic", family="factor-flow")
    findings = (FINDING, other, replace(other, path="b.py"), replace(other, path="b.py", severity="note"))
    table = statistics_table(Report((replace(FINDING, path="c.py"), *findings[1:]), (), (), 3, 1, 0))
    assert "".join(f"{line}\n" for line in table) in BLOCKS


@pytest.mark.parametrize("name", format_names())
def test_every_format_has_a_section(name: str) -> None:
    assert f"\n## `{name}`\n" in TEXT


def test_every_json_key_is_described() -> None:
    data = json.loads(json.dumps(report_as_dict(Report((FINDING,), (), (FINDING,), 1, 1, 0))))
    finding = data["findings"][0]
    for key in (*data, *data["summary"], *finding, *finding["region"], *data["statistics"][0]):
        assert f"`{key}`" in TEXT


@pytest.mark.parametrize("target", re.findall(r"\]\(([^)#]+)\)", TEXT))
def test_links_lead_somewhere(target: str) -> None:
    assert (DOCS / target).exists()
