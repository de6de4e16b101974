"""The interpreter on a toy framework: each test is one idiom of real blocks."""

from __future__ import annotations

from pathlib import Path

import pytest
from toy import analyse_code, outcomes

INIT = """
    class Block:
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor, fold=self.experts.wants_fold)
            self.folded = is_folded(self.topk.topk_config)
            self.shared_experts = MLP(reduce_results=False)
"""
A2A_EPILOGUE = """
        def forward(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            {epilogue}
            return out
"""


def block(epilogue: str, init: str = INIT) -> str:
    body = "\n            ".join(epilogue.strip("\n").split("\n"))
    return init + A2A_EPILOGUE.format(epilogue=body)


RIGHT_EVERYWHERE = """
if not self.folded and not (_is_cuda and get_a2a().is_none()):
    {multiply}
"""


def everywhere(multiply: str) -> str:
    return block(RIGHT_EVERYWHERE.format(multiply=multiply))


@pytest.mark.parametrize(
    "multiply",
    [
        "out *= self.routed_scaling_factor",
        "out.mul_(self.routed_scaling_factor)",
        "out = out * self.routed_scaling_factor",
        "out = self.routed_scaling_factor * out",
        "out = torch.mul(out, self.routed_scaling_factor)",
        "out = out / (1.0 / self.routed_scaling_factor)",
        "scale = float(self.routed_scaling_factor)\n    out = out.mul(scale)",
        "alias = out\n    alias *= self.routed_scaling_factor",
        "out = (lambda x: x * self.routed_scaling_factor)(out)",
        "zero = torch.zeros_like(out)\n    out = torch.add(zero, out, alpha=self.routed_scaling_factor)",
    ],
)
def test_every_spelling_of_the_multiply_counts_once(tmp_path: Path, multiply: str) -> None:
    entry = analyse_code(tmp_path, everywhere("import torch\n    " + multiply))
    assert {what for _, _, what in outcomes(entry)} == {"right 1 None"}


def test_a_missing_guard_is_wrong_exactly_where_somebody_else_applied(tmp_path: Path) -> None:
    entry = analyse_code(tmp_path, block("out *= self.routed_scaling_factor"))
    found = outcomes(entry)
    assert ("forward", "the experts want the fold", "wrong 2 None") in found
    assert ("forward", "platform=cuda, a2a=none", "wrong 2 None") in found
    assert {what for _, _, what in found} == {"wrong 2 None", "right 1 None"}


def test_a_missing_multiply_is_found_without_a_line(tmp_path: Path) -> None:
    found = outcomes(analyse_code(tmp_path, block("pass")))
    assert ("forward", "platform=hip, not the experts want the fold", "wrong 0 None") in found
    assert ("forward", "the experts want the fold", "right 1 None") in found


def test_a_platform_flag_instead_of_the_answer(tmp_path: Path) -> None:
    found = outcomes(analyse_code(tmp_path, block("if _is_hip:\n    out *= self.routed_scaling_factor")))
    assert ("forward", "platform=hip, the experts want the fold", "wrong 2 None") in found


def test_in_place_addition_reaches_every_alias(tmp_path: Path) -> None:
    epilogue = """
shared = self.shared_experts(hidden_states)
x = shared
if not self.folded and not (_is_cuda and get_a2a().is_none()):
    x.add_(out, alpha=self.routed_scaling_factor)
else:
    x.add_(out)
out = shared
"""
    assert {what for _, _, what in outcomes(analyse_code(tmp_path, block(epilogue)))} == {"right 1 None 1"}


def test_a_shared_expert_that_is_scaled_is_wrong(tmp_path: Path) -> None:
    epilogue = """
out = out + self.shared_experts(hidden_states)
if not self.folded and not (_is_cuda and get_a2a().is_none()):
    out *= self.routed_scaling_factor
"""
    assert "wrong 1 None rsf" in {what for _, _, what in outcomes(analyse_code(tmp_path, block(epilogue)))}


