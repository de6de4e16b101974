"""Make `.typeview/moelint`: the import package as a folder of links, for tools that follow paths and not import hooks.

The folders are linked and not the files, so new modules appear by themselves.
"""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENTRY = "linter/_entry"


def roots(setup: Path) -> dict[str, str]:
    """Folder -> package, read from the `ROOTS` of setup.py."""
    for node in ast.parse(setup.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["ROOTS"]:
            found: dict[str, str] = ast.literal_eval(node.value)
            return found
    raise LookupError(f"no ROOTS in {setup}")


def link(place: Path, target: Path) -> None:
    """Let `place` lead to `target`; on Windows a junction or a copy, which need no privilege."""
    if place.exists() and place.resolve() == target and sys.platform != "win32":
        return
    if place.is_symlink() or place.is_file():
        place.unlink()
    if sys.platform != "win32":
        place.symlink_to(os.path.relpath(target, place.parent), target_is_directory=target.is_dir())
    elif target.is_file():
        shutil.copyfile(target, place)
    elif not place.exists():
        subprocess.run(["cmd", "/c", "mklink", "/J", str(place), str(target)], check=True, stdout=subprocess.DEVNULL)


def main(root: Path) -> None:
    view = root / ".typeview" / "moelint"
    view.mkdir(parents=True, exist_ok=True)
    for folder, package in roots(root / "setup.py").items():
        link(view / package.removeprefix("moelint."), root / folder)
    for file in (root / ENTRY).iterdir():
        if file.is_file():
            link(view / file.name, file)


if __name__ == "__main__":
    main(ROOT)
