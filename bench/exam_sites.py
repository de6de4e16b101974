"""Hold the findings on SGLang 0.5.22 and 0.5.23 against tables of decision sites: `python bench/exam_sites.py`.

A table, `NAME-VERSION.sites.tsv`, lists the lines that touch the routed scaling factor, with a kind and a verdict. Of
its rows that decide and break the policy, how many lie in a region or a related place of a finding? Of the findings
of the families that speak of such decisions, how many lie on such a row?
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_common import SHARED, ExamError, Found, Run, Span, arguments, hold, percent, release, run

TREES = ("sglang-0.5.22", "sglang-0.5.23")
KINDS = frozenset({"epilogue_apply", "guard", "shared_weight"})
BREACHES = frozenset({"violates", "bug"})
FAMILIES = frozenset({"factor-flow", "shared-weight", "epilogue", "guards"})
LEAST = 95.0


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a table."""

    place: Span
    qualname: str
    kind: str
    verdict: str

    @property
    def breach(self) -> bool:
        return self.verdict in BREACHES

    @property
    def wanted(self) -> bool:
        return self.breach and self.kind in KINDS

    def __str__(self) -> str:
        return f"{self.kind} {self.verdict}"


@dataclass(frozen=True, slots=True)
class Score:
    """The wanted rows: those missed, and how many are reported by nothing but notes or but related places. The judged
    findings: those off any row that breaks the policy, and off any such row of the three kinds."""

    wanted: Sequence[Row]
    missed: Sequence[Row]
    by_note: int
    by_related: int
    findings: Sequence[Found]
    off: Sequence[Found]
    off_strict: Sequence[Found]

    @property
    def recall(self) -> float:
        return percent(len(self.wanted) - len(self.missed), len(self.wanted))

    @property
    def precision(self) -> float:
        return percent(len(self.findings) - len(self.off), len(self.findings))

    @property
    def precision_strict(self) -> float:
        return percent(len(self.findings) - len(self.off_strict), len(self.findings))


def table(path: Path) -> list[Row]:
    """Raises ExamError where there is no such table."""
    try:
        with path.open(encoding="utf-8", newline="") as stream:
            return [
                Row(Span(row["path"], int(row["line"]), int(row["line"])), row["qualname"], row["kind"], row["verdict"])
                for row in csv.DictReader(stream, delimiter="\t")
            ]
    except OSError as error:
        raise ExamError(f"no table of sites: {error}") from error


def score(rows: Sequence[Row], found: Sequence[Found]) -> Score:
    wanted = [row for row in rows if row.wanted]
    reported = _covered(wanted, (span for finding in found for span in (finding.span, *finding.related)))
    loud = _covered(
        wanted, (span for finding in found if not finding.is_note for span in (finding.span, *finding.related))
    )
    inside = _covered(wanted, (finding.span for finding in found))
    judged = [finding for finding in found if finding.family in FAMILIES]

    def off(counts: Callable[[Row], bool]) -> list[Found]:
        bad = [row.place for row in rows if counts(row)]
        return [finding for finding in judged if not any(finding.span.meets(place) for place in bad)]

    return Score(
        wanted,
        [row for row in wanted if row not in reported],
        len(reported) - len(loud),
        len(reported) - len(inside),
        judged,
        off(lambda row: row.breach),
        off(lambda row: row.wanted),
    )


def _covered(rows: Iterable[Row], spans: Iterable[Span]) -> list[Row]:
    places: dict[str, list[Span]] = {}
    for span in spans:
        places.setdefault(span.path, []).append(span)
    return [row for row in rows if any(span.meets(row.place) for span in places.get(row.place.path, ()))]


def report(name: str, rows: Sequence[Row], checked: Run, result: Score) -> str:
    """The percentages, then one line for each disagreement."""
    reached = len(result.wanted) - len(result.missed)
    total = len(result.findings)
    lines = [
        name,
        f"  rows reported     {reached:4} of {len(result.wanted):4}  {result.recall:5.1f} %"
        f"  ({result.by_note} by notes only, {result.by_related} in related places only)",
        f"  findings on rows  {total - len(result.off):4} of {total:4}  {result.precision:5.1f} %  rows of any kind",
        f"                    {total - len(result.off_strict):4} of {total:4}  {result.precision_strict:5.1f} %"
        "  rows of the three kinds only",
    ]
    lines += [f"  missed  {row.place} [{row}] {row.qualname}: {checked.text(row.place)}" for row in result.missed]
    for finding in result.off_strict:
        label = "off     " if finding in result.off else "off-kind"
        said = ", ".join(str(row) for row in rows if row.place.meets(finding.span)) or "no row"
        lines.append(f"  {label} {finding} [{said}]: {checked.text(finding.span)}")
    return "\n".join(lines)


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--truth", type=Path, default=SHARED / "truth", metavar="DIR", help="where the tables are")
    parser.add_argument("--tree", action="append", metavar="NAME-VERSION", help=f"default: {' and '.join(TREES)}")
    parser.add_argument("--check", action="store_true", help=f"exit 1 if a headline figure is below {LEAST:.0f} %%")
    chosen = parser.parse_args()
    passed = True
    for name in chosen.tree or TREES:
        rows = table(chosen.truth / f"{name}.sites.tsv")
        checked = run(release(name, chosen.releases))
        result = score(rows, checked.findings)
        print(report(name, rows, checked, result), flush=True)
        passed = passed and min(result.recall, result.precision) >= LEAST
    return 1 if chosen.check and not passed else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
