"""Fixes as values: what they change, and how they are put together."""

from __future__ import annotations

from pathlib import Path

import pytest

from moelint.linter import check, options
from moelint.linter.fixing import combine, fixes_for
from moelint.linter.model import Edit, Fix, Region
from moelint.linter.plan import plan_for

BLOCK = """\
from sglang.srt.layers.moe.topk import TopK


class Block:
    def __init__(self, config, experts):
        self.experts = FusedMoE(config)
        self.topk = TopK(
            top_k=8,
            routed_scaling_factor=config.routed_scaling_factor,
            apply_routed_scaling_factor_on_output=self.experts.should_fuse_routed_scaling_factor_in_topk,
        )
        self.routed_scaling_factor = config.routed_scaling_factor

    def forward_deepep(self, x):
        y = self.experts(x, self.topk(x))
        if not self.experts.should_fuse_routed_scaling_factor_in_topk:  # the router has not
            y *= self.routed_scaling_factor
        return y
"""
FIXED = BLOCK.replace("import TopK\n", "import TopK, is_routed_scaling_factor_fused_in_topk\n").replace(
    "if not self.experts.should_fuse_routed_scaling_factor_in_topk:",
    "if not is_routed_scaling_factor_fused_in_topk(self.topk.topk_config):",
)


def fixed(folder: Path, data: bytes) -> bytes:
    """The file with all of its fixes."""
    path = folder / "block.py"
    path.write_bytes(data)
    plan = plan_for(options.parse(["--isolated", "--no-cache", "--profile", "sglang", str(path)]))
    found = check.check([str(path)], plan).findings
    return combine(data, fixes_for(str(path), data, found, plan)).data


@pytest.mark.parametrize(
    "shape",
    [
        str.encode,
        lambda text: text.replace("\n", "\r\n").encode(),
        lambda text: b"\xef\xbb\xbf" + text.encode(),
        lambda text: text.replace("class", "\f\nclass").replace("    def forward", "\f    def forward").encode(),
        lambda text: ("# -*- coding: latin-1 -*-\n# \u00e4\n" + text).encode("latin-1"),
        lambda text: text.replace("\n", "\r").encode(),
        lambda text: text.rstrip().encode(),
    ],
    ids=["plain", "crlf", "bom", "form feeds", "latin-1", "cr", "no end"],
)
def test_the_bytes_around_a_fix_stay(tmp_path: Path, shape) -> None:
    assert fixed(tmp_path, shape(BLOCK)) == shape(FIXED)


def edit(start: int, end: int, text: str) -> Edit:
    return Edit(start, end, text, Region(1, start + 1, 1, end + 1))


def fix(*edits: Edit) -> Fix:
    return Fix("MOE401", str(edits), "", edits, True)


def test_overlapping_fixes_are_refused_whole() -> None:
    first, other = fix(edit(0, 0, "x"), edit(4, 6, "Y")), fix(edit(2, 3, "Z"), edit(5, 7, "W"))
    done = combine(b"abcdefgh", [first, other])
    assert (done.data, done.applied, done.refused) == (b"xabcdYgh", (first,), (other,))


def test_an_edit_that_two_fixes_share_is_made_once() -> None:
    done = combine(b"abcd", [fix(edit(0, 0, "x"), edit(2, 3, "C")), fix(edit(0, 0, "x"), edit(3, 4, "D"))])
    assert done.data == b"xabCD" and not done.refused


def test_two_insertions_at_one_place_are_refused() -> None:
    assert len(combine(b"ab", [fix(edit(1, 1, "x")), fix(edit(1, 1, "y"))]).refused) == 1
