"""Check the links of a built site without network: files that links lead to, and anchors in them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src"}


@dataclass(slots=True)
class Page:
    """What a page offers and what it asks for."""

    anchors: set[str] = field(default_factory=set)
    links: list[tuple[int, str]] = field(default_factory=list)
    """Line and target, in the order of the page."""


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.page = Page()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.page.anchors |= {given[name] for name in ("id", "name") if name in given}
        target = given.get(_LINKS.get(tag, ""))
        if target is not None:
            self.page.links.append((self.getpos()[0], target))


def read(path: Path) -> Page:
    reader = _Reader()
    reader.feed(path.read_text(encoding="utf-8"))
    reader.close()
    return reader.page


def broken(site: Path) -> Iterator[str]:
    """A line for each link below `site` that leads nowhere, out of the site, or to a missing anchor. Addresses with a
    scheme or a host are not followed; the page for missing addresses is served anywhere, so its links are left out."""
    site = site.resolve()
    pages = {path: read(path) for path in sorted(site.rglob("*.html")) if path != site / "404.html"}
    for path, page in pages.items():
        for line, link in page.links:
            problem = _problem(site, pages, path, link)
            if problem:
                yield f"{path.relative_to(site).as_posix()}:{line}: {link}: {problem}"


def _problem(site: Path, pages: dict[Path, Page], page: Path, link: str) -> str | None:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return None
    if parts.path.startswith("/"):
        return "an absolute path breaks where the site does not lie at the root"
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target.is_dir():
        target /= "index.html"
    if not target.is_relative_to(site):
        return "leads out of the site"
    if not target.is_file():
        return "no such file"
    anchor = unquote(parts.fragment)
    if anchor and target in pages and anchor not in pages[target].anchors:
        return "no such anchor"
    return None
