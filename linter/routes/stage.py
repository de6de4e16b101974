"""What `moelint check --routes` does after the files: tables for the blocks in them, and their findings."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moelint.linter import pool, reading, registry
from moelint.linter.identity import Identities
from moelint.linter.routes.driver import Knowledge
from moelint.linter.routes.findings import SourceFile, SourceFiles, WrongSite, wrong_sites
from moelint.linter.routes.knowledge import frameworks, knowledge, knowledge_of_file, with_profile
from moelint.linter.routes.table import RouteTable, counts
from moelint.linter.routes.tables import Job, may_hold_blocks, root_of, tables_of
from moelint.linter.rule import RouteRule
from moelint.linter.suppress import Suppressions, has_comments

if TYPE_CHECKING:
    from moelint.linter.plan import Plan
    from moelint.linter.records import FindingRow, Record, RelatedRow
    from moelint.linter.registry import RuleEntry

_UNUSED = "MOE903"


@dataclass(slots=True)
class Result:
    """The rows to add, by path as the run names it, and what there is to say of routes that were not decided."""

    records: dict[str, Record] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)


def check_routes(paths: Sequence[str], plan: Plan, texts: Mapping[str, bytes]) -> Result:
    """Analyse the blocks in `paths`. `texts` holds the bytes of absolute paths that are not to be read from disk."""
    result = Result()
    rules = [rule for rule in plan.rules if rule.by_routes]
    if not rules:
        result.remarks.append("no rule about routes is selected: --routes changes nothing")
        return result
    shown = {os.path.abspath(path): path for path in paths}
    tables: list[RouteTable] = []
    outside = 0
    for (root, _), (known, files) in sorted(_jobs(shown, plan, texts).items()):
        if not root:
            outside += len(files)
            continue
        store = os.path.join(plan.cache_dir, "routes") if plan.cache_dir else None
        overlays = {path: data for path, data in texts.items() if path.startswith(root)}
        job = Job(root, known, store, plan.jobs or pool.processors(), overlays)
        found = tables_of(job, files)
        tables += found
        _add_findings(result, found, job, rules, plan, shown)
    result.remarks.append(_counted(tables, outside))
    return result


def _jobs(
    shown: Mapping[str, str], plan: Plan, texts: Mapping[str, bytes]
) -> dict[tuple[str, int], tuple[Knowledge, list[str]]]:
    """The files that may hold blocks, by the root of their package and by what is known of their framework. The root
    is empty for files outside of any package of their framework."""
    chooser = plan.chooser()
    known: dict[str, Knowledge | None] = {}
    jobs: dict[tuple[str, int], tuple[Knowledge, list[str]]] = {}
    for path in shown:
        try:
            data = texts.get(path) or reading.read(path)[0]
        except OSError:
            continue
        profile = chooser.choose(path, data)
        if profile not in known:
            known[profile] = _knowledge(profile, plan)
        facts = known[profile]
        if facts is None or not may_hold_blocks(data.decode("utf-8", "replace"), facts):
            continue
        root = root_of(path, facts.profile.packages) or ""
        jobs.setdefault((root, id(facts)), (facts, []))[1].append(path)
    return jobs


def _knowledge(profile: str, plan: Plan) -> Knowledge | None:
    """What is known of the routes of a profile; of one that extends a built-in one, what is known of that."""
    own = plan.profile_file if profile == plan.forced else None
    data = registry.build_profile(plan.profiles[profile])
    if own is not None:
        found = knowledge_of_file(own, data)
        if found is not None:
            return found
    for framework in frameworks():
        known = knowledge(framework)
        if frozenset(known.profile.packages) & frozenset(data.packages):
            return known if known.profile == data else with_profile(known, data)
    return None


def _add_findings(
    result: Result,
    tables: Sequence[RouteTable],
    job: Job,
    rules: Sequence[RuleEntry],
    plan: Plan,
    shown: Mapping[str, str],
) -> None:
    files = SourceFiles(job.root, job.texts)
    classes = [rule.load() for rule in rules]
    by_code = {rule.code: rule for rule in rules}
    sites: dict[str, list[WrongSite]] = {}
    for site in wrong_sites(tables, [c for c in classes if issubclass(c, RouteRule)], files, shown):
        sites.setdefault(site.file.path, []).append(site)
    for table in tables:
        file = files.get(table.path)
        if file is not None and has_comments(file.source.data):
            sites.setdefault(file.path, [])
    homes = {os.path.join(job.root, table.path) for table in tables}
    for path, here in sites.items():
        file = files.get(os.path.relpath(path, job.root))
        if file is None:
            continue
        name = shown.get(path, path)
        told = {rule.code for rule in plan.rules_for(path, rules)}
        identities = Identities(plan.project_path(path), file.tree)
        rows = sorted(_row(site, files, by_code, identities, plan, job, shown) for site in here)
        rows = [row for row in rows if row[4] in told]
        record = _suppressed(rows, file, identities, plan, told if path in homes else set())
        if any(record[:2]):
            result.records[name] = record


def _row(
    site: WrongSite,
    files: SourceFiles,
    rules: Mapping[str, RuleEntry],
    identities: Identities,
    plan: Plan,
    job: Job,
    shown: Mapping[str, str],
) -> FindingRow:
    rule = rules[site.rule.code]
    region = site.file.source.region(site.statement)
    end_line, end_col = region.end_line, region.end_col
    first = next(iter(getattr(site.statement, "body", ())), None)
    if first is not None:
        end_line, end_col = region.line, len(site.file.source.line_text(region.line)) + 1
    related = tuple(_related(site, files, job, shown))
    identity = identities.of_node(rule.code, site.qualname, site.statement)
    where = (region.line, region.col, end_line, end_col)
    message = site.message(job.known.facts.order)
    return (*where, rule.code, message, site.qualname, plan.severity_of(rule), related, identity)


def _related(site: WrongSite, files: SourceFiles, job: Job, shown: Mapping[str, str]) -> Iterator[RelatedRow]:
    for path, line, text in site.related(files):
        file = files.get(os.path.relpath(path, job.root))
        if file is not None:
            code = file.source.line_text(line)
            start = len(code) - len(code.lstrip()) + 1
            yield line, start, line, len(code) + 1, text, shown.get(path, path)


def _suppressed(
    rows: list[FindingRow], file: SourceFile, identities: Identities, plan: Plan, judged: set[str]
) -> Record:
    """The record of a file after its comments had their say. Comments about `judged` rules that hide nothing are
    findings themselves."""
    if not has_comments(file.source.data):
        return tuple(rows), (), (), True
    try:
        comments = Suppressions(file.source.text, plan, identities)
    except (SyntaxError, ValueError):
        return tuple(rows), (), (), True
    unused = {_UNUSED} & {rule.code for rule in plan.rules} if judged else set()
    kept, hidden = comments.apply(rows, judged | unused)
    return tuple(kept), tuple(hidden), (), True


def _counted(tables: Iterable[RouteTable], outside: int) -> str:
    tables = list(tables)
    total = counts(tables)
    text = (
        f"routes: {total['blocks']} blocks, {total['routes']} routes: {total['right']} right, {total['wrong']} wrong, "
        f"{total['unknown']} unknown, {total['refused']} refused"
    )
    if total["failed"]:
        text += f"; {total['failed']} blocks were not analysed"
    if outside:
        text += f"; {outside} files with blocks lie outside of a package and were not analysed"
    return text + ("; `moelint routes` says why" if total["unknown"] or total["failed"] else "")
