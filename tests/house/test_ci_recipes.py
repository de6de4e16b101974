"""The recipes in docs/ci: valid by the services' own schemas, and run step by step in a repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import junitparser
import pytest
import yaml
from sarif_kit.validate import validation_errors

ROOT = Path(__file__).parents[2]
CI = ROOT / "docs" / "ci"
CLEAN = """\
class Block:
    def forward(self, x):
        y = self.experts(x, self.topk(x))
        if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):
            y *= self.routed_scaling_factor
        return y
"""
WRONG = CLEAN.replace("if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)", "if not _is_cuda")
PLACEHOLDER = "path/or/address/of/moelint"


def recipe(name: str) -> Any:
    # BaseLoader: YAML 1.1 would take the key `on` for true.
    return yaml.load((CI / name).read_text(), yaml.BaseLoader)


@pytest.mark.parametrize(
    ("name", "schema"),
    [(name, "github-workflows") for name in ("github.yml", "nightly.yml", "pages.yml")] + [("gitlab.yml", "gitlab-ci")],
)
def test_the_schema_of_the_service_accepts_it(name: str, schema: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, str(CI / name)], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    spoiled = tmp_path / name
    spoiled.write_text((CI / name).read_text().replace("    steps:", "    stepz:").replace("  script:", "  skript:"))
    assert subprocess.run([*command, str(spoiled)], capture_output=True).returncode == 1


def test_the_documentation_is_published_from_where_make_builds_it() -> None:
    [build] = [step["run"] for step in recipe("pages.yml")["jobs"]["build"]["steps"] if "run" in step]
    [folder] = [
        step["with"]["path"] for step in recipe("pages.yml")["jobs"]["build"]["steps"] if "path" in step.get("with", {})
    ]
    assert build == "make site"
    assert folder == yaml.safe_load((ROOT / "mkdocs.yml").read_text())["site_dir"]


def test_they_say_where_to_put_what_is_to_be_installed() -> None:
    assert recipe("github.yml")["env"]["MOELINT"] == PLACEHOLDER
    assert recipe("nightly.yml")["env"]["MOELINT"] == PLACEHOLDER
    assert recipe("gitlab.yml")["moelint"]["variables"]["MOELINT"] == PLACEHOLDER


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """This checkout, as pip would build it."""
    folder = tmp_path_factory.mktemp("wheel")
    copy = folder / "tree"
    shutil.copytree(
        ROOT, copy, ignore=shutil.ignore_patterns(".*cache", ".git", ".venv*", "build", "__pycache__", "*.egg-info")
    )
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(copy)]
    subprocess.run(command, check=True)
    [found] = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the programs of an environment like that of a fresh runner."""
    folder = tmp_path_factory.mktemp("runner")
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / ("Scripts" if sys.platform == "win32" else "bin")


