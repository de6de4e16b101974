"""Hold the findings against re-created bugs and their repairs: `python bench/exam_cases.py`.

`cases.jsonl` names the folders; each holds a `bad.py` that should get an error or a warning, and a `good.py` that
should not. A case's `check` says what it takes to see the bug; `lexical` and `dataflow` are within reach of rules on
one file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_common import SHARED, ExamError, Found, arguments, hold, run

REACH = ("lexical", "dataflow")


@dataclass(frozen=True, slots=True)
class Case:
    """One bug: what it takes to see it, and the errors and warnings on its wrong and its right form."""

    name: str
    check: str
    bad: tuple[Found, ...]
    good: tuple[Found, ...]

    @property
    def within_reach(self) -> bool:
        return self.check in REACH


def cases(folder: Path) -> list[Case]:
    """Run moelint over the folder. Raises ExamError."""
    try:
        lines = (folder / "cases.jsonl").read_text("utf-8").splitlines()
        named = [(entry["case"], entry["check"]) for entry in map(json.loads, filter(None, lines))]
    except (OSError, KeyError, ValueError) as error:
        raise ExamError(f"{folder}/cases.jsonl: {error!r}") from error
    for name, _ in named:
        for twin in ("bad.py", "good.py"):
            if not (folder / name / twin).is_file():
                raise ExamError(f"{folder / name / twin} does not exist")
    loud: dict[str, list[Found]] = {}
    for finding in run(folder).findings:
        if not finding.is_note:
            loud.setdefault(finding.span.path, []).append(finding)

    def on(name: str, twin: str) -> tuple[Found, ...]:
        return tuple(loud.get(f"{name}/{twin}", ()))

    return [Case(name, check, on(name, "bad.py"), on(name, "good.py")) for name, check in named]


def report(found: Sequence[Case]) -> str:
    lines: list[str] = []
    kinds = sorted({case.check for case in found}, key=lambda kind: (kind not in REACH, kind))
    for kind in kinds:
        group = [case for case in found if case.check == kind]
        flagged = [case for case in group if case.bad]
        alarms = [case for case in group if case.good]
        lines.append(f"{kind}: {len(flagged)} of {len(group)} bad flagged, {len(alarms)} of {len(group)} good flagged")
        lines += [f"  flagged {case.name}: {_codes(case.bad)}" for case in flagged]
        lines += [f"  missed  {case.name}" for case in group if not case.bad]
        lines += [f"  ALARM   {finding}: {finding.message}" for case in alarms for finding in case.good]
    return "\n".join(lines)


def _codes(findings: Sequence[Found]) -> str:
    return ", ".join(f"{code} {name}" for code, name in sorted({(found.code, found.name) for found in findings}))


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--truth", type=Path, default=SHARED / "cases", metavar="DIR", help="where the cases are")
    parser.add_argument(
        "--check", action="store_true", help=f"exit 1 if a bad {' or '.join(REACH)} one is missed or a good one flagged"
    )
    chosen = parser.parse_args()
    found = cases(chosen.truth)
    print(report(found))
    reach = [case for case in found if case.within_reach]
    missed = sum(not case.bad for case in reach)
    alarms = sum(bool(case.good) for case in found)
    print(f"within reach: {len(reach) - missed} of {len(reach)} flagged; good ones flagged: {alarms} of {len(found)}")
    return 1 if chosen.check and (missed or alarms) else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
