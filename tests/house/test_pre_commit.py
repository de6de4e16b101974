"""The hooks, as a team would use them: a repository, the real pre-commit and prek, this checkout as hook repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(sys.executable).parent
CLEAN = """\
class Block:
    def forward(self, x):
        y = self.experts(x, self.topk(x))
        if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):
            y *= self.routed_scaling_factor
        return y
"""
WRONG = CLEAN.replace("if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)", "if not _is_cuda")


def unhidden(folder: str, names: list[str]) -> set[str]:
    """For copytree: leave out hidden folders, byte code, build results, and the file by which git knows a worktree."""
    hidden = {name for name in names if name == ".git" or (name.startswith(".") and Path(folder, name).is_dir())}
    return hidden | {name for name in names if name in ("__pycache__", "build", "dist") or name.endswith(".egg-info")}


class Repository:
    """A git repository and the environment in which its commands run."""

    def __init__(self, folder: Path, home: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "PRE_COMMIT_HOME": str(home),
            "PREK_HOME": str(home),
            "PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}",
        }
        self.git("init", "-q", "-b", "main")

    def run(self, *command: str, code: int | None = None) -> str:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert code is None or done.returncode == code, done.stdout
        self.code = done.returncode
        return done.stdout

    def git(self, *arguments: str, code: int | None = 0) -> str:
        return self.run("git", *arguments, code=code).strip()

    def commit(self, **files: str) -> str:
        """Write these modules and commit them; what was said is returned, how it ended is in `code`."""
        for name, text in files.items():
            (self.folder / f"{name}.py").write_text(text)
        self.git("add", ".")
        return self.git("commit", "-m", "change", code=None)


@pytest.fixture(scope="module")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """This checkout, as it is at this moment, as a repository of hooks."""
    folder = tmp_path_factory.mktemp("hooks") / "moelint"
    shutil.copytree(ROOT, folder, ignore=unhidden)
    made = Repository(folder, folder)
    made.git("add", ".")
    made.git("commit", "-q", "-m", "hooks")
    return made


@pytest.fixture(scope="module", params=["pre-commit", "prek"])
def project(request: pytest.FixtureRequest, hooks: Repository, tmp_path_factory: pytest.TempPathFactory) -> Repository:
    """A project that uses both hooks and holds one wrong file from before."""
    tool = request.param
    made = Repository(tmp_path_factory.mktemp(tool) / "project", tmp_path_factory.mktemp("home"))
    configuration = {
        "repos": [
            {
                "repo": str(hooks.folder),
                "rev": hooks.git("rev-parse", "HEAD"),
                "hooks": [{"id": "moelint"}, {"id": "moelint-project"}],
            }
        ]
    }
    (made.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(configuration))
    (made.folder / "pyproject.toml").write_text('[tool.moelint]\nprofile = "sglang"\nextend-exclude = ["vendored"]\n')
    (made.folder / ".gitignore").write_text(".moelint_cache\n")
    made.commit(old=WRONG)
    made.run(tool, "install", "--install-hooks", "-t", "pre-commit", "-t", "pre-push", code=0)
    made.environment["TOOL"] = tool
    return made


def heads(project: Repository) -> int:
    return int(project.git("rev-list", "--count", "HEAD"))


def test_the_manifest_names_the_hooks() -> None:
    manifest = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert [hook["id"] for hook in manifest] == ["moelint", "moelint-fix", "moelint-project"]
    assert all(hook["language"] == "python" and hook["require_serial"] for hook in manifest)


def test_a_clean_commit_passes_beside_old_findings(project: Repository) -> None:
    before = heads(project)
    said = project.commit(new=CLEAN, other="x = 1\n")
    assert (project.code, heads(project)) == (0, before + 1), said
    assert re.search(r"^moelint\.+Passed$", said, re.MULTILINE)


def test_a_commit_without_python_is_not_held_up(project: Repository) -> None:
    (project.folder / "README.md").write_text(f"{heads(project)}\n")
    said = project.commit()
    assert project.code == 0
    assert "Skipped" in said


def test_a_wrong_commit_is_stopped_with_a_readable_message_and_its_repair_passes(project: Repository) -> None:
    before = heads(project)
    said = project.commit(wrong=WRONG)
    assert (project.code, heads(project)) == (1, before)
    [finding] = [line.strip() for line in said.splitlines() if "MOE" in line and "wrong.py" in line]
    assert finding.startswith("wrong.py:5:13: MOE401 guard-not-asking: ")
    assert "1 finding, 1 file checked" in said
    assert "old.py" not in said and "Traceback" not in said
    said = project.commit(wrong=CLEAN)
    assert (project.code, heads(project)) == (0, before + 1), said


def test_a_suppression_with_a_reason_passes(project: Repository) -> None:
    excused = WRONG.replace(
        "            y *=", "            # moelint: ignore[guard-not-asking] -- one router\n            y *="
    )
    said = project.commit(excused=excused)
    assert project.code == 0, said


def test_what_the_configuration_excludes_is_left_alone(project: Repository) -> None:
    (project.folder / "vendored").mkdir(exist_ok=True)
    said = project.commit(**{"vendored/theirs": WRONG})
    assert project.code == 0, said


def test_the_whole_project_is_checked_before_a_push_and_a_baseline_lets_it_through(project: Repository) -> None:
    tool = project.environment["TOOL"]
    manual = (tool, "run", "--hook-stage", "manual", "--all-files", "moelint-project")
    said = project.run(*manual, code=1)
    assert "old.py:5:13: MOE401" in said
    target = project.folder.parent / "target.git"
    project.git("init", "-q", "--bare", str(target))
    project.git("push", str(target), "main", code=1)
    project.run(sys.executable, "-m", "moelint", "baseline", "create", code=0)
    with (project.folder / "pyproject.toml").open("a") as stream:
        stream.write('baseline = "moelint-baseline.jsonl"\n')
    project.run(*manual, code=0)
    project.commit()
    assert project.code == 0
    project.git("push", str(target), "main", code=0)
    said = project.commit(old=WRONG + "\n\n" + WRONG.replace("Block", "Other"))
    assert (project.code, "old.py:13:13: MOE401" in said) == (1, True), said


HELPER = """\
class TopK:
    def __init__(self, config):
        self.topk_config = config


