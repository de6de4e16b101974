"""The folders are packages, and only under the one import name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("linter", "rules", "runtime_probe")


def packages_without_init() -> list[str]:
    """Folders with Python files that are no packages, those of the profiles left out, whose files are data."""
    return sorted(
        str(path.parent.relative_to(ROOT))
        for folder in FOLDERS
        for path in (ROOT / folder).rglob("*.py")
        if not (path.parent / "__init__.py").exists() and ROOT / "rules" / "profiles" not in path.parents
    )


def test_every_folder_with_modules_is_a_package() -> None:
    assert packages_without_init() == []


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_of_the_checkout_refuses_to_be_imported_by_its_own_name(folder: str) -> None:
    done = subprocess.run([sys.executable, "-c", f"import {folder}"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"ImportError: import this package as moelint.{folder}, not as {folder}" in done.stderr


@pytest.mark.parametrize("folder", FOLDERS)
def test_installation_puts_only_moelint_on_the_path(folder: str, tmp_path: Path) -> None:
    code = f"import importlib.util as u; print(u.find_spec({folder!r}), u.find_spec('moelint.{folder}') is not None)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout == "None True\n"