class Checkout:
    """The clone that a service checks out: `origin/main` holds an old finding."""

    def __init__(self, folder: Path, python: Path, wheel: Path) -> None:
        self.folder = folder / "checkout"
        self.environment = {
            name: value for name, value in os.environ.items() if not name.startswith(("GIT_", "CI"))
        } | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "PATH": f"{python}{os.pathsep}{os.environ['PATH']}",
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
            "MOELINT": str(wheel),
            "PYTHON": sys.executable,
        }
        origin = folder / "origin"
        origin.mkdir()
        self.run("git init -q -b main", cwd=origin)
        (origin / "old.py").write_text(WRONG)
        (origin / "pyproject.toml").write_text('[tool.moelint]\nprofile = "sglang"\n')
        (origin / ".gitignore").write_text(".moelint*\nmoelint.json\nmoelint.sarif\n")
        self.run("git add . && git commit -q -m old", cwd=origin)
        self.run(f"git clone -q '{origin}' '{self.folder}'", cwd=folder)

    def run(self, script: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a script as GitHub does: bash that stops at the first error."""
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=cwd or self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
        )

    def commit(self, **files: str) -> None:
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)
        assert self.run("git add . && git commit -q -m change").returncode == 0

    def baseline(self) -> None:
        with (self.folder / "pyproject.toml").open("a") as stream:
            stream.write('baseline = "moelint-baseline.jsonl"\n')


@pytest.fixture
def checkout(tmp_path: Path, python: Path, wheel: Path) -> Checkout:
    return Checkout(tmp_path, python, wheel)


def github(checkout: Checkout, base: str) -> tuple[list[str], str]:
    """Run the steps as a runner would; the names of those that failed, and what was printed."""
    job = recipe("github.yml")["jobs"]["moelint"]
    failed, said = [], ""
    for step in job["steps"]:
        if "run" in step:
            done = checkout.run(step["run"], GITHUB_BASE_REF=base)
            said += done.stdout
            if done.returncode:
                failed.append(step["name"])
                break
        elif step["uses"].startswith("github/codeql-action/upload-sarif"):
            log = json.loads((checkout.folder / step["with"]["sarif_file"]).read_text())
            assert validation_errors(log) == []
    return failed, said


def test_github(checkout: Checkout) -> None:
    checkout.commit(new=CLEAN)
    assert github(checkout, "main")[0] == []
    log = json.loads((checkout.folder / "moelint.sarif").read_text())
    uris = [r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in log["runs"][0]["results"]]
    assert uris == ["old.py"], "code scanning gets everything"
    assert github(checkout, "")[0] == ["Stop what is new"], "a push to main answers for everything"
    checkout.commit(new=WRONG)
    failed, said = github(checkout, "main")
    assert failed == ["Stop what is new"]
    assert [
        line.partition("::The")[0].partition("::Whether")[0] for line in said.splitlines() if line.startswith("::")
    ] == ["::error title=MOE401 guard-not-asking,file=new.py,line=5,endLine=5,col=13,endColumn=44"]


def test_github_with_a_baseline(checkout: Checkout) -> None:
    assert checkout.run('python -m pip install "$MOELINT" && moelint baseline create').returncode == 0
    checkout.baseline()
    checkout.commit(new=CLEAN)
    assert github(checkout, "")[0] == []
    checkout.commit(old=CLEAN)
    assert github(checkout, "main")[0] == ["Keep the baseline short"]
    assert checkout.run("moelint baseline prune").returncode == 0
    assert github(checkout, "main")[0] == []


def gitlab(checkout: Checkout, base: str) -> tuple[int, str]:
    """Run the job's script, whose lines GitLab runs in one shell, and read its reports."""
    job = recipe("gitlab.yml")["moelint"]
    done = checkout.run("\n".join(job["script"]), CI_MERGE_REQUEST_DIFF_BASE_SHA=base)
    reports = job["artifacts"]["reports"]
    issues = json.loads((checkout.folder / reports["codequality"]).read_text())
    cases = list(junitparser.JUnitXml.fromfile(str(checkout.folder / reports["junit"])))
    jsonschema.validate(issues, {"type": "array", "items": {"required": ["description", "fingerprint", "location"]}})
    assert [suite.name for suite in cases] == [issue["location"]["path"] for issue in issues]
    return done.returncode, done.stdout


def test_gitlab(checkout: Checkout) -> None:
    base = checkout.run("git rev-parse HEAD").stdout.strip()
    checkout.commit(new=CLEAN)
    assert gitlab(checkout, base)[0] == 0
    assert gitlab(checkout, "")[0] == 1
    checkout.commit(new=WRONG)
    code, said = gitlab(checkout, base)
    assert code == 1
    assert [line.split(" ")[0] for line in said.splitlines() if " MOE" in line] == ["new.py:5:13:"]


def test_the_plain_script(checkout: Checkout) -> None:
    script = str(CI / "check.sh")
    assert os.access(script, os.X_OK)
    (checkout.folder / "sub").mkdir()
    checkout.commit(new=CLEAN)
    missing = checkout.run(f"cd sub && '{script}' origin/main", MOELINT="")
    assert missing.returncode == 2 and "set it to what pip is to install" in missing.stderr
    first = checkout.run(f"cd sub && '{script}' origin/main")
    assert (first.returncode, first.stdout) == (0, ""), first.stderr
    assert json.loads((checkout.folder / "moelint.json").read_text())["findings"] == []
    everything = checkout.run(script)
    assert everything.returncode == 1 and everything.stdout.startswith("old.py:5:13: MOE401")
    checkout.commit(new=WRONG)
    assert checkout.run(f"'{script}' origin/main").stdout.startswith("new.py:5:13: MOE401")
    assert checkout.run(f"'{script}' nowhere").returncode == 2
    checkout.run(".moelint-venv/bin/moelint baseline create")
    checkout.baseline()
    assert checkout.run(script).returncode == 0
    checkout.commit(new=CLEAN)
    assert checkout.run(script).returncode == 1


MEASURED = """\
class Column(list):
    def tolist(self): return self
class Output:
    def float(self): return self
    def __getitem__(self, place): return Column([1.0, 1.0])
def report(function, **wants): ...
def main():
    return report(Output, want_routed=1.0)
"""


def test_the_nightly_job_stops_at_what_is_worse_than_in_the_last_good_night(tmp_path: Path) -> None:
    job = recipe("nightly.yml")["jobs"]["probe"]
    [script] = [step["run"] for step in job["steps"] if step.get("name") == "Measure"]
    target = tmp_path / "blocks"
    target.mkdir()
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TARGET": str(target), "DEVICE": "cpu"}

    def night(source: str) -> int:
        (target / "block.py").write_text(source)
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True).returncode

    def last() -> object:
        return json.loads((tmp_path / "moelint-probe" / "last.json").read_text())

    assert night(MEASURED) == 0
    good = last()
    assert night(MEASURED.replace("want_routed=1.0", "want_routed=2.0")) == 1
    assert last() == good
    assert night(MEASURED) == 0
