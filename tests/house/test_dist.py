"""What is shipped: built as a packager would, compared with the tree, installed in a bare environment, used there."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("linter", "rules", "runtime_probe")
SAMPLE = ROOT / "fixtures" / "sample"


def files(folder: Path) -> set[str]:
    """The files under `folder`, byte code left out, as paths below it."""
    found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    return {path.relative_to(folder).as_posix() for path in found}


def unhidden(folder: str, names: list[str]) -> set[str]:
    """For copytree: leave out hidden folders, byte code and build results."""
    hidden = {name for name in names if name.startswith(".") and Path(folder, name).is_dir()}
    return hidden | {name for name in names if name in ("__pycache__", "build", "dist") or name.endswith(".egg-info")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A clean copy of the checkout, as it is at this moment."""
    copy = tmp_path_factory.mktemp("copy") / "tree"
    shutil.copytree(ROOT, copy, ignore=unhidden)
    return copy


@pytest.fixture(scope="module")
def dist(tree: Path) -> Path:
    """A folder with the sdist of the tree, and the wheel that was built from that sdist."""
    subprocess.run([sys.executable, "-m", "build", "--outdir", str(tree / "dist"), str(tree)], check=True)
    return tree / "dist"


@pytest.fixture(scope="module", params=["wheel", "sdist"])
def installed(request: pytest.FixtureRequest, dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment that holds moelint, as built, and what it depends on."""
    [package] = dist.glob("*.whl" if request.param == "wheel" else "*.tar.gz")
    environment = tmp_path_factory.mktemp(request.param)
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    programs = environment / ("Scripts" if sys.platform == "win32" else "bin")
    subprocess.run([str(programs / "python"), "-m", "pip", "install", "--quiet", str(package)], check=True)
    return programs


def run(folder: Path, *command: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True)


def test_wheel_holds_the_tree_and_nothing_else(dist: Path) -> None:
    [wheel] = dist.glob("*.whl")
    entry = {f"moelint/{name}" for name in files(ROOT / "linter" / "_entry")}
    expected = entry | {
        f"moelint/{folder}/{name}"
        for folder in FOLDERS
        for name in files(ROOT / folder)
        if not name.startswith("_entry/")
    }
    with zipfile.ZipFile(wheel) as archive:
        shipped = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert shipped == expected


def test_sdist_holds_what_the_checks_need(tree: Path, dist: Path) -> None:
    [sdist] = dist.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        shipped = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    for folder in (*FOLDERS, "fixtures", "tests", "bench", "tools", "docs"):
        assert {f"{folder}/{name}" for name in files(tree / folder)} <= shipped
    assert {
        "Makefile",
        "README.md",
        "CHANGELOG.md",
        "DEVELOPERS.md",
        ".pre-commit-hooks.yaml",
        ".importlinter",
    } <= shipped


def test_installed_program_and_module_say_the_same(installed: Path, tmp_path: Path) -> None:
    script = run(tmp_path, installed / "moelint", "check", "--no-cache", SAMPLE)
    module = run(tmp_path, installed / "python", "-m", "moelint", "check", "--no-cache", SAMPLE)
    assert (script.returncode, script.stdout, script.stderr) == (module.returncode, module.stdout, module.stderr)
    assert script.returncode == 1
    assert [line for line in script.stdout.splitlines() if ": MOE" in line]


def test_installed_package_is_the_only_name_and_complete(installed: Path, tree: Path, tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, importlib.resources as r, moelint;"
        "print([n for n in ('linter', 'rules', 'runtime_probe', 'tests', 'fixtures', 'torch') if u.find_spec(n)]);"
        "print(r.files('moelint').joinpath('py.typed').is_file());"
        "print(*sorted(p.name for p in r.files('moelint.rules').joinpath('profiles').iterdir() if p.is_file()))"
    )
    said = run(tmp_path, installed / "python", "-c", code)
    profiles = sorted(path.name for path in (tree / "rules" / "profiles").glob("*.toml"))
    assert said.stdout.splitlines() == ["[]", "True", " ".join(profiles)]