def is_routed_scaling_factor_fused_in_topk(topk_config):
    return topk_config.apply_routed_scaling_factor_on_output
"""
WISHED = """\
from sglang.srt.layers.moe.topk import TopK


class Block:
    def __init__(self, config, experts):
        self.experts = experts
        self.topk = TopK(config)

    def forward_deepep(self, x):
        y = self.experts(x, self.topk(x))
        if not self.experts.should_fuse_routed_scaling_factor_in_topk:
            y *= self.routed_scaling_factor
        return y
"""


def test_the_fixing_hook_stops_the_commit_with_the_repair_in_place(project: Repository) -> None:
    (project.folder / "old.py").write_text(WRONG)  # as committed: another test leaves a change behind
    before = heads(project)
    config = project.folder / ".pre-commit-config.yaml"
    kept = config.read_text()
    config.write_text(kept.replace("id: moelint\n", "id: moelint-fix\n"))
    try:
        owner = project.folder / "sglang" / "srt" / "layers" / "moe"
        owner.mkdir(parents=True)
        (owner / "topk.py").write_text(HELPER)
        said = project.commit(wished=WISHED)
        assert (project.code, heads(project)) == (1, before), said
        assert "1 finding fixed in 1 file" in said
        fixed = (project.folder / "wished.py").read_text()
        assert "if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):" in fixed
        said = project.commit()
        assert (project.code, heads(project)) == (0, before + 1), said
    finally:
        config.write_text(kept)
