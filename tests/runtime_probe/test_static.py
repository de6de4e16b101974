"""The route analysis and the probe speak of the same cell only if nothing that is known contradicts."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from moelint.runtime_probe import static
from moelint.runtime_probe.records import Measurement, Weights

ONE = Measurement(
    path="srt/models/a.py",
    block="A",
    route="forward -> forward_normal -> _forward_gate",
    configuration={"platform": "rocm", "router": "default", "a2a": "none", "fold": False, "fused": 0},
    device="cpu",
    verdict="violates",
    grade="reached",
    measured=Weights(),
    fields={"n_group": "4", "topk_method": "'noaux_tc'"},
)


def atom(name: str, *values: str, positive: bool = True) -> dict[str, Any]:
    """An atom as the table has it."""
    return {"name": name, "positive": positive, "values": list(values)}


def routes(tmp_path: Path, *cells: tuple[str, str, list[dict[str, Any]]]) -> static.Routes:
    """A table with cells of (route, verdict, atoms)."""
    rows = [
        {
            "id": f"A:{number}",
            "path": "sglang/srt/models/a.py",
            "block": "A",
            "route": route,
            "question": "scale",
            "condition": "",
            "atoms": atoms,
            "verdict": verdict,
        }
        for number, (route, verdict, atoms) in enumerate(cells, 1)
    ]
    path = tmp_path / "routes.json"
    path.write_text(json.dumps({"cells": rows}))
    found = static.read(path)
    assert found is not None
    return found


HERE = [atom("platform", "hip+aiter"), atom("config.n_group", "0", "None", positive=False)]
ELSEWHERE = [atom("platform", "hip+aiter", positive=False)]
GROUPLESS = [atom("config.n_group", "None")]
UNKNOWN = [atom("nobody knows", "True")]


@pytest.mark.parametrize(
    ("cells", "relation", "said"),
    [
        ([("forward_normal", "wrong", HERE)], "agrees", "wrong (A:1)"),
        ([("forward_normal", "right", HERE)], "disagrees", "right (A:1)"),
        ([("forward_normal", "right", ELSEWHERE), ("forward_normal", "wrong", HERE)], "agrees", "wrong (A:2)"),
        ([("forward_normal", "right", GROUPLESS), ("forward_normal", "wrong", HERE)], "agrees", "wrong (A:2)"),
        ([("forward_normal", "right", UNKNOWN), ("forward_normal", "wrong", HERE)], "open", "right|wrong (A:1, A:2)"),
        ([("forward_normal", "unknown", HERE)], "silent", "unknown (A:1)"),
        ([("forward_deepep", "right", HERE)], "silent", "none"),
    ],
)
def test_only_an_outcome_that_no_fitting_cell_has_is_a_disagreement(
    cells: list[tuple[str, str, list[dict[str, Any]]]], relation: str, said: str, tmp_path: Path
) -> None:
    (judged,) = static.join([ONE], routes(tmp_path, *cells))
    assert (judged.relation, judged.one.static_verdict) == (relation, said)


@pytest.mark.parametrize("change", [{"grade": "latent"}, {"verdict": "not-run"}])
def test_what_proves_nothing_is_not_compared(change: dict[str, Any], tmp_path: Path) -> None:
    (judged,) = static.join([replace(ONE, **change)], routes(tmp_path, ("forward_normal", "right", HERE)))
    assert judged.relation == "silent"


def test_wrong_cells_choose_what_runs_and_are_accounted_for(tmp_path: Path) -> None:
    npu = [atom("platform", "npu")]
    grouped = [atom("platform", "hip", "cpu"), atom("config.n_group", "1")]
    table = routes(
        tmp_path,
        ("forward_normal", "wrong", HERE),
        ("forward_normal", "wrong", npu),
        ("forward_mega", "wrong", []),
        ("forward_normal", "wrong", grouped),
    )
    assert table.blocks() == {"sglang/srt/models/a.py:A"}
    assert table.platforms() == ("cuda", "rocm", "hip", "cpu")
    assert table.asked() == ("n_group",)
    text = "\n".join(static.lines(static.join([ONE], table), table))
    assert "4 wrong cells of the analysis: 1 have a measured cell" in text
    for reason in ("npu is not emulated", "forward_mega was not come to", "cpu, hip is not emulated"):
        assert f"1 not measured: {reason}" in text


def test_a_report_of_check_is_not_a_table_and_rubbish_is_neither(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"findings": []}')
    assert static.read(path) is None
    path.write_text('{"cells": [{}]}')
    with pytest.raises(static.StaticError, match="no output of moelint routes"):
        static.read(path)


def test_a_block_that_names_no_back_end_is_not_judged_for_one(tmp_path: Path) -> None:
    sent = replace(ONE, configuration={**ONE.configuration, "a2a": "mori"})
    (judged,) = static.join([sent], routes(tmp_path, ("forward_normal", "right", HERE)))
    assert (judged.relation, judged.one.static_verdict) == ("silent", "none")
    named = routes(tmp_path, ("forward_normal", "right", HERE), ("forward_x", "right", [atom("a2a", "mori")]))
    assert static.join([sent], named)[0].relation == "disagrees"
