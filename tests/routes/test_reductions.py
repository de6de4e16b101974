"""Sums across method borders: contexts that tell a block to leave its sum, and layers that are dense in places."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from textwrap import dedent

from toy import FACTS, KNOWLEDGE, outcomes, tree

from moelint.linter.routes.blocks import find_blocks
from moelint.linter.routes.driver import analyse
from moelint.linter.routes.project import Project
from moelint.linter.routes.table import RouteTable, table

CONTEXT = dedent(
    """
    @model("toy.models.flags.get_forward")
    def get_forward():
        return shared_instance("@Forward", "the forward")

    @model("@Forward.scoped")
    def scoped(self, leave=False):
        result = instance("@Scope", "scope")
        result.forward = self
        self.leave = leave
        return result

    @model("@Scope.__exit__")
    def left(self):
        self.forward.leave = False
    """
)
FLAGS = "def get_forward():\n    raise NotImplementedError\n"
LAYER = """
from toy.models.flags import get_forward

class Block:
    def __init__(self, config):
        self.router = Router()
        self.experts = Experts()

    def forward(self, hidden_states):
        out = self.experts(hidden_states, self.router(hidden_states, None))
        if get_a2a().is_none() and not getattr(get_forward(), "leave", False):
            out = all_reduce(out)
        return out

class Layer:
    def __init__(self, config):
        self.mlp = Block(config)
        self.shared_experts = MLP(reduce_results=False)

    def forward(self, hidden_states):
        {body}
"""


def layer(folder: Path, body: str) -> RouteTable:
    """The table of a layer with this `forward`."""
    code = LAYER.replace("{body}", body.replace("\n", "\n        "))
    root = tree(folder, code, flags=FLAGS)
    module = Project(str(root)).load("toy.models.block")
    assert module is not None
    block = next(b for b in find_blocks(module, FACTS, "toy/models/block.py") if b.name == "Layer")
    return table(analyse(str(root), block, replace(KNOWLEDGE, models=KNOWLEDGE.models + CONTEXT)))


def states(entry: RouteTable) -> set[tuple[str, str]]:
    """(condition, what) of the cells about sums."""
    return {(condition, what) for _, condition, what in outcomes(entry, "reduction")}


TOGETHER = """
with get_forward().scoped(leave=True):
    out = self.mlp(hidden_states)
out = out + self.shared_experts(hidden_states)
if get_a2a().is_none():
    out = all_reduce(out)
return out
"""


def test_a_block_that_is_told_to_leave_its_sum_leaves_it(tmp_path: Path) -> None:
    assert ("a2a=none", "right complete") in states(layer(tmp_path, TOGETHER.strip()))


def test_what_a_context_told_is_over_behind_it(tmp_path: Path) -> None:
    body = TOGETHER.strip().replace(
        "    out = self.mlp(hidden_states)\nout", "    pass\nout = self.mlp(hidden_states)\nout"
    )
    assert ("a2a=none", "wrong routed twice, shared complete") in states(layer(tmp_path, body))


def test_a_layer_is_not_judged_where_it_is_dense(tmp_path: Path) -> None:
    dense = "if not self.sparse:\n    return self.dense(hidden_states)\n"
    entry = layer(tmp_path, dense + TOGETHER.strip())
    assert entry.verdicts() == {"forward": "wrong"}
    assert not [cell for cell in entry.cells if cell.outcome.verdict == "unknown"]


def test_a_layer_whose_experts_are_not_seen_to_run_stays_unknown(tmp_path: Path) -> None:
    assert layer(tmp_path, "return self.dense(hidden_states)").verdicts() == {"forward": "unknown"}
