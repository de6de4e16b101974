"""A team takes moelint up on a real code base: SGLang 0.5.22 with its old findings, in a repository of its own.

A baseline, the hook, reports for CI; then ten harmless changes and ten that add a violation, each as a commit.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PARTS = ("models", "layers/moe", "layers/quantization", "model_executor/model_runner_components", "multimodal/dsv41")
OWNER = "layers/moe/topk.py"
KIMI = "models/kimi_linear.py"
RETURN = "        return final_hidden_states.view(num_tokens, hidden_size)\n"
WISH = "apply_routed_scaling_factor_on_output=self.experts.should_fuse_routed_scaling_factor_in_topk,"
HOOK = "moelint"


def release() -> Path:
    """The Python sources of the release, fetched once with pip."""
    for name in ("sglang-0.5.22", "sglang-0.5.22-all"):
        if (ROOT / ".releases" / name / "sglang").is_dir():
            return ROOT / ".releases" / name
    command = [sys.executable, str(ROOT / "tools" / "fetch_release.py"), "sglang==0.5.22"]
    return Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())


class Project:
    """The repository of the team."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.sources = folder / "sglang" / "srt"
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")} | {
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            **{f"GIT_{who}_{what}": "t@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
            "PRE_COMMIT_HOME": str(folder.parent / "home"),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }

    def run(self, *command: str) -> tuple[int, str]:
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        return done.returncode, done.stdout

    def git(self, *arguments: str) -> str:
        code, said = self.run("git", *arguments)
        assert code == 0, said
        return said

    def moelint(self, *arguments: str) -> tuple[int, str]:
        return self.run(sys.executable, "-m", "moelint", *arguments)

    def commit(self, *more: str) -> tuple[bool, str]:
        """Commit everything; whether it went through, and what was said."""
        self.git("add", "-A")
        code, said = self.run("git", "commit", "-m", "change", *more)
        return code == 0, said

    def replace(self, file: str, old: str, new: str, *, count: int = 1) -> None:
        path = self.sources / file
        text = path.read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {file}"
        path.write_text(text.replace(old, new, count), encoding="utf-8")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """The code base on the day of the adoption: everything old is in the baseline, the hook is installed."""
    made = Project(tmp_path_factory.mktemp("adoption") / "project")
    source = release() / "sglang" / "srt"
    for part in PARTS:
        shutil.copytree(source / part, made.sources / part, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    hook = next(hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text()) if hook["id"] == HOOK)
    local = hook | {"language": "system", "entry": hook["entry"].replace("moelint", f"{sys.executable} -m moelint", 1)}
    (made.folder / ".pre-commit-config.yaml").write_text(
        yaml.safe_dump({"repos": [{"repo": "local", "hooks": [local]}]})
    )
    (made.folder / ".gitignore").write_text(".moelint_cache\n")
    (made.folder / "pyproject.toml").write_text('[tool.moelint]\nbaseline = "moelint-baseline.jsonl"\n')
    made.git("init", "-q", "-b", "main")
    code, said = made.moelint("baseline", "create", "--reason", "before moelint", "sglang")
    assert code == 0, said
    code, said = made.run("pre-commit", "install")
    assert code == 0, said
    passed, said = made.commit()
    assert passed, said
    return made


def test_the_baseline_holds_what_is_there(project: Project) -> None:
    entries = (project.folder / "moelint-baseline.jsonl").read_text().splitlines()[1:]
    assert len(entries) > 50
    code, said = project.moelint("check", "sglang")
    assert code == 0, said


def _comment_above(p: Project) -> None:
    p.replace("models/deepseek_v2.py", "\nimport ", "\n# What follows is long.\n\n\nimport ")


def _format(p: Project) -> None:
    path = str(p.sources / "models" / "glm4_moe.py")
    code, said = p.run("ruff", "format", "--isolated", "--line-length", "120", path)
    assert code == 0 and "reformatted" in said, said


def _move_file(p: Project) -> None:
    p.git("mv", "sglang/srt/models/glm4_moe_lite.py", "sglang/srt/models/glm4_moe_light.py")


def _rename_local(p: Project) -> None:
    p.replace("models/glm4_moe.py", "enable_npu_dual_stream", "two_streams", count=-1)


def _rename_method(p: Project) -> None:
    p.replace("models/dots3_common/modeling.py", "forward_deepep", "forward_all_to_all", count=-1)


def _rename_class(p: Project) -> None:
    path = p.sources / "models" / "bailing_moe_v3.py"
    path.write_text(re.sub(r"\bBailingMoE\b", "BailingSparseBlock", path.read_text(encoding="utf-8")), encoding="utf-8")


def _add_model(p: Project) -> None:
    shutil.copy(p.sources / KIMI, p.sources / "models" / "kimi_next.py")


def _drop_model(p: Project) -> None:
    p.git("rm", "-q", "sglang/srt/models/hunyuan_v3.py")


