"""Hold `moelint check --fix` against whole routes: `python bench/exam_fixes.py --releases DIR`.

A maintainer has the central helper (the newer release) and models that do not ask it yet: files of the older release,
put into the newer tree. One line is carried over with them, since the newer routers want to be told the experts' back
end. The fixes are written, and the route table says how many cells of each route were wrong before and are wrong after;
beside it, what the newer release's own repair comes to.
"""

from __future__ import annotations

import argparse
import ast
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_common import ExamError

OLD, NEW = "sglang-0.5.22", "sglang-0.5.23"
SOURCES = "sglang/srt"
BINDING = "self.topk.bind_runner_backend("


@dataclass(frozen=True, slots=True)
class Item:
    """One block whose epilogues are to be repaired: its file, and the routes that a local fix can make right."""

    name: str
    file: str
    block: str
    routes: tuple[str, ...]


ITEMS = (
    Item("GLM, all-to-all", "models/glm4_moe.py", "Glm4MoeSparseMoeBlock", ("forward_deepep",)),
    Item("GLM lite, all-to-all", "models/glm4_moe_lite.py", "Glm4MoeLiteSparseMoeBlock", ("forward_deepep",)),
    Item("dots3, all-to-all", "models/dots3_common/modeling.py", "Dots3MoE", ("forward_deepep",)),
    Item("Bailing v3, all-to-all", "models/bailing_moe_v3.py", "BailingMoE", ("forward_deepep",)),
    Item("Bailing, fold flag", "models/bailing_moe.py", "BailingMoESparseMoeBlock", ()),
)


@dataclass(frozen=True, slots=True)
class Count:
    """Cells of one route by verdict."""

    wrong: int
    unknown: int
    right: int

    def __str__(self) -> str:
        return f"{self.wrong} wrong, {self.right} right" + (f", {self.unknown} unknown" if self.unknown else "")


def moelint(*words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "moelint", *map(str, words)], capture_output=True, text=True)


def table(tree: Path, block: str) -> dict[str, Count]:
    """The routes of a block with the verdicts of their cells about scales. Raises ExamError."""
    done = moelint("routes", "--no-cache", "--jobs", "1", "--json", tree / "sglang", block)
    if done.returncode not in (0, 1):
        raise ExamError(done.stderr.strip())
    cells: list[dict[str, Any]] = [cell for cell in json.loads(done.stdout)["cells"] if cell["question"] == "scale"]
    routes = dict.fromkeys(cell["route"] for cell in cells)
    return {
        route: Count(
            *(
                sum(cell["route"] == route and cell["verdict"] == verdict for cell in cells)
                for verdict in ("wrong", "unknown", "right")
            )
        )
        for route in routes
    }


def carried_over(old: str, new: str) -> str:
    """The old file with the new file's line that binds the router to a back end, once router and experts exist."""
    binding = next((statement for statement in _statements(new) if BINDING in _text(new, statement)), None)
    built = [
        statement
        for statement in _statements(old)
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) in ("self.topk", "self.experts")
    ]
    if binding is None or not built:
        return old
    lines = old.splitlines(keepends=True)
    last = max(built, key=lambda statement: statement.lineno)
    lines.insert(last.end_lineno or last.lineno, f"{' ' * last.col_offset}{ast.unparse(binding)}\n")
    return "".join(lines)


def _statements(text: str) -> list[ast.stmt]:
    """All statements but those that hold others."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.stmt) and not hasattr(node, "body")]


def _text(source: str, node: ast.AST) -> str:
    return ast.get_source_segment(source, node) or ""


def hold(item: Item, releases: Path, tree: Path) -> Iterator[tuple[str, Count, Count, Count, str]]:
    """Put the old file into the new tree, fix it, and compare. Restores the new file. Raises ExamError."""
    place = tree / SOURCES / item.file
    theirs = table(tree, item.block)
    kept = place.read_bytes()
    try:
        old = (releases / OLD / SOURCES / item.file).read_text(encoding="utf-8")
        place.write_text(carried_over(old, kept.decode()), encoding="utf-8")
        before = table(tree, item.block)
        done = moelint("check", "--isolated", "--no-cache", "--fix", place)
        if done.returncode not in (0, 1):
            raise ExamError(done.stderr.strip())
        said = next((line for line in done.stderr.splitlines() if "fixed in" in line), "").removeprefix("moelint: ")
        after = table(tree, item.block)
    finally:
        place.write_bytes(kept)
    nothing = Count(0, 0, 0)
    for route in item.routes or tuple(before):
        yield route, before.get(route, nothing), after.get(route, nothing), theirs.get(route, nothing), said


def main() -> int:
    """Prints one line for each route. With --check, 1 if a route that is to be right after the fix is not."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--releases", type=Path, default=Path(".releases"), help=f"a folder with {OLD} and {NEW}")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a cell is wrong after the fix")
    options = parser.parse_args()
    failed = False
    try:
        with tempfile.TemporaryDirectory(prefix="moelint-exam-") as scratch:
            tree = Path(scratch)
            shutil.copytree(
                options.releases / NEW / SOURCES,
                tree / SOURCES,
                ignore=lambda folder, names: _not_python(folder, names),
            )
            for path in (options.releases / NEW / "sglang").glob("*.py"):
                shutil.copy(path, tree / "sglang")
            for item in ITEMS:
                for route, before, after, theirs, said in hold(item, options.releases, tree):
                    failed = failed or (
                        bool(item.routes) and (after.wrong > 0 or after.right == 0 or before.wrong == 0)
                    )
                    print(
                        f"{item.name}: {item.block}.{route}: {before} -> {after} ({said}); {NEW} itself: {theirs}",
                        flush=True,
                    )
    except (ExamError, OSError) as error:
        print(f"exam_fixes: {error}", file=sys.stderr)
        return 2
    return 1 if failed and options.check else 0


def _not_python(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not name.endswith(".py") and not Path(folder, name).is_dir()}


if __name__ == "__main__":
    sys.exit(main())
