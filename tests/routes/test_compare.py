"""What counts as a change between two trees, on the toy framework."""

from __future__ import annotations

from pathlib import Path

from test_stage import MISSING, TWICE
from toy import FACTS, analyse_code

from moelint.linter.routes.compare import changed_cells

GUARDED = TWICE.replace(
    "            out *= self.routed_scaling_factor\n",
    """            if not is_folded(self.topk.topk_config):
                out *= self.routed_scaling_factor
""",
)
REWRITTEN = TWICE.replace(
    "            out *= self.routed_scaling_factor\n",
    """            if _is_hip and not get_a2a().is_none():
                return out * self.routed_scaling_factor
            out = out.mul(self.routed_scaling_factor)
""",
)


def changes(folder: Path, old: str, new: str) -> list[tuple[str, str, str]]:
    before, after = analyse_code(folder / "old", old), analyse_code(folder / "new", new)
    return sorted((c["condition"], c["old"], c["new"]) for c in changed_cells([before], [after], FACTS.order))


def test_a_rewrite_that_changes_no_outcome_is_no_change(tmp_path: Path) -> None:
    assert changes(tmp_path, TWICE, REWRITTEN) == []


def test_only_the_configurations_that_differ_are_listed(tmp_path: Path) -> None:
    assert changes(tmp_path, TWICE, GUARDED) == [
        ("the experts want the fold", "wrong: routed rsf^2", "right: routed rsf^1")
    ]


def test_a_lost_multiply_changes_every_configuration(tmp_path: Path) -> None:
    assert changes(tmp_path, GUARDED, MISSING) == [
        ("a2a=deepep, not the experts want the fold", "right: routed rsf^1", "wrong: routed rsf^0"),
        ("platform=cuda, a2a=none, not the experts want the fold", "wrong: routed rsf^2", "right: routed rsf^1"),
        ("platform=hip, not the experts want the fold", "right: routed rsf^1", "wrong: routed rsf^0"),
    ]


def test_a_route_that_is_gone_is_a_change(tmp_path: Path) -> None:
    other = TWICE.replace("def forward(", "def run(")
    table = analyse_code(tmp_path / "old", TWICE)
    assert other != TWICE
    (change,) = changed_cells([table], [], FACTS.order)[:1]
    assert change["new"] == "no such configuration"
