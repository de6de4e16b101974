"""Hold the route table against known bugs and their repairs: `python bench/exam_routes.py --releases DIR`.

`route_items.toml` names, for each bug, the block, the route, the configuration and the exponent that must be wrong
in one release and no longer in the next; and what the newest release still gets wrong. An item passes if such a region
of the table is found before and gone after, within the configuration that is named.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_common import ExamError, arguments, hold, release

from moelint.linter.diagram import FALSE, Diagrams
from moelint.linter.errors import MoelintError
from moelint.linter.routes.cover import cover, in_words
from moelint.linter.routes.judge import Outcome
from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.table import RouteTable
from moelint.linter.routes.tables import Request, route_tables

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ITEMS = Path(__file__).with_name("route_items.toml")


@dataclass(frozen=True, slots=True)
class Site:
    """One wrong outcome: `part` ends with `power`, somewhere within `where` (atom -> value; "not" for a false one)."""

    path: str
    block: str
    route: str
    part: str
    power: int | None
    where: tuple[tuple[str, str], ...]

    def fits(self, outcome: Outcome) -> bool:
        """Whether an outcome is the wrong one that is meant."""
        if not any(breach.part == self.part for breach in outcome.breaches):
            return False
        found = {"routed": outcome.routed, "slot": outcome.slot}.get(self.part)
        return self.power is None or found == self.power

    def __str__(self) -> str:
        power = "" if self.power is None else f" rsf^{self.power}"
        inside = ", ".join(f"{name}={value}" for name, value in self.where)
        return f"{self.block}.{self.route} {self.part}{power}" + (f" within {inside}" if inside else "")


@dataclass(frozen=True, slots=True)
class Item:
    """A bug: wrong in `before`, right in `after`; without `after` it is known to be there still."""

    name: str
    before: str
    after: str
    sites: tuple[Site, ...]


def load(path: Path) -> list[Item]:
    """Raises ExamError."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        return [
            Item(item["name"], item["before"], item.get("after", ""), tuple(_sites(item["sites"])))
            for item in data["item"]
        ]
    except (OSError, KeyError, ValueError) as error:
        raise ExamError(f"{path}: {error!r}") from error


def _sites(entries: Iterable[dict[str, Any]]) -> Iterator[Site]:
    for entry in entries:
        where = tuple((name, str(value)) for name, value in entry.get("where", {}).items())
        yield Site(entry["path"], entry["block"], entry["route"], entry["part"], entry.get("power"), where)


class Releases:
    """The tables of releases, each block analysed once."""

    def __init__(self, folder: Path, store: str | None, jobs: int) -> None:
        self._folder, self._store, self._jobs = folder, store, jobs
        self._tables: dict[tuple[str, str, str], RouteTable] = {}

    def conditions(self, version: str, site: Site) -> list[str]:
        """Where a release has the outcome of a site; empty if nowhere. Raises ExamError."""
        table = self._table(version, site)
        order = knowledge("sglang").facts.order
        diagrams = Diagrams()
        for name in order:
            diagrams.variable(name)
        nodes = diagrams.load(table.shapes.rows)
        inside = diagrams.all_of(
            diagrams.neg(diagrams.literal(name)) if value == "not" else diagrams.literal(name, [_value(value)])
            for name, value in site.where
        )
        target = world = FALSE
        for route, outcome, position in table.shapes.places:
            if route == site.route and outcome.question == ("reduction" if site.part == "reduction" else "scale"):
                world = diagrams.disj(world, nodes[position])
                if site.fits(outcome):
                    target = diagrams.disj(target, nodes[position])
        target = diagrams.conj(target, inside)
        return [in_words(cube, order) for cube in cover(diagrams, target, diagrams.conj(world, inside), order)]

    def _table(self, version: str, site: Site) -> RouteTable:
        key = (version, site.path, site.block)
        if key not in self._tables:
            path = release(f"sglang-{version}", self._folder) / site.path
            try:
                tables = route_tables(Request(str(path), (site.block,), "sglang", self._store, self._jobs))
            except MoelintError as error:
                raise ExamError(str(error)) from error
            if tables[0].failure:
                raise ExamError(f"sglang-{version} {site.block}: {tables[0].failure}")
            self._tables[key] = tables[0]
        return self._tables[key]


def _value(text: str) -> str | bool:
    return True if text == "true" else text


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--items", type=Path, default=ITEMS, metavar="FILE", help=f"default: {ITEMS.name}")
    parser.add_argument("--only", metavar="TEXT", default="", help="items whose name contains this text")
    parser.add_argument("--store", metavar="DIR", help="where tables are kept from one run to the next")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--check", action="store_true", help="exit 1 unless every item is found before and gone after")
    chosen = parser.parse_args()
    releases = Releases(chosen.releases, chosen.store, chosen.jobs)
    items = [item for item in load(chosen.items) if chosen.only in item.name]
    passed = 0
    for item in items:
        print(f"{item.name}: {item.before}" + (f" -> {item.after}" if item.after else " (still there)"))
        good = True
        for site in item.sites:
            found = releases.conditions(item.before, site)
            left = releases.conditions(item.after, site) if item.after else []
            state = "found" if found else "NOT FOUND"
            if item.after:
                state += ", still there" if left else ", gone after"
            good = good and bool(found) and not left
            print(f"  {state}: {site}", flush=True)
            for condition in (found or [])[:3]:
                print(f"      when {condition}")
            for condition in left[:2]:
                print(f"      AFTER when {condition}")
        passed += good
    print(f"{passed} of {len(items)} items found before and gone after")
    return 1 if chosen.check and passed < len(items) else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