def _repair(p: Project) -> None:
    code, said = p.moelint(
        "check", "--no-baseline", "--fix", "--select", "MOE503", str(p.sources / "models" / "bailing_moe.py")
    )
    assert (code, "1 finding fixed in 1 file" in said) == (0, True), said


def _add_function(p: Project) -> None:
    p.replace(OWNER, "\ndef ", "\ndef rows_of(weights):\n    return weights.shape[0]\n\n\ndef ")


HARMLESS = [
    _comment_above, _format, _move_file, _rename_local, _rename_method,
    _rename_class, _add_model, _drop_model, _repair, _add_function,
]  # fmt: skip


def in_kimi(old: str, new: str) -> Callable[[Project], None]:
    return lambda p: p.replace(KIMI, old, new)


def before_return(*lines: str) -> Callable[[Project], None]:
    return in_kimi(RETURN, "".join(f"        {line}\n" for line in lines) + RETURN)


def _slot(p: Project) -> None:
    body = "    topk_weights[:, -num_fused_shared_experts:] = 1.0 / routed_scaling_factor\n"
    with (p.sources / OWNER).open("a", encoding="utf-8") as stream:
        stream.write(f"\n\ndef place(topk_weights, num_fused_shared_experts, routed_scaling_factor):\n{body}")


def _twice(p: Project) -> None:
    line = "            routed_out = routed_out * self.routed_scaling_factor\n"
    p.replace("models/laguna.py", line, line + line)


def _default(p: Project) -> None:
    with (p.sources / OWNER).open("a", encoding="utf-8") as stream:
        stream.write(
            "\n\ndef scaled(weights, routed_scaling_factor=2.5):\n    return weights * routed_scaling_factor\n"
        )


VIOLATIONS: list[tuple[str, Callable[[Project], None]]] = [
    ("MOE301", before_return("final_hidden_states *= self.routed_scaling_factor")),
    ("MOE401", before_return("if not _is_hip:", "    final_hidden_states *= self.routed_scaling_factor")),
    ("MOE501", in_kimi(WISH, "apply_routed_scaling_factor_on_output=True,")),
    ("MOE503", in_kimi(WISH, "")),
    ("MOE102", before_return("if self.routed_scaling_factor > 2:", "    final_hidden_states.clamp_(-1, 1)")),
    ("MOE302", _twice),
    ("MOE201", _slot),
    ("MOE510", _default),
    ("MOE901", before_return("num_tokens += 0  # moelint: ignore")),
    ("MOE103", before_return("final_hidden_states = fused_add(final_hidden_states, self.routed_scaling_factor)")),
]


def test_there_are_ten_of_each_kind() -> None:
    assert len(HARMLESS) == 10
    assert len({code for code, _ in VIOLATIONS}) == 10


@pytest.mark.parametrize("number", range(10))
def test_a_commit_with_a_violation_is_stopped_and_a_harmless_one_is_not(project: Project, number: int) -> None:
    """In turn, so that each violation meets a tree on which the changes before it have left their marks."""
    code, spoil = VIOLATIONS[number]
    head = project.git("rev-parse", "HEAD")
    spoil(project)
    passed, said = project.commit()
    assert not passed, said
    assert re.search(rf"^\S+\.py:\d+:\d+: {code} ", said, re.MULTILINE), said
    assert "Traceback" not in said
    project.git("reset", "-q", "--hard", "HEAD")
    HARMLESS[number](project)
    passed, said = project.commit()
    assert passed, said
    assert project.git("rev-parse", "HEAD") != head


def test_the_baseline_shrinks_with_what_was_repaired(project: Project) -> None:
    code, said = project.moelint("check", "sglang")
    assert code == 0, said
    assert project.moelint("baseline", "prune", "--check", "sglang")[0] == 1
    assert project.moelint("baseline", "prune", "sglang")[0] == 0
    assert project.moelint("baseline", "prune", "--check", "sglang")[0] == 0
    passed, said = project.commit()
    assert passed, said


def test_ci_names_what_a_branch_brings_in_every_format(project: Project) -> None:
    project.git("switch", "-q", "-c", "branch")
    VIOLATIONS[0][1](project)
    passed, said = project.commit("--no-verify")
    assert passed, said
    formats = {"sarif": "s.json", "gitlab": "g.json", "junit": "j.xml"}
    outputs = [word for name, file in formats.items() for word in ("--output", f"{name}:{file}")]
    code, said = project.moelint(
        "check", "--no-baseline", "--diff-base", "main", "--output", "github", *outputs, "sglang"
    )
    assert code == 1
    assert f"::error title=MOE301 epilogue-unguarded,file=sglang/srt/{KIMI},line=" in said
    [result] = json.loads((project.folder / "s.json").read_text())["runs"][0]["results"]
    assert result["ruleId"] == "MOE301"
    [issue] = json.loads((project.folder / "g.json").read_text())
    assert issue["location"]["path"] == f"sglang/srt/{KIMI}"
    assert "MOE301" in (project.folder / "j.xml").read_text()
    project.git("switch", "-q", "main")
    project.git("clean", "-q", "-f")