SLOTS = INIT.replace("fold=self.experts.wants_fold)", "fold=self.experts.wants_fold, slots=config.slots)")


def test_a_slot_holds_the_inverse_only_where_a_multiply_follows(tmp_path: Path) -> None:
    right = block(RIGHT_EVERYWHERE.format(multiply="out *= self.routed_scaling_factor"), SLOTS)
    assert {what for _, _, what in outcomes(analyse_code(tmp_path, right))} == {"right 1 None", "right 1 0"}


def test_a_slot_left_over_is_found(tmp_path: Path) -> None:
    found = {what for _, _, what in outcomes(analyse_code(tmp_path, block("pass", SLOTS)))}
    assert "wrong 0 -1" in found


def test_unlike_states_and_double_sums_are_found(tmp_path: Path) -> None:
    epilogue = "out = out + self.shared_experts(hidden_states)\nout = all_reduce(out)"
    found = outcomes(analyse_code(tmp_path, block(epilogue)), "reduction")
    assert ("forward", "a2a=none", "right complete") in found
    assert any(condition != "a2a=none" and what.startswith("wrong") for _, condition, what in found)


def test_a_replicated_shared_expert_after_the_sum_is_right(tmp_path: Path) -> None:
    init = INIT.replace("MLP(reduce_results=False)", "MLP(reduce_results=False, tp_size=1)")
    epilogue = "if get_a2a().is_none():\n    out = all_reduce(out)\nout = out + self.shared_experts(hidden_states)"
    found = outcomes(analyse_code(tmp_path, block(epilogue, init)), "reduction")
    assert {what for _, _, what in found} == {"right complete"}


def test_a_configuration_that_raises_is_refused_and_not_wrong(tmp_path: Path) -> None:
    epilogue = """
if get_a2a().is_mori():
    raise NotImplementedError("no mori")
assert not get_a2a().is_deepep()
"""
    found = outcomes(analyse_code(tmp_path, block(epilogue)))
    refused = {condition for _, condition, what in found if what.startswith("refused")}
    assert refused == {"a2a in {deepep, mori}"} or refused == {"a2a!=none"}
    assert not any("mori" in condition or "deepep" in condition for _, condition, what in found if "wrong" in what)


def test_an_unknown_call_is_named_with_its_line(tmp_path: Path) -> None:
    entry = analyse_code(tmp_path, block("out = mystery(out)"))
    reasons = {cell.outcome.reason for cell in entry.cells if cell.outcome.question == "scale"}
    assert len(reasons) == 1
    assert "unknown because of mystery at toy/models/block.py:" in reasons.pop()


def test_a_norm_behind_the_experts_erases_the_scale(tmp_path: Path) -> None:
    init = INIT + "            self.norm = RMSNorm(8)\n"
    entry = analyse_code(tmp_path, block("out = self.norm(out)", init))
    assert {cell.outcome.reason for cell in entry.cells if cell.outcome.question == "scale"} == {
        "a norm behind the experts erases the scale"
    }


def test_routes_of_a_dispatcher_are_judged_under_their_own_conditions(tmp_path: Path) -> None:
    code = (
        INIT
        + """
        def forward(self, hidden_states):
            if get_a2a().is_none():
                return self.forward_normal(hidden_states)
            return self.forward_deepep(hidden_states)

        def forward_normal(self, hidden_states):
            return self.experts(hidden_states, self.topk(hidden_states, hidden_states))

        def forward_deepep(self, hidden_states):
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            if not self.folded:
                out *= self.routed_scaling_factor
            return out
    """
    )
    entry = analyse_code(tmp_path, code)
    found = outcomes(entry)
    assert {what for route, _, what in found if route == "forward_deepep"} == {"right 1 None"}
    assert ("forward_normal", "platform=hip, not the experts want the fold", "wrong 0 None") in found
    assert entry.verdicts() == {"forward_normal": "wrong", "forward_deepep": "right"}


