"""Ask semgrep the same questions: `python bench/peer_exam.py --semgrep PATH_OF_SEMGREP`.

The rules in bench/semgrep.yml are the policy as far as patterns can say it. Their findings on the releases are held
against the tables of decision sites exactly as bench/exam_sites.py holds those of moelint, and those on re-created bugs
as bench/exam_cases.py does. semgrep is given only the files in which one of its rules' words occurs, which spares it
most of a tree; moelint finds them itself. Times are CPU seconds of the whole command.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from exam_cases import REACH
from exam_common import SHARED, ExamError, Found, Span, arguments, hold, percent, release, run
from exam_sites import TREES, score, table

RULES = Path(__file__).with_name("semgrep.yml")
WORDS = re.compile(rb"rout\w*_scal\w*|fused_shared_expert|topk_weights\[")
"""In every file that a rule can match, and in few others."""
FAMILY = "guards"
"""Any of the families that exam_sites judges: all of these rules speak of decisions."""


def near(folder: Path) -> list[str]:
    """The Python files below `folder` that hold one of the words, relative to it."""
    files = (path for path in sorted(folder.rglob("*.py")) if WORDS.search(path.read_bytes()))
    return [path.relative_to(folder).as_posix() for path in files]


def semgrep(command: str, folder: Path) -> tuple[Found, ...]:
    """The findings of semgrep below `folder`. Raises ExamError where it fails or could not read a file in full."""
    options = ["--metrics", "off", "--disable-version-check", "--no-git-ignore", "--json", "--quiet", "--timeout", "0"]
    done = subprocess.run(
        [command, "scan", "--config", str(RULES), *options, *near(folder)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise ExamError(f"semgrep on {folder} ended with {done.returncode}:\n{done.stderr[-2000:]}")
    data = json.loads(done.stdout)
    if data["errors"]:
        raise ExamError(f"semgrep on {folder}: {data['errors'][0]}")
    return tuple(
        Found(
            name := item["check_id"].rpartition(".")[2],
            name,
            FAMILY,
            "error",
            "",
            Span(item["path"].removeprefix("./"), item["start"]["line"], item["end"]["line"]),
            (),
        )
        for item in data["results"]
    )


def seconds() -> float:
    """CPU time of the child processes so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def sites(name: str, who: str, found: Sequence[Found], spent: float, truth: Path) -> str:
    result = score(table(truth / f"{name}.sites.tsv"), found)
    reached, on = len(result.wanted) - len(result.missed), len(result.findings) - len(result.off)
    return (
        f"{name} {who}: rows reported {reached} of {len(result.wanted)} ({result.recall:.0f} %), "
        f"findings on rows {on} of {len(result.findings)} ({result.precision:.0f} %), {spent:.1f} s of CPU"
    )


def cases(who: str, found: Sequence[Found], folder: Path) -> str:
    entries = [json.loads(line) for line in (folder / "cases.jsonl").read_text("utf-8").splitlines() if line]
    loud = {finding.span.path for finding in found if not finding.is_note}
    reach = [entry["case"] for entry in entries if entry["check"] in REACH]
    flagged = sum(f"{name}/bad.py" in loud for name in reach)
    alarms = sum(f"{entry['case']}/good.py" in loud for entry in entries)
    return (
        f"re-created bugs {who}: {flagged} of {len(reach)} wrong ones within reach flagged "
        f"({percent(flagged, len(reach)):.0f} %), {alarms} of {len(entries)} right ones"
    )


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--semgrep", default="semgrep", metavar="COMMAND", help="how to call it; default: %(default)s")
    parser.add_argument("--shared", type=Path, default=SHARED, metavar="DIR", help="where truth/ and cases/ are")
    chosen = parser.parse_args()
    for name in TREES:
        tree = release(name, chosen.releases)
        for who in ("moelint", "semgrep"):
            before = seconds()
            found = run(tree).findings if who == "moelint" else semgrep(chosen.semgrep, tree)
            print(sites(name, who, found, seconds() - before, chosen.shared / "truth"), flush=True)
    folder = chosen.shared / "cases"
    print(cases("moelint", run(folder).findings, folder))
    print(cases("semgrep", semgrep(chosen.semgrep, folder), folder))
    return 0


if __name__ == "__main__":
    sys.exit(hold(exam))
