"""tools/fetch_release.py, with pip looking into a folder instead of the network."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "fetch_release.py"


def make_wheel(shelf: Path, tag: str, members: dict[str, str]) -> None:
    info = "tiny_moe-1.2.dist-info"
    with zipfile.ZipFile(shelf / f"tiny_moe-1.2-{tag}.whl", "w") as archive:
        for name, text in members.items():
            archive.writestr(name, text)
        archive.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-moe\nVersion: 1.2\n")
        archive.writestr(f"{info}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n")
        archive.writestr(f"{info}/RECORD", "")


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder that pip finds its packages in."""
    folder = tmp_path / "shelf"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def fetch(spec: str, into: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TOOL), spec, "--into", str(into)]
    return subprocess.run(command, cwd=into.parent, capture_output=True, text=True)


@pytest.mark.parametrize(
    "tag", ["py3-none-any", "cp311-cp311-manylinux_2_34_x86_64", "cp312-abi3-manylinux_2_28_x86_64"]
)
def test_only_python_files_are_unpacked_whatever_the_platform(shelf: Path, tmp_path: Path, tag: str) -> None:
    make_wheel(shelf, tag, {"tiny_moe/model.py": "x = 1\n", "tiny_moe/kernel.so": "", "tiny_moe/notes.md": ""})
    done = fetch("tiny-moe==1.2", tmp_path / "releases")
    assert (done.returncode, done.stdout) == (0, f"{Path('releases', 'tiny-moe-1.2')}\n")
    names = [path.name for path in (tmp_path / "releases").rglob("*") if path.is_file()]
    assert names == ["model.py"]


def test_a_release_is_fetched_once(shelf: Path, tmp_path: Path) -> None:
    make_wheel(shelf, "py3-none-any", {"tiny_moe/model.py": "x = 1\n"})
    first = fetch("tiny-moe==1.2", tmp_path / "releases")
    next(shelf.iterdir()).unlink()
    assert (first.returncode, fetch("Tiny_MoE==1.2", tmp_path / "releases").stdout) == (0, first.stdout)


def test_a_failed_fetch_leaves_nothing_behind(shelf: Path, tmp_path: Path) -> None:
    (shelf / "tiny_moe-1.2.tar.gz").write_bytes(b"a source distribution would run its build code")
    done = fetch("tiny-moe==1.2", tmp_path / "releases")
    assert done.returncode == 1
    assert done.stderr.startswith("fetch_release: pip found no wheel of tiny-moe==1.2")
    assert list((tmp_path / "releases").iterdir()) == []


@pytest.mark.parametrize(
    "spec", ["tiny-moe", "tiny-moe>=1.2", "==1.2", "tiny-moe==", "../tiny==1", "tiny==../1", "-e==1"]
)
def test_anything_but_name_and_version_is_refused(tmp_path: Path, spec: str) -> None:
    releases = tmp_path / "releases"
    done = subprocess.run(
        [sys.executable, str(TOOL), "--into", str(releases), "--", spec], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr == f"fetch_release: {spec!r} is not of the form NAME==VERSION\n"
    assert not releases.exists()
