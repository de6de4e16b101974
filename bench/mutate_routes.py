"""Edit the blocks of a release in memory and count what the route table sees: `python bench/mutate_routes.py`.

Each mutant is one small semantic edit (`route_mutants.py`) of a block's class, or of the top-k module that decides for
it. The tree on disk is not touched: the edited text is laid over it, and only the mutated block is analysed again. A
mutant is *found* if an outcome of some configuration changed, *wrong* if a wrong or refused one is new, and else it
survives; one of the top-k module is tried on several blocks, since not each uses all of it. Not counted are mutants
that change nothing in truth: an edit to the same syntax tree, one in a statement that no configuration reaches under
the deployment facts (its line was never interpreted), and one of a guard whose body is never reached, before or after.
"""

from __future__ import annotations

import ast
import random
import sys
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from exam_common import ExamError, arguments, hold, percent, release
from route_mutants import FACTOR, Mutant, mutants

from moelint.linter.routes import execute
from moelint.linter.routes.blocks import Block, find_blocks
from moelint.linter.routes.compare import changed_cells
from moelint.linter.routes.driver import analyse
from moelint.linter.routes.frames import Frame
from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.machine import Machine
from moelint.linter.routes.project import Project
from moelint.linter.routes.table import RouteTable, table

TREE = "sglang-0.5.23"
TOPK = "sglang/srt/layers/moe/topk.py"
BLOCKS = (
    ("sglang/srt/models/glm4_moe.py", "Glm4MoeSparseMoeBlock"),
    ("sglang/srt/models/glm4_moe_lite.py", "Glm4MoeLiteSparseMoeBlock"),
    ("sglang/srt/models/dots3_common/modeling.py", "Dots3MoE"),
    ("sglang/srt/models/bailing_moe_v3.py", "BailingMoE"),
    ("sglang/srt/models/step3p5.py", "Step3p5MoEMLP"),
    ("sglang/srt/models/bailing_moe.py", "BailingMoESparseMoeBlock"),
    ("sglang/srt/models/deepseek_v2.py", "DeepseekV2MoE"),
)
ROUTER_BLOCKS = ("Glm4MoeSparseMoeBlock", "BailingMoE", "DeepseekV2MoE")
"""Who a mutant of the top-k module is tried on until one sees it, the cheapest first."""
LEAST = 95.0


