"""Imports that import-linter cannot tell apart: at module level, and on the way of one run."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HEAVY = {"rich", "libcst", "astroid", "pygls", "lsprotocol", "torch"}
AT_HOME = {"linter/fixing": {"libcst"}, "linter/server": {"pygls", "lsprotocol"}}
"""Packages that may import something heavy at module level, and that nothing else imports at module level."""
SLOW = {"re", "ast", "argparse", "typing", "dataclasses", "inspect", "tomllib", "tomli", "logging", "pathspec"}
CORE = sorted(
    path
    for folder in ("linter", "rules")
    for path in (ROOT / folder).rglob("*.py")
    if ROOT / "rules" / "profiles" not in path.parents
)


def at_module_level(body: list[ast.stmt]) -> Iterator[str]:
    """The modules that importing this code imports, blocks of `if` and `try` included, `TYPE_CHECKING` not."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from at_module_level(node.orelse)
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for field in ("body", "orelse", "finalbody"):
                yield from at_module_level(getattr(node, field, []))
            for handler in getattr(node, "handlers", []):
                yield from at_module_level(handler.body)


@pytest.mark.parametrize("path", CORE, ids=lambda path: str(path.relative_to(ROOT)))
def test_core_imports_nothing_heavy_at_module_level(path: Path) -> None:
    imported = set(at_module_level(ast.parse(path.read_bytes()).body))
    own = next((names for folder, names in AT_HOME.items() if ROOT / folder in path.parents), set())
    assert {name.partition(".")[0] for name in imported} & HEAVY <= own
    homes = [f"moelint.{folder.replace('/', '.')}" for folder in AT_HOME if ROOT / folder not in path.parents]
    assert not any(name.startswith(tuple(homes)) for name in imported)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import rich.console", {"rich.console"}),
        ("try:\n    import libcst\nexcept ImportError:\n    import torch", {"libcst", "torch"}),
        ("class A:\n    from pygls import server", {"pygls"}),
        ("if TYPE_CHECKING:\n    import rich\nelse:\n    import attrs", {"attrs"}),
        ("def f():\n    import rich", set()),
    ],
)
def test_the_reading_of_module_level_imports(code: str, expected: set[str]) -> None:
    assert set(at_module_level(ast.parse(code).body)) == expected


def imported_by(arguments: list[str], folder: Path) -> set[str]:
    """The modules that `python -m ARGUMENTS` imports beyond those of an empty module."""

    def trace(*command: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-X", "importtime", *command], cwd=folder, capture_output=True, text=True
        )
        assert done.returncode in (0, 1), done.stderr
        traced = [line for line in done.stderr.splitlines() if line.startswith("import time:")]
        return {line.rpartition("|")[2].strip() for line in traced}

    (folder / "empty.py").touch()
    return trace("-m", *arguments) - trace("-m", "empty")


def test_a_file_without_a_token_is_dismissed_without_the_machinery(tmp_path: Path) -> None:
    """The budget of a pre-commit run is its imports: neither the parser nor the rules are needed to say 'nothing'."""
    (tmp_path / "plain.py").write_text("def double(x):\n    return 2 * x\n")
    added = imported_by(["moelint", "check", "--no-cache", "plain.py"], tmp_path)
    assert "moelint.linter.cli" in added
    assert added & (HEAVY | SLOW) == set()
    assert {name for name in added if name.startswith("moelint.rules.")} == {"moelint.rules._index"}


def test_a_file_with_findings_is_checked_without_heavy_imports(tmp_path: Path) -> None:
    added = imported_by(["moelint", "check", "--no-cache", "--jobs", "1", str(ROOT / "fixtures" / "sample")], tmp_path)
    assert [name for name in added if name.startswith("moelint.rules.")]
    assert added & HEAVY == set()
