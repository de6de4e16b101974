"""Bring the Python sources of a published release: `python tools/fetch_release.py NAME==VERSION`.

Only wheels are taken, since to open a source distribution pip would run its build code. Nothing is installed: the
`*.py` files are unpacked into `.releases/NAME-VERSION`, whose path is printed, and used again the next time.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLATFORMS = [f"manylinux_2_{minor}_x86_64" for minor in (35, 34, 31, 28)] + [
    "manylinux2014_x86_64",
    "manylinux1_x86_64",
]
PYTHONS = ["3.11", "3.12", "3.13"]
_SPEC = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")


class FetchError(Exception):
    """The release cannot be had; the text says why."""


def split(spec: str) -> tuple[str, str]:
    """`NAME==VERSION` as (name, version)."""
    match = _SPEC.fullmatch(spec.strip())
    if match is None:
        raise FetchError(f"{spec!r} is not of the form NAME==VERSION")
    return match[1].lower().replace("_", "-"), match[2]


def download(spec: str, folder: Path) -> Path:
    """The wheel of the release, for whichever platform it was built: its Python files are what is wanted."""
    said = ""
    for python in PYTHONS:
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        command += ["--dest", str(folder), "--python-version", python]
        command += [part for platform in PLATFORMS for part in ("--platform", platform)]
        done = subprocess.run([*command, spec], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        wheels = list(folder.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
        said = done.stderr.strip().rpartition("\n")[2]
    raise FetchError(f"pip found no wheel of {spec}\n{said}")


def unpack(wheel: Path, folder: Path) -> int:
    """Write the `*.py` members of `wheel` under `folder` and return their number."""
    with zipfile.ZipFile(wheel) as archive:
        members = [name for name in archive.namelist() if name.endswith(".py")]
        archive.extractall(folder, members)
    return len(members)


def fetch(spec: str, releases: Path) -> Path:
    """The folder with the sources of the release. It appears complete or not at all."""
    name, version = split(spec)
    target = releases / f"{name}-{version}"
    if target.is_dir():
        return target
    releases.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=releases, prefix=".fetch-") as scratch:
        wheel = download(f"{name}=={version}", Path(scratch))
        tree = Path(scratch, "tree")
        if not unpack(wheel, tree):
            raise FetchError(f"{wheel.name} holds no Python file")
        try:
            os.rename(tree, target)
        except OSError:
            if not target.is_dir():
                raise
            shutil.rmtree(tree)
    return target


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("release", metavar="NAME==VERSION")
    parser.add_argument("--into", type=Path, default=ROOT / ".releases", help="default: .releases in the checkout")
    chosen = parser.parse_args()
    try:
        found = fetch(chosen.release, chosen.into)
    except FetchError as problem:
        sys.exit(f"fetch_release: {problem}")
    here = Path.cwd()
    print(found.relative_to(here) if found.is_relative_to(here) else found)


if __name__ == "__main__":
    main()
