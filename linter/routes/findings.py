"""Wrong cells as findings: one for each line that should change, with the configurations merged into its message."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from moelint.linter.diagram import FALSE, Cube, Diagrams
from moelint.linter.identity import child_statements
from moelint.linter.routes.cells import Cell
from moelint.linter.routes.cover import cover, in_words
from moelint.linter.routes.judge import Breach
from moelint.linter.routes.table import RouteTable
from moelint.linter.routes.units import Step, StepKind
from moelint.linter.rule import RouteRule
from moelint.linter.source import Source

_CONDITIONS = 6
"""A message lists so many conditions of one outcome."""
_PLACES = 12


@dataclass(slots=True)
class WrongSite:
    """What one rule has to say of one statement. Paths are absolute."""

    rule: type[RouteRule]
    file: SourceFile
    statement: ast.stmt
    qualname: str
    cells: list[tuple[RouteTable, Cell, Breach]] = field(default_factory=list)

    def message(self, order: Sequence[str]) -> str:
        """Which routes end how, and in which configurations."""
        groups: dict[str, dict[tuple[str, str], None]] = {}
        tables: dict[tuple[str, str, str], RouteTable] = {}
        for table, cell, breach in self.cells:
            groups.setdefault(breach.text, {})[cell.block, cell.route] = None
            tables[breach.text, cell.block, cell.route] = table
        sentences = []
        for text, routes in groups.items():
            ends: dict[str, list[str]] = {}
            for block, route in routes:
                words = _conditions(tables[text, block, route], route, text, order)
                ends.setdefault(words, []).append(f"`{route}`" if block == route else f"`{block}.{route}`")
            sentences += [f"{text} at the end of {_listed(names)}: {words}." for words, names in ends.items()]
        first = sentences[0]
        return " ".join([first[:1].upper() + first[1:], *(s[:1].upper() + s[1:] for s in sentences[1:])])

    def related(self, files: SourceFiles) -> list[tuple[str, int, str]]:
        """The steps of the first cell, as (path, line, text). Steps in model functions have no file of the tree: they
        are told with the next step that has one."""
        found: list[tuple[str, int, str]] = []
        told: list[str] = []
        for step in self.cells[0][1].trace[-3 * _PLACES :]:
            if step.kind == "end":
                continue
            file = files.get(step.path)
            if file is None:
                told.append(f"{step.what} (contract {step.path}:{step.line})")
            else:
                found.append((file.path, step.line, "; then ".join([*told, step.what])))
                told = []
        if told:
            found.append((self.file.path, self.statement.lineno, "; then ".join(told)))
        return found[-_PLACES:]


class SourceFile:
    """A file of the analysed tree with its syntax tree."""

    def __init__(self, path: str, data: bytes) -> None:
        self.path = path
        self.source = Source(path, data)
        self.tree = ast.parse(data)

    def statement(self, line: int) -> tuple[ast.stmt, str] | None:
        """The innermost statement at a line, and the qualified name of the function or class around it."""
        names: list[str] = []
        found: ast.stmt | None = None
        block: Iterable[ast.stmt] = self.tree.body
        while True:
            inner = next((s for s in block if s.lineno <= line <= (s.end_lineno or s.lineno)), None)
            if inner is None:
                return None if found is None else (found, ".".join(names) or "<module>")
            if isinstance(found, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.append(found.name)
            found, block = inner, child_statements(inner)


class SourceFiles:
    """The files below a root, read when they are asked for."""

    def __init__(self, root: str, texts: Mapping[str, bytes]) -> None:
        self._root = root
        self._texts = texts
        self._files: dict[str, SourceFile | None] = {}

    def get(self, relative: str) -> SourceFile | None:
        """None for what is no readable file of the tree."""
        if relative not in self._files:
            path = os.path.join(self._root, relative)
            try:
                data = self._texts.get(path)
                if data is None:
                    with open(path, "rb") as stream:
                        data = stream.read()
                found = SourceFile(path, data)
            except (OSError, SyntaxError, ValueError, RecursionError):
                found = None
            self._files[relative] = found
        return self._files[relative]


def wrong_sites(
    tables: Iterable[RouteTable], rules: Sequence[type[RouteRule]], files: SourceFiles, allowed: Iterable[str]
) -> list[WrongSite]:
    """Every statement that a rule reports. Findings lie in `allowed` files (absolute paths) only: where the guilty
    line is elsewhere, the route's end or the block's head is reported instead."""
    inside = frozenset(allowed)
    found: dict[tuple[str, str, int, int], WrongSite] = {}
    for table in tables:
        for cell in table.cells:
            if cell.outcome.verdict != "wrong":
                continue
            breaches = {breach.part: breach for breach in reversed(cell.outcome.breaches)}
            for rule in rules:
                breach = None if rule.yields_to in breaches else breaches.get(rule.part)
                place = _place(table, cell, breach, files, inside) if breach is not None else None
                if breach is None or place is None:
                    continue
                file, (statement, qualname) = place
                key = (rule.code, file.path, statement.lineno, statement.col_offset)
                site = found.setdefault(key, WrongSite(rule, file, statement, qualname))
                site.cells.append((table, cell, breach))
    return sorted(found.values(), key=lambda site: (site.file.path, site.statement.lineno, site.rule.code))


def _place(
    table: RouteTable, cell: Cell, breach: Breach, files: SourceFiles, allowed: frozenset[str]
) -> tuple[SourceFile, tuple[ast.stmt, str]] | None:
    """The line that should change; where it is not among the allowed files, the end of the route, or the block."""
    ends = [step for step in cell.trace if step.kind == "end"]
    candidates = [*_guilty(cell, breach), *reversed(ends)]
    for path, line in [*((step.path, step.line) for step in candidates), (cell.path, cell.line)]:
        file = files.get(path)
        if file is not None and file.path in allowed:
            statement = file.statement(line)
            if statement is not None:
                return file, statement
    file = files.get(table.path)
    statement = file.statement(table.line) if file is not None else None
    return (file, statement) if file is not None and statement is not None else None


def _guilty(cell: Cell, breach: Breach) -> list[Step]:
    """The steps to blame, the likeliest first; none where something is missing."""
    kinds: tuple[StepKind, ...]
    if breach.part == "reduction":
        kinds = ("sum",) if breach.surplus > 0 else ("add", "sum")
    elif breach.part == "slot":
        kinds = ("slot", "scale") if breach.surplus else ()
    elif breach.surplus > 0:
        kinds = ("scale",)
    else:
        kinds = ("scale",) if breach.part == "shared" and breach.surplus < 0 else ()
    found: list[Step] = []
    for kind in kinds:
        steps = [step for step in reversed(cell.trace) if step.kind == kind]
        found += [step for step in steps if step.path == cell.path]
        found += [step for step in steps if step.path != cell.path]
    return found


def _conditions(table: RouteTable, route: str, text: str, order: Sequence[str]) -> str:
    """Where a route has outcomes with this breach, merged over the other parts' outcomes."""
    diagrams = Diagrams()
    for name in order:
        diagrams.variable(name)
    nodes = diagrams.load(table.shapes.rows)
    target, world = FALSE, FALSE
    question = next(
        outcome.question for _, outcome, _ in table.shapes.places if any(b.text == text for b in outcome.breaches)
    )
    for name, outcome, position in table.shapes.places:
        if name != route or outcome.question != question:
            continue
        world = diagrams.disj(world, nodes[position])
        if any(breach.text == text for breach in outcome.breaches):
            target = diagrams.disj(target, nodes[position])
    return in_conditions(cover(diagrams, target, world, order), order)


def in_conditions(cubes: list[Cube], order: Sequence[str]) -> str:
    """Some conditions as one text."""
    words = [in_words(cube, order) for cube in cubes]
    shown = words[:_CONDITIONS]
    if len(words) > len(shown):
        shown.append(f"{len(words) - len(shown)} more conditions (`moelint routes` lists them)")
    if shown == ["always"]:
        return "in every configuration"
    return "when " + "; or ".join(shown)


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
