"""Make the virtual environment and install the checkout into it: `python tools/venv.py FOLDER [EXTRA ...]`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

OLDEST = (3, 10)
ROOT = Path(__file__).resolve().parent.parent


def interpreter(folder: Path) -> Path:
    return folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def run(*command: str | Path) -> None:
    subprocess.run([str(part) for part in command], check=True, stdin=subprocess.DEVNULL)


def create(folder: Path) -> None:
    """Some distributions ship Python and pip but no ensurepip; then the outer pip puts a pip into the environment."""
    try:
        import ensurepip  # noqa: F401
    except ImportError:
        run(sys.executable, "-m", "venv", "--without-pip", folder)
        run(sys.executable, "-m", "pip", "--python", interpreter(folder), "install", "--quiet", "pip")
    else:
        run(sys.executable, "-m", "venv", folder)


def main(folder: Path, extras: list[str]) -> None:
    if sys.version_info < OLDEST:
        found = ".".join(map(str, sys.version_info[:3]))
        sys.exit(f"moelint needs Python 3.{OLDEST[1]} or newer, this is {found}; try: make PYTHON=python3.{OLDEST[1]}")
    if not interpreter(folder).exists():
        print(f"Setting up {folder} ...", flush=True)
        create(folder)
    target = f"{ROOT}[{','.join(extras)}]" if extras else str(ROOT)
    run(interpreter(folder), "-m", "pip", "install", "--quiet", "--editable", target)


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]), sys.argv[2:])
    except subprocess.CalledProcessError as failure:
        sys.exit(f"failed: {' '.join(failure.cmd)}")
