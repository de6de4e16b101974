"""Hold the findings against the decision sites of known bugs and their repairs: `python bench/exam_items.py`.

`seed_sites.toml` names the sites. A bug has to be reported in the release that has it, its repair not; where moelint is
known to differ, the site says why.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from exam_common import ExamError, Found, Run, Span, arguments, hold, release, run

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SITES = Path(__file__).with_name("seed_sites.toml")


@dataclass(frozen=True, slots=True)
class Site:
    """A place of one release, and whether it should be reported."""

    tree: str
    place: Span
    reported: bool
    what: str
    known: str


@dataclass(frozen=True, slots=True)
class Item:
    """One bug with its repair."""

    name: str
    title: str
    sites: tuple[Site, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """What moelint says of a site: findings in it, notes in it, and findings elsewhere that refer to it."""

    site: Site
    loud: tuple[Found, ...]
    notes: tuple[Found, ...]
    referring: tuple[Found, ...]

    @property
    def right(self) -> bool:
        return bool(self.loud or self.notes or self.referring) if self.site.reported else not self.loud

    @property
    def expected(self) -> bool:
        """Right, or wrong where that is known."""
        return self.right != bool(self.site.known)

    def __str__(self) -> str:
        want = "bug   " if self.site.reported else "repair"
        said = ", ".join(sorted({f"{finding.code}" for finding in self.loud})) or (
            "note " + ", ".join(sorted({finding.code for finding in self.notes})) if self.notes else ""
        )
        if not said and self.referring:
            said = "related place of " + ", ".join(sorted({finding.code for finding in self.referring}))
        mark = ("ok    ", "STALE ", "DIFFER", "known ")[2 * (not self.right) + bool(self.site.known)]
        why = f" ({self.site.known})" if self.site.known else ""
        return f"  {mark} {want} {self.site.tree} {self.site.place} {self.site.what}: {said or 'silent'}{why}"


def load(path: Path) -> list[Item]:
    """Raises ExamError."""
    try:
        data = tomllib.loads(path.read_text("utf-8"))
        return [
            Item(item["name"], item["title"], tuple(_site(site) for site in item["sites"])) for item in data["item"]
        ]
    except (OSError, KeyError, ValueError) as error:
        raise ExamError(f"{path}: {error!r}") from error


def _site(site: dict[str, Any]) -> Site:
    first, last = site["lines"]
    place = Span(site["path"], first, last)
    return Site(f"sglang-{site['release']}", place, site["reported"], site["what"], site.get("known", ""))


def answer(site: Site, checked: Run) -> Answer:
    if not (checked.folder / site.place.path).is_file():
        raise ExamError(f"{site.tree} has no {site.place.path}")
    inside = [finding for finding in checked.findings if finding.span.meets(site.place)]
    return Answer(
        site,
        tuple(finding for finding in inside if not finding.is_note),
        tuple(finding for finding in inside if finding.is_note),
        tuple(finding for finding in checked.findings if any(place.meets(site.place) for place in finding.related)),
    )


def exam() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--sites", type=Path, default=SITES, metavar="FILE", help=f"default: {SITES.name}")
    parser.add_argument("--check", action="store_true", help="exit 1 if moelint differs where that is not known")
    chosen = parser.parse_args()
    items = load(chosen.sites)
    trees = sorted({site.tree for item in items for site in item.sites})
    runs = {tree: run(release(tree, chosen.releases)) for tree in trees}
    answers: list[Answer] = []
    for item in items:
        print(f"{item.name}: {item.title}")
        for site in item.sites:
            answers.append(answer(site, runs[site.tree]))
            print(answers[-1])
    right = sum(said.right for said in answers)
    known = sum(bool(said.site.known) for said in answers)
    print(f"{right} of {len(answers)} sites as they should be; {known} are known to differ")
    return 1 if chosen.check and not all(said.expected for said in answers) else 0


if __name__ == "__main__":
    sys.exit(hold(exam))
