"""Hold the findings against re-created bugs and their repairs: `python bench/exam_cases.py`.

`cases.jsonl` names the folders; each holds a `bad.py` that should get an error or a warning, and a `good.py` that
should not. A case's `check` says what it takes to see the bug; `lexical` and `dataflow` are within reach of rules on
one file. With `--routes` whole routes are analysed too, with the profile of the bench (fixtures/cases.toml), and what
is decided is compared with what was measured.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from exam_common import ROOT, SHARED, ExamError, Found, arguments, hold, percent, run

from moelint.linter.profile import profile_from_dict
from moelint.linter.routes import exact
from moelint.linter.routes.knowledge import knowledge_of_file
from moelint.linter.routes.tables import Job, tables_of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REACH = ("lexical", "dataflow")
ROUTE_REACH = ("contract", "route_table")
PROFILE = ROOT / "fixtures" / "cases.toml"
RSF = 2.5
"""The factor of the bench."""
TOLERANCE = 2e-3


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


def cases(folder: Path, *more: str) -> list[Case]:
    """Run moelint over the folder with `more` options. Raises ExamError."""
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
    for finding in run(folder, *more).findings:
        if not finding.is_note:
            loud.setdefault(finding.span.path, []).append(finding)

    def on(name: str, twin: str) -> tuple[Found, ...]:
        return tuple(loud.get(f"{name}/{twin}", ()))

    return [Case(name, check, on(name, "bad.py"), on(name, "good.py")) for name, check in named]


def disagreements(folder: Path) -> tuple[int, list[str]]:
    """How many parts of decided cells can be compared with the measurement, and those that differ from it."""
    lines = (folder / "cases.jsonl").read_text("utf-8").splitlines()
    compared, wrong = 0, []
    for entry in map(json.loads, filter(None, lines)):
        for twin in ("bad", "good"):
            for part, decided in _decided(folder / entry["case"] / f"{twin}.py").items():
                measured = entry[f"measured_{twin}"].get(part)
                if measured is None:
                    continue
                compared += 1
                if abs(decided - measured) > TOLERANCE * max(1.0, abs(measured)):
                    wrong.append(f"{entry['case']}/{twin}.py {part}: decided {decided:g}, measured {measured:g}")
    return compared, wrong


def _decided(file: Path) -> dict[str, float]:
    """What the cells of a file say of the routed and the shared part, divided by the base of the measurement."""
    known = knowledge_of_file(str(PROFILE), profile_from_dict(tomllib.loads(PROFILE.read_text("utf-8"))))
    assert known is not None
    found: dict[str, float] = {}
    broken: set[str] = set()
    for table in tables_of(Job(str(file.parent), known), [str(file)]):
        for cell in table.cells:
            if cell.outcome.verdict in ("right", "wrong") and cell.outcome.exact:
                for name, units in cell.outcome.amounts:
                    value = exact.value_of(units, RSF)
                    part = "routed" if name.startswith("routed") else "shared"
                    if value is None or "[" in name:
                        broken.add(part)  # another symbol, or a part of the columns
                    else:
                        found[part] = found.get(part, 0.0) + value
    return {part: value for part, value in found.items() if part not in broken}


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
    parser.add_argument("--routes", action="store_true", help="analyse whole routes too")
    parser.add_argument(
        "--least", type=float, default=85.0, metavar="PERCENT", help="wanted with --routes (default 85)"
    )
    chosen = parser.parse_args()
    more = ("--routes", "--profile", str(PROFILE)) if chosen.routes else ()
    found = cases(chosen.truth, *more)
    print(report(found))
    if chosen.routes:
        return _with_routes(found, chosen.truth, chosen.least, chosen.check)
    reach = [case for case in found if case.within_reach]
    missed = sum(not case.bad for case in reach)
    alarms = sum(bool(case.good) for case in found)
    print(f"within reach: {len(reach) - missed} of {len(reach)} flagged; good ones flagged: {alarms} of {len(found)}")
    return 1 if chosen.check and (missed or alarms) else 0


def _with_routes(found: Sequence[Case], truth: Path, least: float, check: bool) -> int:
    reach = [case for case in found if case.check in (*REACH, *ROUTE_REACH)]
    flagged = sum(bool(case.bad) for case in reach)
    alarms = sum(bool(case.good) for case in found)
    compared, wrong = disagreements(truth)
    share = percent(flagged, len(reach))
    print(f"within reach of routes: {flagged} of {len(reach)} flagged ({share:.1f} %); good ones flagged: {alarms}")
    print(f"decided parts that were measured: {compared}, of which {len(wrong)} differ")
    print("".join(f"  DIFFER {line}\n" for line in wrong), end="")
    return 1 if check and (share < least or alarms or wrong) else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
