"""Which ways through which classes count, and which of them were measured."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from moelint.runtime_probe import coverage, discover
from moelint.runtime_probe.records import Measurement, Unit, Weights

SOURCE = """
class Base:
    def __init__(self, config):
        self.experts = Experts(config)
        self.gate = Gate(config)
        self.shared_experts = Shared(config)
    def forward(self, x): return self.forward_normal(x)
    def forward_normal(self, x): return self.experts(x) + self._forward_shared_experts(x)
    def _forward_shared_experts(self, x): return self.shared_experts(x)
    def forward_quick(self, x): return self.forward_normal(x)
class Plain(Base):
    def forward(self, x): return self.experts(x)
class Scaled(Base):
    def __init__(self, config):
        super().__init__(config)
        self.factor = config.routed_scaling_factor
    def op_gate(self, state): ...
    def op_experts(self, state): ...
"""


def test_routes_come_to_the_routed_experts_over_the_whole_ancestry(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SOURCE)
    units = {unit.block: unit for unit in discover.blocks(tmp_path)}
    assert units["Scaled"].routes == ("forward", "forward_normal", "forward_quick", "op chain")
    assert {name: unit.reads_factor for name, unit in units.items()} == {
        "Base": False,
        "Plain": False,
        "Scaled": True,
    }


CELL = Measurement("a.py", "A", "forward -> forward_normal", {}, "cpu", "matches", grade="latent", measured=Weights())
LOST = replace(CELL, route="forward_dual", verdict="not-run", measured=None, reason="a stream is missing")
READS = Unit("a.py", "A", routes=("forward", "forward_normal", "forward_dual", "forward_cpu"), reads_factor=True)


def test_a_pair_counts_by_its_best_cell_and_else_says_why() -> None:
    units = [READS, Unit("a.py", "B", routes=("forward",)), READS]
    found = coverage.pairs(units, [CELL, replace(CELL, grade="reached", route="forward"), LOST])
    assert [(one.route, one.grade, one.reason) for one in found] == [
        ("forward", "reached", ""),
        ("forward_normal", "latent", ""),
        ("forward_dual", "", "not-run: a stream is missing"),
        ("forward_cpu", "", coverage.NOT_CALLED),
    ]
    text = list(coverage.lines(found))
    assert text[0].startswith("2 of 4 (class, route) pairs") and "(50 %; 1 reached, 1 latent)" in text[0]
    assert len(text) == 3


@pytest.mark.parametrize("route", ["*", "forward_dual"])
def test_a_class_that_cannot_be_built_says_so_for_every_route(route: str) -> None:
    (one,) = coverage.pairs([replace(READS, routes=("forward_dual",))], [replace(LOST, route=route)])
    assert (one.grade, one.reason) == ("", "not-run: a stream is missing")