@dataclass(frozen=True, slots=True)
class Task:
    """One mutant and the blocks, as (path, name), that are analysed for it until one sees it."""

    root: str
    blocks: tuple[tuple[str, str], ...]
    mutant: Mutant


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of a mutant: `found`, `wrong`, `survived`, or `same` and `dead` for those that do not count."""

    task: Task
    state: str
    note: str = ""


def tasks(root: Path, blocks: Sequence[tuple[str, str]]) -> list[Task]:
    """Every mutant of the blocks' classes and of their module's helpers, and of the top-k module."""
    found = [
        Task(str(root), ((path, name),), mutant)
        for path, name in blocks
        for mutant in mutants(path, _read(root / path), lambda top, name=name: _concerns(top, name))  # type: ignore[misc]
    ]
    judges = tuple(block for block in blocks if block[1] in ROUTER_BLOCKS) or tuple(blocks[:1])
    return found + [Task(str(root), judges, mutant) for mutant in mutants(TOPK, _read(root / TOPK), _is_function)]


def _concerns(top: ast.AST, name: str) -> bool:
    if isinstance(top, ast.ClassDef):
        return top.name == name
    return _is_function(top) and FACTOR.search(ast.unparse(top)) is not None


def _is_function(top: ast.AST) -> bool:
    return isinstance(top, (ast.FunctionDef, ast.AsyncFunctionDef))


def judge(task: Task) -> Verdict:
    """Analyse the mutated blocks, one after the other, and compare each with the block as it is."""
    source = _read(Path(task.root, task.mutant.path))
    text = task.mutant.apply(source)
    try:
        if ast.dump(ast.parse(text)) == ast.dump(ast.parse(source)):
            return Verdict(task, "same")
    except SyntaxError as error:
        return Verdict(task, "same", f"does not parse: {error.msg}")
    verdict = Verdict(task, "dead")
    for path, block in task.blocks:
        state, note = _judged(task, path, block, source, text)
        if state in ("wrong", "found"):
            return Verdict(task, state)
        if state == "survived":
            verdict = Verdict(task, state, note)
    return verdict


def _judged(task: Task, path: str, block: str, source: str, text: str) -> tuple[str, str]:
    mutant = task.mutant
    base, lines = _baseline(task.root, path, block)
    if (mutant.path, mutant.line) not in lines:
        return "dead", ""
    changed, after = _watched(task.root, path, block, {mutant.path: text})
    if changed.failure:
        return "survived", changed.failure
    changes = changed_cells([base], [changed], knowledge("sglang").facts.order)
    if any("wrong" in change["new"] and change["old"] != change["new"] for change in changes):
        return "wrong", ""
    if changes:
        return "found", ""
    bodies = _guarded(source, text, mutant.line)
    if bodies and (mutant.path, bodies[0]) not in lines and (mutant.path, bodies[1]) not in after:
        return "dead", ""
    return "survived", ""


def _guarded(before: str, after: str, line: int) -> tuple[int, int] | None:
    """The first line under the `if` whose test holds this line, before and after the edit; None if there is none."""
    old, new = ([node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.If)] for text in (before, after))
    if len(old) != len(new):
        return None
    for one, other in zip(old, new, strict=True):
        if one.lineno <= line <= (one.test.end_lineno or line) and not one.orelse:
            return one.body[0].lineno, other.body[0].lineno
    return None


@lru_cache(maxsize=32)
def _baseline(root: str, path: str, block: str) -> tuple[RouteTable, frozenset[tuple[str, int]]]:
    return _watched(root, path, block, {})


def _watched(
    root: str, path: str, block: str, overlays: dict[str, str]
) -> tuple[RouteTable, frozenset[tuple[str, int]]]:
    """The table of a block, and the lines of the tree that were interpreted in some configuration."""
    seen: set[tuple[str, int]] = set()
    run = execute.block

    def watched(machine: Machine, body: list[ast.stmt], frame: Frame) -> None:
        for statement in body:
            if frame.pc and machine.possible(frame.pc):
                place = machine.project.relative(frame.module.path)
                inner = getattr(statement, "body", None)
                last = inner[0].lineno - 1 if inner else statement.end_lineno or 0
                seen.update((place, line) for line in range(statement.lineno, max(last, statement.lineno) + 1))
            run(machine, [statement], frame)

    execute.block = watched
    try:
        found = _analysed(root, path, block, overlays)
    finally:
        execute.block = run
    return found, frozenset(seen)


def _analysed(root: str, path: str, block: str, overlays: dict[str, str]) -> RouteTable:
    known = knowledge("sglang")
    module = Project(root, overlays).load(path.removesuffix(".py").replace("/", "."))
    if module is None:
        raise ExamError(f"{path} does not parse")
    found: Sequence[Block] = [b for b in find_blocks(module, known.facts, path) if b.name == block]
    if not found:
        raise ExamError(f"{path} has no block {block}")
    return table(analyse(root, found[0], known, overlays))


@lru_cache(maxsize=32)
def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8")
    except OSError as error:
        raise ExamError(str(error)) from error


def report(verdicts: Sequence[Verdict]) -> tuple[str, float]:
    """Recall per kind, and every survivor."""
    lines = []
    kinds = sorted({verdict.task.mutant.kind for verdict in verdicts})
    total = Counter(verdict.state for verdict in verdicts)
    for kind in kinds:
        states = Counter(verdict.state for verdict in verdicts if verdict.task.mutant.kind == kind)
        counted = states["found"] + states["wrong"] + states["survived"]
        skipped = states["same"] + states["dead"]
        lines.append(
            f"{kind:32} {states['found'] + states['wrong']:3} of {counted:3} found, {states['wrong']:3} with a new "
            f"wrong cell; {skipped} not counted"
        )
    for verdict in verdicts:
        if verdict.state == "survived":
            note = f" ({verdict.note})" if verdict.note else ""
            lines.append(f"  SURVIVED {verdict.task.blocks[-1][1]}: {verdict.task.mutant}{note}")
    counted = total["found"] + total["wrong"] + total["survived"]
    recall = percent(counted - total["survived"], counted)
    lines.append(
        f"{counted} mutants, {counted - total['survived']} found ({recall:.1f} %), {total['wrong']} with a new "
        f"wrong cell; not counted: {total['same']} that change no syntax, {total['dead']} that nothing reaches"
    )
    return "\n".join(lines), recall


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--tree", default=TREE, metavar="NAME-VERSION", help=f"default: {TREE}")
    parser.add_argument("--blocks", default="", metavar="NAMES", help="only these classes, separated by commas")
    parser.add_argument("--kinds", default="", metavar="TEXT", help="only kinds that contain this text")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="a sample of N mutants (default: all)")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help=f"exit 1 below {LEAST:.0f} %% recall")
    chosen = parser.parse_args()
    wanted = frozenset(filter(None, chosen.blocks.split(",")))
    blocks = [block for block in BLOCKS if not wanted or block[1] in wanted]
    found = [t for t in tasks(release(chosen.tree, chosen.releases), blocks) if chosen.kinds in t.mutant.kind]
    if chosen.limit and chosen.limit < len(found):
        picked = sorted(random.Random(chosen.seed).sample(range(len(found)), chosen.limit))
        found = [found[index] for index in picked]
    if chosen.jobs > 1:
        with ProcessPoolExecutor(chosen.jobs) as pool:
            verdicts = list(pool.map(judge, found, chunksize=4))
    else:
        verdicts = [judge(task) for task in found]
    text, recall = report(verdicts)
    print(text)
    return 1 if chosen.check and recall < LEAST else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
