"""The site has every page in its navigation, and links that lead nowhere are found; the builder is not needed here."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

ROOT = Path(__file__).parents[2]


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"moelint_{name}", ROOT / "tools" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


site, links, nav = load("make_site"), load("site_links"), load("make_nav")


def test_every_page_has_its_place() -> None:
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert site.misplaced(config["nav"], ROOT / "docs") == []


def test_a_page_out_of_place_is_named(tmp_path: Path) -> None:
    for page in ("index.md", "lost.md", "rules/a.md"):
        (tmp_path / page).parent.mkdir(exist_ok=True)
        (tmp_path / page).touch()
    tree = ["index.md", {"Rules": [{"family": [{"A": "rules/a.md"}]}, "rules/a.md", {"Gone": "gone.md"}]}]
    assert site.misplaced(tree, tmp_path) == [
        "docs/lost.md is in no section of `nav` in mkdocs.yml",
        "mkdocs.yml: `nav` names gone.md, which is not in docs/",
        "mkdocs.yml: `nav` names rules/a.md 2 times",
    ]


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("b.html", None),
        ("b.html#here", None),
        ("b.html#h%C3%A9", None),
        ("#top", None),
        ("folder/", None),
        ("data.json", None),
        ("https://example.org/nowhere", None),
        ("b.html#gone", "no such anchor"),
        ("#gone", "no such anchor"),
        ("gone.html", "no such file"),
        ("folder/gone.yml", "no such file"),
        ("../outside.html", "leads out of the site"),
        ("/b.html", "an absolute path breaks where the site does not lie at the root"),
    ],
)
def test_links(tmp_path: Path, link: str, problem: str | None) -> None:
    folder = tmp_path / "site"
    (folder / "folder").mkdir(parents=True)
    (tmp_path / "outside.html").touch()
    (folder / "data.json").touch()
    (folder / "folder" / "index.html").write_text('<img src="../data.json">')
    (folder / "b.html").write_text('<h1 id="here"></h1><a name="h\u00e9"></a>', encoding="utf-8")
    (folder / "a.html").write_text(f'<h1 id="top"></h1>\n<a href="{link}">x</a>')
    (folder / "404.html").write_text('<a href="/base/b.html">x</a>')
    assert list(links.broken(folder)) == ([f"a.html:2: {link}: {problem}"] if problem else [])


def test_the_rules_of_the_navigation_are_written_between_their_marks() -> None:
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert nav.renewed(text) == text
    assert nav.renewed(text.replace("          - MOE401 guard-not-asking: rules/guard-not-asking.md\n", "")) == text
    with pytest.raises(ValueError, match="lacks the marks"):
        nav.renewed(text.replace("# end of rules", ""))
