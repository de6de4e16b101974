"""The edits that the mutation harness makes: each parses, changes the tree, and touches what decides."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "bench"))
from route_mutants import mutants

SOURCE = """
class Block:
    def __init__(self, config):
        self.topk = TopK(routed_scaling_factor=config.factor, apply_routed_scaling_factor_on_output=self.fold)
        self.fused = is_factor_fused_in_topk(self.topk.topk_config)
        self.mlp = MLP(tp_size=1 if config.a2a else None)

    def forward(self, x):
        out = self.experts(x)  # "\u00e4"
        if not self.fused and not (_is_cuda or _use_aiter):
            out *= self.routed_scaling_factor
        return tensor_all_reduce(out)
"""


def test_each_edit_parses_and_changes_the_tree() -> None:
    found = list(mutants("block.py", SOURCE, lambda top: isinstance(top, ast.ClassDef)))
    before = ast.dump(ast.parse(SOURCE))
    assert all(ast.dump(ast.parse(mutant.apply(SOURCE))) != before for mutant in found)
    assert {mutant.kind for mutant in found} >= {
        "drop a guard", "negate a guard", "drop a condition", "and for or", "drop a multiply", "multiply twice",
        "answer by a flag or a literal", "answer by the wish", "drop the fold flag", "raise the fold flag",
        "drop the factor", "shard what is replicated", "drop a sum", "sum twice",
    }  # fmt: skip


def test_the_order_is_the_same_in_every_run() -> None:
    one, two = (list(mutants("block.py", SOURCE, lambda _: True)) for _ in range(2))
    assert one == two and len(one) == len(set(one))


def test_only_the_asked_for_definitions_are_edited() -> None:
    assert not list(mutants("block.py", SOURCE, lambda top: isinstance(top, ast.FunctionDef)))