def test_a_pipeline_shares_one_state(tmp_path: Path) -> None:
    code = (
        INIT
        + """
        def forward(self, hidden_states):
            return self.experts(hidden_states, self.topk(hidden_states, hidden_states))

        def op_gate(self, state):
            state.topk = self.topk(state.hidden_states, state.hidden_states)

        def op_experts(self, state):
            state.out = self.experts(state.pop("hidden_states"), state.pop("topk"))

        def op_output(self, state):
            out = state.pop("out")
            if not self.folded:
                out *= self.routed_scaling_factor
            state.output = out
    """
    )
    found = {(condition, what) for route, condition, what in outcomes(analyse_code(tmp_path, code)) if route == "op_*"}
    assert ("platform=cuda, a2a=none, not the experts want the fold", "wrong 2 None") in found
    assert {what for _, what in found} == {"wrong 2 None", "right 1 None"}


def test_hooks_with_nonlocal_run_when_the_experts_do(tmp_path: Path) -> None:
    code = (
        INIT
        + """
        def forward(self, hidden_states):
            shared = None

            def hook(dispatcher):
                nonlocal shared
                shared = self.shared_experts(hidden_states)

            self.experts.dispatcher.register_hook(hook)
            out = self.experts(hidden_states, self.topk(hidden_states, hidden_states))
            if not self.folded and not (_is_cuda and get_a2a().is_none()):
                out *= self.routed_scaling_factor
            out = out + shared
            return out
    """
    )
    assert {what for _, _, what in outcomes(analyse_code(tmp_path, code))} == {"right 1 None 1"}


def test_properties_helpers_bases_and_late_mutation(tmp_path: Path) -> None:
    base = """
    class Base:
        @property
        def owed(self):
            return not self.folded and not (_is_cuda and get_a2a().is_none())

        def finish(self, out):
            return scale_if(out, self.routed_scaling_factor, self.owed)

    def scale_if(out, factor, owed):
        if owed:
            return out * factor
        return out
    """
    code = """
    from toy.models.base import Base

    class Block(Base):
        def __init__(self, config):
            self.routed_scaling_factor = config.routed_scaling_factor
            self.experts = Experts(routed_scaling_factor=self.routed_scaling_factor)
            self.topk = Router(self.routed_scaling_factor)
            self.topk.topk_config.fold = self.experts.wants_fold
            self.folded = is_folded(self.topk.topk_config)

        def forward(self, hidden_states):
            output = self.topk(hidden_states, hidden_states)
            output = output._replace(topk_ids=None)
            return self.finish(self.experts(hidden_states, output))
    """
    assert {what for _, _, what in outcomes(analyse_code(tmp_path, code, base=base))} == {"right 1 None"}


def test_recursion_is_cut_and_said(tmp_path: Path) -> None:
    code = """
    def again(x):
        return again(x)
    """ + block("out = again(out)")
    entry = analyse_code(tmp_path, code)
    assert entry.notes == ("recursion or depth cut at toy.models.block.again",)
    assert {cell.outcome.verdict for cell in entry.cells if cell.outcome.question == "scale"} == {"unknown"}


def test_the_trace_tells_who_applied_what(tmp_path: Path) -> None:
    entry = analyse_code(tmp_path, block("out *= self.routed_scaling_factor"))
    cell = next(c for c in entry.cells if c.condition == "the experts want the fold")
    steps = [(step.path, step.what) for step in cell.trace]
    assert ("toy/topk.py", "top-k weights multiplied by rsf") in steps
    assert ("toy/models/block.py", "routed multiplied by rsf") in steps
    assert all("runner" not in what for _, what in steps)


def test_facts_discharge_what_cannot_be(tmp_path: Path) -> None:
    epilogue = (
        "if get_a2a().is_mori() and _is_cuda:\n    out *= self.routed_scaling_factor * self.routed_scaling_factor"
    )
    entry = analyse_code(tmp_path, block(epilogue))
    assert all("mori" not in condition for _, condition, what in outcomes(entry) if "2" in what or "3" in what)
