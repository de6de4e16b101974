"""Build the documentation as a web site in site/: `python tools/make_site.py`.

A page in no section of the navigation, a link or an anchor that leads nowhere, or a warning of the builder fails it.
Exit codes: 0 built, 1 something is wrong with the pages, 2 the builder is missing. `--where-possible` makes it 0 on a
Python that the builder does not support.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
BUILDER = "zensical"
OLDEST = (3, 11)
"""The oldest Python that the builder supports."""
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


def listed(nav: Any) -> Iterator[str]:
    """The pages of a navigation: strings, and mappings of a title to a page or to a list of the same."""
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for item in nav.values():
            yield from listed(item)
    elif isinstance(nav, list):
        for item in nav:
            yield from listed(item)


def misplaced(nav: Any, docs: Path) -> list[str]:
    """A line for each page of `docs` that is not exactly once in `nav`, and each entry of `nav` without a page."""
    counts = Counter(listed(nav))
    present = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    return [
        *(f"docs/{page} is in no section of `nav` in mkdocs.yml" for page in sorted(present - counts.keys())),
        *(f"mkdocs.yml: `nav` names {page}, which is not in docs/" for page in sorted(counts.keys() - present)),
        *(f"mkdocs.yml: `nav` names {page} {n} times" for page, n in sorted(counts.items()) if n > 1),
    ]


def build() -> list[str]:
    """Run the builder. What it complained of, without colours and the traceback that its strict mode ends with."""
    done = subprocess.run(
        [sys.executable, "-m", BUILDER, "build", "--clean", "--strict"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    if done.returncode == 0:
        return []
    said = _COLOUR.sub("", done.stdout + done.stderr)
    return said.partition("Traceback (most recent call last)")[0].splitlines() or ["the builder failed"]


def problems() -> list[str]:
    """What is wrong with the pages, from what is cheapest to find; no problem means that site/ is built."""
    import site_links
    import yaml

    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    found = misplaced(config["nav"], ROOT / config["docs_dir"]) or build()
    return found or list(site_links.broken(ROOT / config["site_dir"]))


def main(argv: list[str]) -> int:
    if sys.version_info < OLDEST:
        print(f"the site is not built: {BUILDER} needs Python {OLDEST[0]}.{OLDEST[1]} or newer", file=sys.stderr)
        return 0 if "--where-possible" in argv else 2
    if find_spec(BUILDER) is None:
        print(f"the site is not built: {BUILDER} is missing; make site installs it", file=sys.stderr)
        return 2
    found = problems()
    for line in found:
        print(line, file=sys.stderr)
    if not found:
        print("site/index.html")
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
