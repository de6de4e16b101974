"""What each rule repairs, and what it leaves because the file does not show enough."""

from __future__ import annotations

from pathlib import Path

import pytest

from moelint.linter import check, options
from moelint.linter.fixing import repaired
from moelint.linter.plan import plan_for

ROOT = Path(__file__).parents[2]
WISH = "self.experts.should_fuse_routed_scaling_factor_in_topk"
FLAG = "apply_routed_scaling_factor_on_output"
ASK = "is_routed_scaling_factor_fused_in_topk"
TOPK = "self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor)"
EXPERTS = "self.experts = FusedMoE(config, routed_scaling_factor=config.routed_scaling_factor)"
OWNER = f"class TopK: ...\n\n\ndef {ASK}(topk_config): ...\n\n\ndef fused_shared_expert_weight(**given): ...\n"


def fixed(folder: Path, source: str, *, unsafe: bool = False) -> str:
    """`source` as a model of a tree whose owner module has the helpers."""
    owner = folder / "sglang" / "srt" / "layers" / "moe" / "topk.py"
    owner.parent.mkdir(parents=True)
    owner.write_text(OWNER)
    path = folder / "sglang" / "srt" / "models" / "m.py"
    path.parent.mkdir()
    path.write_text(source)
    plan = plan_for(options.parse(["--isolated", "--no-cache", str(path)]))
    session = repaired(check.check([str(path)], plan).findings, plan, {}, unsafe=unsafe)
    assert not session.refused
    new = session.new.get(str(path), source.encode())
    again = check.check([str(path)], plan, {str(path): new}).findings
    assert not repaired(again, plan, {str(path): new}, unsafe=unsafe).new
    return new.decode()


def block(init: str, *methods: str, imports: str = "TopK") -> str:
    parts = [f"    def __init__(self, config):\n        {EXPERTS}\n{_indented(init, 8)}", *methods]
    return f"from sglang.srt.layers.moe.topk import {imports}\n\n\nclass Block:\n" + "\n".join(parts)


def _indented(text: str, width: int) -> str:
    return "".join(f"{' ' * width}{line}\n" for line in text.splitlines())


def epilogue(test: str, before: str = "") -> str:
    return (
        "    def forward_deepep(self, x):\n        y = self.experts(x, self.topk(x))\n"
        f"{_indented(before, 8)}        if {test}:\n            y *= self.routed_scaling_factor\n        return y\n"
    )


ANSWER = f"{ASK}(self.topk.topk_config)"
BOTH = f"TopK, {ASK}"
CHOICE = """\
if config.hashed:
    self.topk = HashTopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor, {flag}=wish)
    {first}
else:
    self.topk = TopK(top_k=8, routed_scaling_factor=config.routed_scaling_factor, {flag}=wish)
    {second}
"""


def chosen(first: str = "", second: str = "") -> str:
    lines = CHOICE.format(flag=FLAG, first=first, second=second).splitlines()
    return "\n".join(line for line in lines if line.strip())


STORED = "self.routed_scaling_factor_fused_in_topk"
WISHED_TOPK = TOPK.replace(")", f", {FLAG}={WISH})")


@pytest.mark.parametrize(
    ("init", "test", "before", "after_init", "after_test", "after_before", "imports"),
    [
        (WISHED_TOPK, f"not {WISH}", "", WISHED_TOPK, f"not {ANSWER}", "", BOTH),
        (WISHED_TOPK, f"not ({WISH} or _use_aiter)", "", WISHED_TOPK, f"not {ANSWER}", "", BOTH),
        (WISHED_TOPK, "not _use_aiter", "", WISHED_TOPK, f"not {ANSWER}", "", BOTH),
        (WISHED_TOPK, f"self.a2a and not {WISH}", "", WISHED_TOPK, f"self.a2a and not {ANSWER}", "", BOTH),
        (WISHED_TOPK, f"not getattr(self.experts, '{WISH[13:]}', False)", "", WISHED_TOPK, f"not {ANSWER}", "", BOTH),
        (WISHED_TOPK, "not done", f"done = {WISH}", WISHED_TOPK, "not done", f"done = {ANSWER}", BOTH),
        (
            f"{WISHED_TOPK}\nself.owed = not {WISH}", "self.owed", "",
            f"{WISHED_TOPK}\nself.owed = not {ANSWER}", "self.owed", "", BOTH,
        ),
        (
            f"{WISHED_TOPK}\nself.fused_in_topk = {ANSWER}", f"not {WISH}", "",
            f"{WISHED_TOPK}\nself.fused_in_topk = {ANSWER}", "not self.fused_in_topk", "", "TopK",
        ),
        (
            chosen(), f"not {WISH}", "",
            chosen(f"{STORED} = (\n        self.topk.{FLAG}\n    )", f"{STORED} = (\n        {ANSWER}\n    )"),
            f"not {STORED}", "", BOTH,
        ),
    ],
)  # fmt: skip
def test_a_guard_asks_the_helper(
    tmp_path: Path, init: str, test: str, before: str, after_init: str, after_test: str, after_before: str, imports: str
) -> None:
    source = block(init, epilogue(test, before))
    assert fixed(tmp_path, source) == block(after_init, epilogue(after_test, after_before), imports=imports)


