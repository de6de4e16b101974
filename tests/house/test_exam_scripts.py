"""The exams count right: on a made-up release and made-up truth, with one thing wrong at a time."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
TREE = "sglang-0"
MODEL = "sglang/srt/models/made_up.py"
WRONG = """\
from sglang.srt.layers.moe.topk import TopK
from sglang.srt.utils import is_hip

_is_hip = is_hip()


class Block:
    def __init__(self, config):
        self.routed_scaling_factor = config.routed_scaling_factor
        self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)

    def forward(self, hidden_states):
        out = self.experts(hidden_states, self.topk(hidden_states))
        if not _is_hip:
            out *= self.routed_scaling_factor
        return out
"""
GUARD, SCALE = 14, 15
RIGHT = WRONG.replace("not _is_hip", "not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config)").replace(
    "import TopK", "import TopK, is_routed_scaling_factor_fused_in_topk"
)


def exam(name: str, *words: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "bench" / f"exam_{name}.py"), *map(str, words)], capture_output=True, text=True
    )


def release(folder: Path, source: str) -> Path:
    """A folder of releases with one release of one file."""
    path = folder / "releases" / TREE / MODEL
    path.parent.mkdir(parents=True)
    path.write_text(source)
    return folder / "releases"


def truth(folder: Path, *rows: tuple[int, str, str]) -> Path:
    lines = ["path\tline\tqualname\tkind\tverdict"]
    lines += [f"{MODEL}\t{line}\tBlock.forward\t{kind}\t{verdict}" for line, kind, verdict in rows]
    (folder / f"{TREE}.sites.tsv").write_text("\n".join(lines) + "\n")
    return folder


ROWS = ((GUARD, "guard", "violates"), (SCALE, "epilogue_apply", "bug"))
IGNORED = ((1, "config_plumb", "violates"), (GUARD - 1, "guard", "mediated"))


def sites(folder: Path, source: str, *rows: tuple[int, str, str]) -> subprocess.CompletedProcess[str]:
    tables = truth(folder, *rows)
    return exam("sites", "--releases", release(folder, source), "--truth", tables, "--tree", TREE, "--check")


def test_rows_that_are_reported_pass_and_others_do_not_count(tmp_path: Path) -> None:
    done = sites(tmp_path, WRONG, *ROWS, *IGNORED)
    assert "2 of    2  100.0 %" in done.stdout, done.stdout + done.stderr
    assert "missed" not in done.stdout
    assert done.returncode == 0


def test_a_row_that_is_not_reported_is_named_and_fails(tmp_path: Path) -> None:
    done = sites(tmp_path, WRONG, *ROWS, (9, "shared_weight", "bug"))
    assert f"missed  {MODEL}:9 [shared_weight bug] Block.forward: self.routed_scaling_factor =" in done.stdout
    assert "66.7 %" in done.stdout
    assert done.returncode == 1


def test_a_finding_off_the_table_is_named_and_fails(tmp_path: Path) -> None:
    done = sites(tmp_path, WRONG, (SCALE, "epilogue_apply", "mediated"))
    assert f"off      {MODEL}:{GUARD}" in done.stdout or f"off      {MODEL}:{SCALE}" in done.stdout, done.stdout
    assert "[epilogue_apply mediated]" in done.stdout or "[no row]" in done.stdout
    assert done.returncode == 1


def test_no_finding_misses_every_row(tmp_path: Path) -> None:
    done = sites(tmp_path, RIGHT, *ROWS)
    assert "0 of    2    0.0 %" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_without_a_table_there_is_no_exam(tmp_path: Path) -> None:
    done = exam("sites", "--releases", release(tmp_path, WRONG), "--truth", tmp_path, "--tree", TREE)
    assert (done.returncode, done.stdout) == (2, "")
    assert "no table of sites" in done.stderr


@pytest.mark.parametrize(
    ("source", "reported", "known", "mark", "code"),
    [
        (WRONG, "true", "", "ok     bug   ", 0),
        (WRONG, "false", "", "DIFFER repair", 1),
        (WRONG, "false", "because", "known  repair", 0),
        (RIGHT, "false", "", "ok     repair", 0),
        (RIGHT, "true", "", "DIFFER bug   ", 1),
        (RIGHT, "false", "because", "STALE  repair", 1),
    ],
)
def test_sites_of_bugs_and_repairs(
    tmp_path: Path, source: str, reported: str, known: str, mark: str, code: int
) -> None:
    listed = tmp_path / "sites.toml"
    listed.write_text(
        '[[item]]\nname = "1"\ntitle = "made up"\n'
        f'sites = [{{ release = "0", path = "{MODEL}", lines = [{GUARD}, {SCALE}], reported = {reported}, '
        f'what = "the epilogue", known = "{known}" }}]\n'
    )
    done = exam("items", "--releases", release(tmp_path, source), "--sites", listed, "--check")
    assert f"  {mark} {TREE} {MODEL}:{GUARD}-{SCALE} the epilogue: " in done.stdout, done.stdout + done.stderr
    assert done.returncode == code


def test_a_site_in_a_file_that_is_not_there_is_no_answer(tmp_path: Path) -> None:
    listed = tmp_path / "sites.toml"
    listed.write_text(
        '[[item]]\nname = "1"\ntitle = "made up"\n'
        'sites = [{ release = "0", path = "gone.py", lines = [1, 1], reported = false, what = "gone" }]\n'
    )
    done = exam("items", "--releases", release(tmp_path, RIGHT), "--sites", listed)
    assert done.returncode == 2
    assert f"{TREE} has no gone.py" in done.stderr


def test_a_list_of_sites_that_is_none_is_no_exam() -> None:
    done = exam("items", "--sites", ROOT / "Makefile")
    assert done.returncode == 2
    assert "Makefile" in done.stderr


def test_the_list_of_sites_is_in_order() -> None:
    items = tomllib.loads((ROOT / "bench" / "seed_sites.toml").read_text("utf-8"))["item"]
    places = [(item["name"], site["release"], site["path"], *site["lines"]) for item in items for site in item["sites"]]
    assert len(places) == len(set(places)) > 0
    assert all(path.endswith(".py") and 0 < first <= last for _, _, path, first, last in places)
    assert {site["reported"] for item in items for site in item["sites"]} == {True, False}


def cases(folder: Path, **twins: str) -> Path:
    """One folder with a case per check kind; each keyword holds bad or good sources of `KIND_bad` and `KIND_good`."""
    kinds = {key.rpartition("_")[0] for key in twins}
    (folder / "cases.jsonl").write_text(
        "".join(json.dumps({"case": f"case_{kind}", "check": kind}) + "\n" for kind in sorted(kinds))
    )
    for key, source in twins.items():
        kind, _, twin = key.rpartition("_")
        (folder / f"case_{kind}").mkdir(exist_ok=True)
        (folder / f"case_{kind}" / f"{twin}.py").write_text(source)
    return folder


def test_cases_pass_where_bad_ones_within_reach_are_flagged(tmp_path: Path) -> None:
    folder = cases(tmp_path, lexical_bad=WRONG, lexical_good=RIGHT, runtime_bad=RIGHT, runtime_good=RIGHT)
    done = exam("cases", "--truth", folder, "--check")
    assert "lexical: 1 of 1 bad flagged, 0 of 1 good flagged" in done.stdout, done.stdout + done.stderr
    assert "  missed  case_runtime" in done.stdout
    assert "within reach: 1 of 1 flagged" in done.stdout
    assert done.returncode == 0


@pytest.mark.parametrize(("bad", "good", "said"), [(RIGHT, RIGHT, "missed  case_"), (WRONG, WRONG, "ALARM   case_")])
def test_cases_fail_on_a_miss_and_on_a_false_alarm(tmp_path: Path, bad: str, good: str, said: str) -> None:
    done = exam("cases", "--truth", cases(tmp_path, dataflow_bad=bad, dataflow_good=good), "--check")
    assert said in done.stdout, done.stdout + done.stderr
    assert done.returncode == 1


def test_trees_are_counted_and_the_table_is_kept(tmp_path: Path) -> None:
    page = tmp_path / "deep" / "trees.md"
    done = exam("trees", "--releases", release(tmp_path, WRONG), "--tree", TREE, "--write", page, "--check")
    assert f"{TREE}: exit code 1, 0 diagnostics: sound" in done.stdout, done.stdout + done.stderr
    assert "| files | 1 |" in done.stdout
    assert "| MOE401 guard-not-asking | 1 |" in page.read_text("utf-8")
    assert done.returncode == 0


def test_a_tree_that_cannot_be_read_is_not_sound(tmp_path: Path) -> None:
    done = exam("trees", "--releases", release(tmp_path, WRONG + "def ("), "--tree", TREE, "--check")
    assert "1 diagnostics: NOT SOUND" in done.stdout, done.stdout + done.stderr
    assert f"{MODEL}:17 " in done.stdout
    assert done.returncode == 1


def test_without_releases_no_fix_is_examined(tmp_path: Path) -> None:
    done = exam("fixes", "--releases", tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("exam_fixes: ") and "Traceback" not in done.stderr


def test_an_old_file_gets_the_line_that_the_newer_routers_want(tmp_path: Path) -> None:
    code = """if True:
    import sys
    sys.path.insert(0, sys.argv[1])
    from exam_fixes import carried_over
    old = "class A:\\n    def __init__(self):\\n        self.topk = T(\\n            1\\n        )\\n"
    old += "        self.n = 1\\n"
    new = old.replace("self.n", "self.topk.bind_runner_backend(self.experts.kind)\\n        self.n")
    assert carried_over(old, new) == new
    assert carried_over(new, old) == new
    """
    subprocess.run([sys.executable, "-c", code, str(ROOT / "bench")], check=True)
