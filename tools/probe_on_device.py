"""Pack the probe and the needed part of releases for a machine without network, and print the command to run there.

    python tools/probe_on_device.py --releases /path/to/releases --routes /path/to/tables 0.5.22 0.5.23

The archive is written to .device/ (which git ignores) and must stay below 64 MiB. On the machine: Python 3.12 with
torch and Triton; the command unpacks the archive below /tmp and works side by side: for each release its blocks on the
real CUDA platform and with ROCm's policy emulated, joined to the release's route table (`VERSION.json`, as `moelint
routes --json` prints it) where `--routes` has one, and its kernels. JSON reports and a log are left in $OUT.
"""

from __future__ import annotations

import argparse
import io
import lzma
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / ".device"
LIMIT = 60 << 20
WHEELS = ("msgspec", "pydantic", "dill", "apache-tvm-ffi")
_SUFFIXES = (".py", ".json", ".cuh", ".cu", ".h", ".hpp")
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 4, "dict_size": 128 << 20}]
"""A dictionary that spans releases, which hardly differ."""
_UNNEEDED = ("/test/", "/benchmark/", "/multimodal_gen/")


def wanted(path: str) -> bool:
    """Whether the probe may need a file of a release: sources, tuning tables, headers of kernels built at run time."""
    return path.endswith(_SUFFIXES) and not any(part in f"/{path}" for part in _UNNEEDED)


def pack(releases: dict[str, Path], wheels: list[Path], tables: dict[str, Path]) -> Path:
    """Write the archive and return its path. `tables`: release -> its route table."""
    FOLDER.mkdir(exist_ok=True)
    archive = FOLDER / "probe.tar.xz"
    with lzma.open(archive, "wb", filters=_FILTERS) as stream, tarfile.open(fileobj=stream, mode="w|") as tar:
        for file in sorted((ROOT / "runtime_probe").rglob("*.py")):
            add(tar, f"runtime_probe/{file.relative_to(ROOT / 'runtime_probe').as_posix()}", file)
        files = [
            (file.relative_to(tree), version, file) for version, tree in releases.items() for file in tree.rglob("*")
        ]
        for path, version, file in sorted(files):
            if file.is_file() and wanted(path.as_posix()):
                add(tar, f"{version}/sglang/{path.as_posix()}", file)
        for version, table in tables.items():
            add(tar, f"{version}/routes.json", table)
        for wheel in wheels:
            add(tar, f"wheels/{wheel.name}", wheel)
    return archive


def add(tar: tarfile.TarFile, name: str, file: Path) -> None:
    """Add a file without times and owners, so that the same input gives the same archive."""
    entry = tarfile.TarInfo(name)
    content = file.read_bytes()
    entry.size = len(content)
    tar.addfile(entry, io.BytesIO(content))


def command(versions: list[str], seconds: int, tables: set[str]) -> str:
    """The command line for the machine; everything runs at the same time. Three files come back for each release."""
    runs = []
    for version in versions:
        joined = f"--all --from $P/{version}/routes.json" if version in tables else ""
        for name, options in (
            ("cuda", f"--platform cuda --coverage --edges {joined}"),
            ("rocm", f"--platform rocm --coverage --edges {joined}"),
            ("kernels", "--kernels"),
        ):
            runs.append(f"r {version} {name} {' '.join(options.split())} &")
    return "; ".join(
        (
            "export P=/tmp/p",
            "mkdir -p $P && tar -xJf .device/probe.tar.xz -C $P",
            "python3 -m pip install -q --no-index --no-deps --target /tmp/site $P/wheels/*.whl",
            "export MOELINT_PROBE_PATH=/tmp/site PYTHONUNBUFFERED=1 OMP_NUM_THREADS=2 CUDA_HOME=/usr/local/cuda",
            "r() { v=$1 n=$2; shift 2; python3 $P/runtime_probe/boot.py cli $P/$v/sglang --device cuda --timeout 150 "
            f"--budget {seconds} --memory 65536 --no-progress --json $OUT/$v-$n.json $@ "
            "> $P/$v-$n.txt 2>&1; }",
            " ".join(runs) + " wait",
            "(nvidia-smi -L; tail -n +1 $P/*.txt) > $OUT/log.txt",
            "for f in $P/*.txt; do echo == $f; grep -aE 'pairs|cells|agree' $f | tail -n 4; done",
        )
    )


def fetch_wheels() -> list[Path]:
    """The packages that SGLang imports and the machine lacks, for its Python."""
    folder = FOLDER / "wheels"
    platforms = [f"--platform=manylinux{tag}_x86_64" for tag in ("_2_28", "_2_17", "2014")]
    subprocess.run(
        [sys.executable, "-m", "pip", "download", "-q", "--only-binary=:all:", "--python-version=3.12"]
        + ["--implementation=cp", *platforms, "-d", str(folder), *WHEELS],
        check=True,
    )
    return sorted(folder.glob("*.whl"))


def arguments(description: str | None) -> argparse.ArgumentParser:
    """The options of every tool that packs releases for the machine."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs="+")
    parser.add_argument("--releases", type=Path, default=ROOT / ".releases", help="folder with sglang-VERSION/sglang")
    return parser


def offer(options: argparse.Namespace, tables: dict[str, Path], line: str) -> int:
    """Pack the releases, check the size, print the command line for the machine. Returns the exit code."""
    trees = {version: options.releases / f"sglang-{version}" / "sglang" for version in options.versions}
    missing = [str(tree) for tree in trees.values() if not tree.is_dir()]
    if missing:
        print(f"not there: {', '.join(missing)}", file=sys.stderr)
        return 2
    archive = pack(trees, fetch_wheels(), tables)
    size = archive.stat().st_size
    print(f"{archive.relative_to(ROOT)}: {size / (1 << 20):.1f} MiB", file=sys.stderr)
    if size > LIMIT:
        print(f"too large: at most {LIMIT >> 20} MiB travel", file=sys.stderr)
        return 2
    print(line)
    return 0


def main() -> int:
    """Pack, check the size, print what to do."""
    parser = arguments(__doc__)
    parser.add_argument("--routes", type=Path, default=ROOT / ".routes", help="folder with VERSION.json")
    parser.add_argument("--seconds", type=int, default=450, help="time budget of each release and platform")
    options = parser.parse_args()
    tables = {version: options.routes / f"{version}.json" for version in options.versions}
    tables = {version: table for version, table in tables.items() if table.is_file()}
    return offer(options, tables, command(options.versions, options.seconds, set(tables)))


if __name__ == "__main__":
    sys.exit(main())