@pytest.mark.parametrize(
    ("init", "test"),
    [
        (WISHED_TOPK, "not _is_cuda and not _use_aiter"),
        (WISHED_TOPK, f"not {WISH} or isinstance(self.experts.quant_method, A)"),
        (WISHED_TOPK, WISH),
        (f"{WISHED_TOPK}\n{WISHED_TOPK.replace('self.topk', 'self.other', 1)}", f"not {WISH}"),
        ("self.topk = config.router", f"not {WISH}"),
        (f"{WISHED_TOPK}\nif config.odd:\n    self.topk = config.router", f"not {WISH}"),
        (f"self.owed = not {WISH}\n{WISHED_TOPK}", "self.owed"),
    ],
    ids=["runner", "quant", "sign", "two routers", "unknown router", "perhaps unknown", "too early"],
)
def test_a_guard_that_more_decides_or_whose_router_is_unknown_is_left(tmp_path: Path, init: str, test: str) -> None:
    source = block(init, epilogue(test))
    assert fixed(tmp_path, source, unsafe=True) == source


def unguarded(line: str) -> str:
    head = "    def forward(self, x):\n        y = self.experts(x, self.topk(x))\n        # owed\n"
    return f"{head}{line}        return y\n"


@pytest.mark.parametrize(
    "scale",
    [
        "y *= self.routed_scaling_factor  # at last",
        "y = y * self.routed_scaling_factor",
        "y.mul_(self.routed_scaling_factor)",
    ],
)
def test_a_scale_that_asks_nobody_asks(tmp_path: Path, scale: str) -> None:
    asking = unguarded(f"        if not {ANSWER}:\n            {scale}\n")
    assert fixed(tmp_path, block(WISHED_TOPK, unguarded(f"        {scale}\n"))) == block(
        WISHED_TOPK, asking, imports=BOTH
    )


@pytest.mark.parametrize(
    "line",
    [
        "y = y * self.routed_scaling_factor + x",
        "x.add_(y, alpha=self.routed_scaling_factor)",
        "z = y * self.routed_scaling_factor",
    ],
)
def test_a_statement_that_does_more_than_scale_is_left(tmp_path: Path, line: str) -> None:
    source = block(WISHED_TOPK, unguarded(f"        {line}\n"))
    assert fixed(tmp_path, source, unsafe=True) == source


@pytest.mark.parametrize(
    ("parameter", "flag"), [("", f"self.{FLAG}"), (f", {FLAG}", FLAG)], ids=["attribute", "parameter"]
)
def test_a_rebuilt_record_gets_the_flag_along_with_the_factor(tmp_path: Path, parameter: str, flag: str) -> None:
    source = (
        f"from sglang.srt.layers.moe.topk import TopKConfig\n\n\nclass Router:\n    def __init__(self, {FLAG}):\n"
        f"        self.{FLAG} = {FLAG}\n\n    def record(self{parameter}):\n"
        "        return TopKConfig(top_k=1, routed_scaling_factor=self.routed_scaling_factor)\n"
    )
    after = source.replace("=self.routed_scaling_factor)", f"=self.routed_scaling_factor, {FLAG}={flag})")
    assert fixed(tmp_path, source) == after


def test_a_literal_fold_flag_becomes_the_wish_of_experts_that_exist(tmp_path: Path) -> None:
    source = block(TOPK.replace(")", f", {FLAG}=True)"))
    assert fixed(tmp_path, source) == block(TOPK.replace(")", f", {FLAG}={WISH})"))


@pytest.mark.parametrize(
    "experts",
    [
        "self.experts = make(config, routed_scaling_factor=config.routed_scaling_factor)",
        "self.experts = FusedMoE(config)",
    ],
    ids=["unknown type", "without the factor"],
)
def test_a_literal_fold_flag_stays_where_the_experts_cannot_answer_or_apply(tmp_path: Path, experts: str) -> None:
    source = block(TOPK.replace(")", f", {FLAG}=True)")).replace(EXPERTS, experts)
    assert fixed(tmp_path, source, unsafe=True) == source


