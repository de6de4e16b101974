"""Package the VS Code extension: `python tools/package_extension.py [--bundle]`; the result is its path, on stdout.

Needs npm, and the network for its packages. With `--bundle` moelint and what its server needs travel along, for the
Python version that runs this.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTENSION = ROOT / "editors" / "vscode"
LIBRARIES = EXTENSION / "bundled" / "libs"


def run(*command: str) -> None:
    subprocess.run(command, check=True, cwd=EXTENSION, stdout=sys.stderr)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--bundle", action="store_true", help="put moelint into the package")
    chosen = parser.parse_args()
    npm = shutil.which("npm")
    if npm is None:
        print("npm is missing", file=sys.stderr)
        return 2
    shutil.rmtree(LIBRARIES, ignore_errors=True)
    try:
        if chosen.bundle:
            run(sys.executable, "-m", "pip", "install", "--quiet", "--target", str(LIBRARIES), f"{ROOT}[lsp]")
        run(npm, "install", "--no-audit", "--no-fund")
        run(npm, "run", "package")
    except subprocess.CalledProcessError as failure:
        print(f"failed: {' '.join(failure.cmd)}", file=sys.stderr)
        return 1
    print(EXTENSION / "moelint.vsix")
    return 0


if __name__ == "__main__":
    sys.exit(main())
