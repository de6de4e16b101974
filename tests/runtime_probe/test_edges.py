"""What is wanted at the ends of the ranges, and that a block is really called there."""

from __future__ import annotations

from pathlib import Path

import pytest

from moelint.runtime_probe import edges, plan, runner
from moelint.runtime_probe.records import Expected

BY_NAME = {edge.name: edge for edge in edges.edges(4, 2.5)}


@pytest.mark.parametrize(("factor", "exponent", "times"), [(None, 1.0, 1.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_an_absent_factor_is_one_and_a_block_without_factor_has_none(
    factor: float | None, exponent: float, times: float
) -> None:
    assert edges.acting(factor, exponent) == times


@pytest.mark.parametrize(
    ("name", "routed", "shared", "want", "reason"),
    [
        ("factor 0", [0.0] * 4, [1.0] * 4, 0.0, ""),
        ("factor 0", [1.0] * 4, [1.0] * 4, 0.0, "routed weight 1, expected 0"),
        ("factor 0", [float("nan")] * 4, [1.0] * 4, 0.0, "routed weight nan, expected 0"),
        ("factor none", [1.0] * 4, [0.4] * 4, 1.0, "shared weight 0.4, expected 1"),
        ("no tokens", [], [], 2.5, ""),
        ("no tokens", [2.5], [1.0], 2.5, "1 tokens came back of 0"),
        ("one token", [2.5], [1.0], 2.5, ""),
    ],
)
def test_an_edge_is_judged_by_its_weights_and_its_number_of_tokens(
    name: str, routed: list[float], shared: list[float], want: float, reason: str
) -> None:
    verdict, said = edges.judge(BY_NAME[name], (routed, shared), Expected(baseline=want), 1e-3)
    assert (verdict, said) == ("violates" if reason else "matches", reason)


def test_a_real_block_is_measured_at_its_edges() -> None:
    import transformers

    root = Path(transformers.__file__).parent
    (job,) = plan.jobs(root, plan.Choice(classes=("deepseek_v3.py:DeepseekV3MoE",), edges=True))
    found = {one.configuration.get("edge"): one for one in runner.run(job).measurements}
    assert found.keys() == {None, *BY_NAME}
    assert found["factor none"].verdict == "not-run" and "TypeError" in found["factor none"].reason
    for name, weight in (("factor 0", 0.0), ("factor 1", 1.0), ("one token", 2.5), ("no tokens", None)):
        measured = found[name].measured
        assert found[name].verdict == "matches", found[name].reason
        assert measured is not None and measured.baseline == (None if weight is None else pytest.approx(weight))