def test_a_missing_flag_is_given(tmp_path: Path) -> None:
    layout = "self.topk = TopK(\n    top_k=8,  # eight\n    routed_scaling_factor=config.routed_scaling_factor,\n{})"
    source, after = (block(layout.format(more)) for more in ("", f"    {FLAG}={WISH},\n"))
    assert fixed(tmp_path, source) == after


def test_a_missing_flag_is_set_when_the_experts_come_later(tmp_path: Path) -> None:
    source = block(TOPK).replace(f"{EXPERTS}\n        {TOPK}", f"{TOPK}\n        {EXPERTS}")
    line = f"\n        self.topk.topk_config.{FLAG} = (\n            {WISH}\n        )"
    assert fixed(tmp_path, source) == source.replace(EXPERTS, EXPERTS + line)


def slot(value: str) -> str:
    return f"def remap(weights, n, topk_config: TopKConfig):\n    r = topk_config.routed_scaling_factor\n    {value}\n"


def asked(indent: str) -> str:
    return (
        f"fused_shared_expert_weight(\n{indent}    routed_scaling_factor=topk_config.routed_scaling_factor,\n"
        f"{indent}    fused_in_topk={ASK}(topk_config),\n{indent})"
    )


@pytest.mark.parametrize("value", ["1.0", "1 / topk_config.routed_scaling_factor"])
def test_a_slot_takes_its_weight_from_the_helper(tmp_path: Path, value: str) -> None:
    head = "from sglang.srt.layers.moe.topk import TopKConfig"
    new = f"from sglang.srt.layers.moe.topk import (\n    TopKConfig,\n    fused_shared_expert_weight,\n    {ASK},\n)"
    source = f"{head}\n\n\n{slot(f'weights[:, -n:] = {value}')}"
    assert fixed(tmp_path, source) == f"{new}\n\n\n{slot(f'weights[:, -n:] = {asked(chr(32) * 4)}')}"


def test_a_slot_that_is_a_share_of_the_sum_is_left(tmp_path: Path) -> None:
    source = slot("weights[:, -1] = weights[:, :-1].sum(-1) / topk_config.routed_scaling_factor")
    assert fixed(tmp_path, source, unsafe=True) == source


def test_a_made_up_answer_is_asked_for(tmp_path: Path) -> None:
    head = f"from sglang.srt.layers.moe.topk import {ASK}, fused_shared_expert_weight\n\n\n"
    call = "weights[:, -1] = fused_shared_expert_weight(routed_scaling_factor=r, fused_in_topk={})"
    assert fixed(tmp_path, head + slot(call.format("_use_aiter"))) == head + slot(call.format(f"{ASK}(topk_config)"))


@pytest.mark.parametrize(
    ("second", "after"),
    [
        ("y *= self.routed_scaling_factor", "pass"),
        ("y = y * self.routed_scaling_factor + x", "y = y + x"),
        ("y.mul_(self.routed_scaling_factor)", "pass"),
    ],
)
def test_a_second_multiply_is_dropped_only_if_asked(tmp_path: Path, second: str, after: str) -> None:
    body = (
        "    def forward(self, x):\n        y = self.experts(x)\n        y *= self.routed_scaling_factor\n"
        "        if x is not None:\n            # again\n            {}\n        return y\n"
    )
    source = block("self.topk = None", body.format(second))
    assert fixed(tmp_path, source) == source
    (tmp_path / "again").mkdir()
    assert fixed(tmp_path / "again", source, unsafe=True) == block("self.topk = None", body.format(after))


def wrong_fixtures() -> list[Path]:
    return sorted((ROOT / "fixtures" / "rules").glob("*/wrong*.py"))


def test_fixes_of_all_fixtures_keep_what_they_promise(tmp_path: Path) -> None:
    """What has a fix is gone after it, nothing has come, and a second run has nothing to do."""
    count = 0
    for path in wrong_fixtures():
        plan = plan_for(options.parse(["--isolated", "--no-cache", str(path)]))
        session = repaired(check.check([str(path)], plan).findings, plan, {}, unsafe=True)
        assert all("not fixed: the file would have another finding" in line for line in session.refused)
        count += session.fixed.total()
        for new in session.new.values():
            left = check.check([str(path)], plan, {str(path): new})
            assert not left.diagnostics
            assert not repaired(left.findings, plan, {str(path): new}, unsafe=True).new
    assert count > 20
