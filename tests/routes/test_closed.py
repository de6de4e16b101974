"""Closed programs on the bench of fixtures/cases.toml: numbers, columns, ranks, and what never returns."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from moelint.linter import check
from moelint.linter.options import parse
from moelint.linter.plan import plan_for
from moelint.linter.routes import exact

PROFILE = Path(__file__).parents[2] / "fixtures" / "cases.toml"

SHAPES = {
    "a factor that nobody applies": (
        "routed part 1, expected rsf",
        """
        def block(x):
            return routed_experts(x, unit_weights()) + shared_experts(x)
        """,
        "block(tokens())",
    ),
    "a factor twice, through a class and a dictionary": (
        "rsf^2",
        """
        class Stage:
            def __init__(self, folded):
                self.scale, self.folded = RSF, folded

            def finish(self, state):
                out = state.pop("out")
                return state["shared"].add_(out, alpha=self.scale)

        def block(x):
            stage = Stage(True)
            w = unit_weights() * (stage.scale if stage.folded else 1.0)
            return stage.finish({"out": routed_experts(x, w), "shared": shared_experts(x)})
        """,
        "block(tokens())",
    ),
    "half of the columns": (
        "routed[0:1]",
        """
        def block(x):
            w = unit_weights()
            return routed_experts(x, w[:, :1], scale=RSF) + routed_experts(x, w[:, 1:]) + shared_experts(x)
        """,
        "block(tokens())",
    ),
    "a slot that keeps the inverse": (
        "slot part 1/rsf, expected 1",
        """
        def block(x):
            w = unit_weights() * RSF
            w = torch.cat([w, w.new_full((w.shape[0], 1), 1.0 / RSF)], 1)
            return fused_experts(x, w)
        """,
        "block(tokens())",
    ),
    "a slot that is cut off": (
        "shared part is lost",
        """
        def block(x):
            w = torch.cat([unit_weights() * RSF, torch.ones(x.shape[0], 1)], 1)
            w = w[:, : w.shape[1] - 1]
            return fused_experts(x, w) if w.shape[1] > K else routed_experts(x, w)
        """,
        "block(tokens())",
    ),
    "a sum over ranks too many": (
        "2^2*rsf",
        """
        def block(x):
            out = (routed_experts(x, unit_weights() * RSF) + shared_experts(x)) / world_size()
            return all_reduce(all_reduce(out)) if world_size() > 1 else out
        """,
        "run_spmd(4, lambda: block(tokens()))",
    ),
    "weights that were not normalised": (
        "raw",
        """
        def block(x):
            w = gate_logits().sigmoid().topk(K, -1).values
            return routed_experts(x, w * RSF) + shared_experts(x)
        """,
        "block(tokens())",
    ),
    "a tuple times a number": (
        "nothing gets past",
        """
        def block(x):
            both = (routed_experts(x, unit_weights()), shared_experts(x)) * RSF
            return both[0] + both[1]
        """,
        "block(tokens())",
    ),
}
RIGHT = {
    "factor in the weights": """
        def block(x):
            return routed_experts(x, unit_weights() * RSF) + shared_experts(x)
        """,
    "two halves with one factor": """
        def block(x):
            w = unit_weights()
            return (routed_experts(x, w[:, :1]) + routed_experts(x, w[:, 1:])) * RSF + shared_experts(x)
        """,
    "normalised scores and a slot": """
        def block(x):
            w = gate_logits().sigmoid().topk(K, -1).values
            w = w / (w.sum(-1, keepdim=True) + 1e-20)
            w = torch.cat([w, w.new_full((w.shape[0], 1), 1.0 / RSF)], 1)
            return fused_experts(x, w) * RSF
        """,
    "a sum over ranks": """
        def block(x):
            out = (routed_experts(x, unit_weights() * RSF) + shared_experts(x)) / world_size()
            return all_reduce(out)
        """,
}


def messages(folder: Path, code: str, call: str) -> tuple[list[str], str]:
    path = folder / "example.py"
    main = f"\n\ndef main():\n    return report(lambda: {call})\n"
    path.write_text("from _probe import *\n\n" + dedent(code) + main)
    options = parse(
        ["--routes", "--isolated", "--no-cache", "--select", "routes", "--profile", str(PROFILE), str(path)]
    )
    outcome = check.run(options.paths, plan_for(options))
    return [finding.message for finding in check.report(outcome).findings], outcome.remarks[0]


@pytest.mark.parametrize("name", SHAPES)
def test_a_wrong_shape_is_found_with_its_numbers(tmp_path: Path, name: str) -> None:
    text, code, call = SHAPES[name]
    found, _ = messages(tmp_path, code, call)
    assert text in " ".join(found).lower()


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_shape_is_silent_and_decided(tmp_path: Path, name: str) -> None:
    call = "run_spmd(4, lambda: block(tokens()))" if "ranks" in name else "block(tokens())"
    found, remark = messages(tmp_path, RIGHT[name], call)
    assert found == [] and "1 right" in remark


def test_what_is_not_known_is_not_guessed(tmp_path: Path) -> None:
    code = """
        def block(x):
            return routed_experts(x, unit_weights() * mystery(x)) + shared_experts(x)
        """
    found, remark = messages(tmp_path, code, "block(tokens())")
    assert found == [] and "1 unknown" in remark


@pytest.mark.parametrize(("value", "back"), [(2.5, 2.5), (4, 4.0), (1 / 6, 1 / 6), (0, 0.0), (3e-8, 3e-8), (1.0, 1.0)])
def test_numbers_keep_their_value_as_units(value: float, back: float) -> None:
    units = exact.number(value)
    assert units is not None
    assert exact.value_of(units, 2.0) == pytest.approx(back)


def test_a_profile_with_a_broken_routes_table_is_refused(tmp_path: Path) -> None:
    from moelint.linter.errors import ConfigError

    bad = tmp_path / "bad.toml"
    bad.write_text('name = "bad"\nfactor = ["rsf"]\n[routes]\nentriess = ["report"]\n')
    (tmp_path / "example.py").write_text("report(1)\n")
    options = parse(["--routes", "--isolated", "--no-cache", "--profile", str(bad), str(tmp_path / "example.py")])
    with pytest.raises(ConfigError, match="entriess"):
        check.run(options.paths, plan_for(options))
