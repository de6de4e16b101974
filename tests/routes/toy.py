"""A framework of twenty lines, so that the engine is tested without any real one."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

from moelint.linter.profile import Profile
from moelint.linter.routes.blocks import find_blocks
from moelint.linter.routes.driver import Knowledge, analyse
from moelint.linter.routes.facts import Fact, Pipeline, RouteFacts
from moelint.linter.routes.project import Project
from moelint.linter.routes.table import RouteTable, table

LIBRARY = {
    "__init__.py": "",
    "backend.py": """
        from enum import Enum

        class A2A(Enum):
            NONE = "none"
            DEEPEP = "deepep"
            MORI = "mori"

            def is_none(self):
                return self == A2A.NONE

            def is_deepep(self):
                return self == A2A.DEEPEP

            def is_mori(self):
                return self == A2A.MORI

        def get_a2a():
            raise NotImplementedError

        def is_cuda():
            raise NotImplementedError

        def is_hip():
            raise NotImplementedError
    """,
    "topk.py": """
        from dataclasses import dataclass
        from typing import NamedTuple

        from toy.backend import is_hip
        from toy.kernels import gate

        class TopKOutput(NamedTuple):
            topk_weights: object
            topk_ids: object

        @dataclass
        class RouterConfig:
            factor: object = None
            fold: bool = False
            slots: int = 0

        def is_folded(config):
            return bool(config.fold)

        class Router:
            def __init__(self, routed_scaling_factor=None, fold=False, slots=0):
                self.topk_config = RouterConfig(routed_scaling_factor, fold, slots)

            def forward(self, hidden_states, router_logits):
                config = self.topk_config
                weights, ids = gate(router_logits)
                if config.fold and config.factor is not None:
                    weights *= config.factor
                if config.slots:
                    weights[:, -config.slots :] = 1.0 if is_folded(config) else 1.0 / config.factor
                return TopKOutput(weights, ids)
    """,
    "experts.py": """
        class Experts:
            def __init__(self, routed_scaling_factor=None):
                raise NotImplementedError

        class MLP:
            def __init__(self, reduce_results=True, tp_size=None):
                self.reduce_results = reduce_results

        class RMSNorm:
            def __init__(self, size):
                self.size = size

        def all_reduce(x):
            raise NotImplementedError
    """,
}

MODELS = dedent(
    """
    @model("toy.backend.get_a2a")
    def get_a2a():
        return back_end("a2a")

    @model("toy.backend.is_cuda")
    def is_cuda():
        return flag("cuda")

    @model("toy.backend.is_hip")
    def is_hip():
        return flag("hip")

    @model("toy.kernels.gate")
    def gate(logits):
        return weights(), symbol("ids")

    @model("toy.experts.Experts")
    def build(routed_scaling_factor=None):
        experts = instance("@Experts", "experts")
        experts.factor = routed_scaling_factor
        experts.wants_fold = symbol("the experts want the fold", "bool")
        experts.dispatcher = instance("@Dispatcher", "dispatcher")
        return experts

    def run(self, output):
        run_hooks(self.dispatcher)
        if back_end("a2a").is_none():
            out = routed(output.topk_weights, "partial")
        else:
            out = routed(output.topk_weights, "complete")
        if flag("cuda") and self.factor is not None and not self.wants_fold and back_end("a2a").is_none():
            out *= self.factor
        return out

    @model("@Experts.__call__")
    def experts_call(self, hidden_states, output):
        return run(self, output)

    @model("@Dispatcher.register_hook")
    def register_hook(self, hook):
        return add_hook(self, hook)

    @model("@SharedExpert.__call__")
    def shared_call(self, hidden_states):
        if self.tp_size == 1 or self.reduce_results:
            return shared("complete")
        return shared("partial")

    @model("toy.experts.all_reduce")
    def group_sum(x):
        return all_reduce(x)
    """
)

PROFILE = Profile(name="toy", packages=("toy",), factor=frozenset({"routed_scaling_factor"}))
FACTS = RouteFacts(
    experts_factories=("Experts",),
    routers=("toy.topk.Router",),
    shared_attributes="^shared_experts$",
    follow=("toy.topk.", "toy.backend."),
    follow_tracked=("toy.models.",),
    classes=("toy.topk.",),
    linear="Linear@",
    norms="Norm@",
    keep="^(platform|a2a|the experts want the fold|config\\.|self\\.|alt_stream|fused)",
    hidden="^choice@|^loop@",
    order=("platform", "a2a", "the experts want the fold"),
    groups={"a2a": "toy.backend.A2A"},
    structured={"cuda": 'platform == "cuda"', "hip": 'platform == "hip"'},
    facts=(
        Fact('platform in ("cuda", "hip")'),
        Fact('a2a in ("none", "deepep", "mori")'),
        Fact('platform == "hip"', 'a2a == "mori"'),
    ),
    pipelines=(Pipeline("op_*", ("op_gate", "op_experts", "op_output"), ("hidden_states",), "output"),),
)
KNOWLEDGE = Knowledge(PROFILE, FACTS, MODELS, "toy/models.py")

HEADER = """
from toy.backend import get_a2a, is_cuda, is_hip
from toy.experts import MLP, Experts, RMSNorm, all_reduce
from toy.topk import Router, is_folded

_is_cuda = is_cuda()
_is_hip = is_hip()
"""


def tree(folder: Path, code: str, **more: str) -> Path:
    """Write the toy library and `toy/models/block.py` with `code`; more modules go beside it."""
    package = folder / "toy"
    (package / "models").mkdir(parents=True, exist_ok=True)
    (package / "models" / "__init__.py").write_text("")
    for name, text in LIBRARY.items():
        (package / name).write_text(dedent(text))
    for name, text in {"block": code, **more}.items():
        (package / "models" / f"{name}.py").write_text(HEADER + dedent(text))
    return folder


def analyse_code(folder: Path, code: str, name: str = "Block", **more: str) -> RouteTable:
    """The table of one block of `code`."""
    root = tree(folder, code, **more)
    module = Project(str(root)).load("toy.models.block")
    assert module is not None
    block = next(b for b in find_blocks(module, FACTS, "toy/models/block.py") if b.name == name)
    return table(analyse(str(root), block, KNOWLEDGE))


def outcomes(entry: RouteTable, question: str = "scale") -> set[tuple[str, str, str]]:
    """(route, condition, what) of every cell; `what` is the verdict with the exponents or states."""
    found = set()
    for cell in entry.cells:
        o = cell.outcome
        if o.question == question:
            what = (
                f"{o.verdict} {o.reduction}"
                if question == "reduction"
                else f"{o.verdict} {o.routed} {o.slot} {o.shared}"
            )
            found.add((cell.route, cell.condition, what.rstrip()))
    return found
