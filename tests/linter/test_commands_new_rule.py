"""`moelint new-rule`: what it writes becomes a rule that passes the fixture tests once it is filled in."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from moelint.linter.commands.new_rule import checkout, create, next_code
from moelint.linter.errors import UsageError

REPOSITORY = Path(__file__).parents[2]
SLUG = "factor-taken-back"

_BROKEN = """# profile: generic
class Block:
    def forward(self, x):
        y = self.experts(x)
        y /= self.routed_scaling_factor  # expect: factor-taken-back
        return y
"""
_REPAIRED = """# profile: generic
class Block:
    def forward(self, x):
        return self.experts(x)
"""


def indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.split("  # expect")[0].splitlines())


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """The least that is a checkout."""
    for folder in ("linter", "rules", "fixtures"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "moelint"\n')
    return tmp_path


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A checkout that can be imported from `.view`, with no fixtures but those of the new rule."""
    skipped = shutil.ignore_patterns("__pycache__")
    for folder in ("linter", "rules", "tests/rules", "tests/routes"):
        shutil.copytree(REPOSITORY / folder, tmp_path / folder, ignore=skipped)
    (tmp_path / "fixtures").mkdir()
    shutil.copy(REPOSITORY / "pyproject.toml", tmp_path)
    package = tmp_path / ".view" / "moelint"
    shutil.copytree(tmp_path / "linter" / "_entry", package)
    shutil.move(tmp_path / "linter", package / "linter")
    shutil.move(tmp_path / "rules", package / "rules")
    (tmp_path / "linter").symlink_to(package / "linter", target_is_directory=True)
    (tmp_path / "rules").symlink_to(package / "rules", target_is_directory=True)
    return tmp_path


def python(root: Path, *argv: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(root / ".view"), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, *argv], cwd=root, env=environment, capture_output=True, text=True, check=False
    )


def test_a_generated_rule_passes_the_fixture_tests_once_it_is_filled_in(copy: Path) -> None:
    made = python(copy, "-m", "moelint", "new-rule", SLUG, "--family", "shared-weight")
    assert made.returncode == 0, made.stderr
    fixture_tests = ("-m", "pytest", "tests/rules/test_fixtures.py", "-p", "no:cacheprovider", "-k", SLUG)
    before = python(copy, *fixture_tests)
    assert before.returncode == 1, before.stdout
    assert "2 failed, 2 passed" in before.stdout

    rule = copy / "rules" / "factor_taken_back.py"
    text = rule.read_text()
    text = text.replace('    FILL_IN = "code that this rule reports"\n', indented(_BROKEN.split("\n", 1)[1]))
    text = text.replace('    FILL_IN = "the same code, repaired"\n', indented(_REPAIRED.split("\n", 1)[1]))
    text = text.replace("        return False\n", "        return event.power < 0\n").replace("FILL IN", "filled in")
    rule.write_text(text)
    fixtures = copy / "fixtures" / "rules" / SLUG
    (fixtures / "wrong_first.py").write_text(_BROKEN)
    (fixtures / "right_first.py").write_text(_REPAIRED)
    after = python(copy, *fixture_tests)
    assert after.returncode == 0, after.stdout
    assert "4 passed" in after.stdout
    style = python(copy, "-m", "ruff", "check", "--quiet", "rules/factor_taken_back.py")
    assert style.returncode == 0, style.stdout
    assert python(copy, "-m", "ruff", "format", "--check", "rules/factor_taken_back.py").returncode == 0


def test_the_next_steps_name_the_files(tree: Path) -> None:
    text = create(tree, "top_one", "router")
    assert text.splitlines()[:4] == [
        "MOE801 top-one",
        "  rules/top_one.py",
        "  fixtures/rules/top-one/wrong_first.py",
        "  fixtures/rules/top-one/right_first.py",
    ]
    for line in text.splitlines()[1:4]:
        assert "FILL IN" in (tree / line.strip()).read_text()
    assert "-k top-one" in text
    assert "class TopOne(Rule):" in (tree / "rules" / "top_one.py").read_text()


def test_codes_follow_the_highest_of_the_family(tree: Path) -> None:
    (tree / "rules" / "a.py").write_text('class A(Rule):\n    """MOE308"""\n\n    code = "MOE301"\n')
    (tree / "rules" / "b.py").write_text('class B(Rule):\n    code: ClassVar[str] = "MOE303"\n')
    (tree / "linter" / "c.py").write_text('class C(Rule):\n    code = "MOE901"\n')
    for slug, family, code in (
        ("one", "epilogue", "MOE304"),
        ("two", "epilogue", "MOE305"),
        ("three", "suppression", "MOE902"),
        ("four", "reduction", "MOE001"),
        ("five", "factor-flow", "MOE101"),
    ):
        assert create(tree, slug, family).startswith(f"{code} {slug}\n")


def test_a_full_family_is_refused() -> None:
    assert next_code("guards", [498]) == "MOE499"
    with pytest.raises(UsageError, match="no free code"):
        next_code("guards", [499])


@pytest.mark.parametrize("taken", ["rules/top_one.py", "rules/top_one", "fixtures/rules/top-one/right_first.py"])
def test_nothing_is_overwritten_and_nothing_written_by_halves(tree: Path, taken: str) -> None:
    (tree / taken).parent.mkdir(parents=True, exist_ok=True)
    (tree / taken).write_text("mine")
    with pytest.raises(UsageError, match=f"refusing to overwrite {taken}"):
        create(tree, "top-one", "router")
    files = [path.relative_to(tree).as_posix() for path in tree.rglob("*") if path.is_file()]
    assert sorted(files) == sorted(["pyproject.toml", taken])
    assert (tree / taken).read_text() == "mine"


@pytest.mark.parametrize("slug", ["Top", "1st", "a--b", "-a", "a-", "../up", "class", "a b", ""])
def test_slugs_that_are_no_names_are_refused(tree: Path, slug: str) -> None:
    with pytest.raises(UsageError, match="is no rule name"):
        create(tree, slug, "router")


def test_an_unknown_family_is_refused_with_a_proposal(tree: Path) -> None:
    with pytest.raises(UsageError, match="unknown family 'rooter'; did you mean 'router'"):
        create(tree, "top-one", "rooter")


def test_the_checkout_is_found_from_any_folder_in_it(tree: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    assert checkout(tree / "rules") == tree
    with pytest.raises(UsageError, match="not in one"):
        checkout(tmp_path_factory.mktemp("elsewhere"))
    (tree / "pyproject.toml").write_text('[project]\nname = "other"\n')
    with pytest.raises(UsageError, match="not in one"):
        checkout(tree)
