"""Groups of which a single rank is here, and where a release's globals get them."""

from __future__ import annotations

import types

import pytest
import torch

from moelint.runtime_probe.emitter import Inconclusive
from moelint.runtime_probe.frameworks import aiter, sglang_groups


def test_a_group_of_one_is_the_identity_and_a_larger_one_says_nothing() -> None:
    rows = torch.arange(6.0).view(2, 3)
    alone, among = sglang_groups.alone(1)["tp_group"], sglang_groups.alone(4)["tp_group"]
    assert torch.equal(alone.all_reduce(rows), rows)
    assert torch.equal(alone.all_gather(rows, 0), rows)
    assert (among.world_size, among.rank_in_group) == (4, 0)
    assert (among.device_group.size(), among.device_group.rank()) == (4, 0)
    with pytest.raises(Inconclusive, match="4 ranks of which one is here"):
        among.all_reduce(rows)
    with pytest.raises(Inconclusive):
        among.all_gather(rows)


def test_groups_are_in_the_globals_of_a_release_only_while_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    state = types.ModuleType("parallel_state")
    state._TP = state._MOE_EP = None  # type: ignore[attr-defined]
    monkeypatch.setattr(sglang_groups.importlib, "import_module", lambda _: state)
    groups = sglang_groups.alone(4)
    with sglang_groups.in_globals(groups):
        assert state._TP is groups["tp_group"]
        assert state._MOE_EP is groups["moe_ep_group"]
        assert not hasattr(state, "_PP")
    assert state._TP is None
    assert state._MOE_EP is None


def test_the_tuned_gemm_is_a_linear_layer_of_the_type_asked_for() -> None:
    weights = torch.tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    out = aiter.tuned_mm(torch.tensor([[1.0, 10.0]]), weights, torch.ones(3), otype=torch.bfloat16)
    assert out.dtype is torch.bfloat16
    assert out.tolist() == [[22.0, 44.0, 66.0]]
