"""Count what route analysis decides in a release: `python bench/exam_coverage.py --releases DIR`.

The pairs (block class, route) of a release, those of classes whose text names the factor or fuses shared experts apart.
A pair is *decided* if no cell of it is unknown, and *partly* if some are and some are not. Each unknown cell's reason
is printed, and the processor seconds of all of it.
"""

from __future__ import annotations

import ast
import resource
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from exam_common import arguments, hold, percent, release

from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.table import RouteTable
from moelint.linter.routes.tables import Request, route_tables

TREE = "sglang-0.5.23"
LEAST = 90.0
FUSES = "fused_shared_expert"


def concerned(root: Path, entry: RouteTable, words: Iterable[str]) -> bool:
    """Whether the text of the block's class has one of the words."""
    source = (root / entry.path).read_text("utf-8")
    classes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))
    texts = (ast.get_source_segment(source, node) or "" for node in classes if node.name == entry.block)
    return any(word in text for text in texts for word in words)


def states(entry: RouteTable) -> dict[str, str]:
    """Route -> decided, partly or unknown."""
    found = {}
    for route in entry.routes:
        verdicts = {cell.outcome.verdict for cell in entry.cells if cell.route == route}
        found[route] = "decided" if "unknown" not in verdicts else "partly" if len(verdicts) > 1 else "unknown"
    return found


def used() -> float:
    """Processor seconds of this process and of its children so far."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in spent)


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--tree", default=TREE, metavar="NAME-VERSION", help=f"default: {TREE}")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help=f"exit 1 below {LEAST:.0f} %% decided")
    chosen = parser.parse_args()
    root = release(chosen.tree, chosen.releases)
    words = (FUSES, *knowledge("sglang").profile.factor)
    before = used()
    tables = route_tables(Request(str(root), jobs=chosen.jobs))
    spent = used() - before
    pairs: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    for entry in tables:
        pairs[concerned(root, entry, words)].update(states(entry).values())
        if entry.failure:
            print(f"  FAILED {entry.block} {entry.path}:{entry.line}: {entry.failure}")
        reasons = Counter((c.route, c.outcome.reason) for c in entry.cells if c.outcome.verdict == "unknown")
        for (route, reason), number in sorted(reasons.items()):
            print(f"  UNKNOWN {entry.block}.{route}: {number} cells: {reason}")
    shares = {}
    for concern, label in ((True, "that name the factor or fuse shared experts"), (False, "of other classes")):
        count = pairs[concern]
        shares[concern] = percent(count["decided"], count.total())
        print(
            f"{count.total()} pairs {label}: {count['decided']} decided or refused ({shares[concern]:.1f} %), "
            f"{count['partly']} partly, {count['unknown']} unknown"
        )
    failed = sum(bool(entry.failure) for entry in tables)
    print(f"{len(tables)} blocks, {failed} failed, {spent:.1f} s of processor time")
    return 1 if chosen.check and (shares[True] < LEAST or failed) else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
