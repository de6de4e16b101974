"""Measure the repaired scaling bugs of SGLang before and after: one table.

    python tools/probe_exam.py --before .releases/sglang-0.5.22/sglang --after .releases/sglang-0.5.23/sglang

With `--older` and the two releases around an older bug (0.5.14 and 0.5.15) its row is added.
CUDA and ROCm are emulated on the CPU. Exit code 0 if every cell is wrong before and right after.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moelint.runtime_probe import plan, runner
from moelint.runtime_probe.records import Job, Measurement


@dataclass(frozen=True)
class Item:
    """One wrong cell: what the bug was, and where it shows."""

    number: int
    what: str
    block: str
    platform: str
    route: str
    configuration: tuple[tuple[str, Any], ...]


def item(number: int, what: str, block: str, platform: str, route: str, **configuration: Any) -> Item:
    """An Item; what is not named is at its default."""
    values = {"a2a": "none", "fold": False, "fused": 0, "router": "default", **configuration}
    return Item(number, what, block, platform, route, tuple(values.items()))


V2 = "deepseek_v2.py:DeepseekV2MoE"
EPILOGUES = (
    "glm4_moe.py:Glm4Moe",
    "glm4_moe_lite.py:Glm4Moe",
    "dots3_common/modeling.py:Dots3",
    "bailing_moe_v3.py:Bail",
)
ITEMS = (
    item(1, "two-batch overlap epilogue", V2, "cuda", "op chain", a2a="deepep", fold=True),
    item(2, "slot of a rank's own shared expert", V2, "cuda", "forward_deepep", a2a="deepep", fold=True, fused=1),
    item(3, "Waterfill", V2, "cuda", "forward_deepep", a2a="deepep", fold=True, fused=1, waterfill=True),
    item(4, "unified router with aiter", V2, "rocm", "forward_normal", router="unified"),
    *(item(5, "all-to-all epilogue", block, "rocm", "forward_deepep", a2a="deepep") for block in EPILOGUES),
    item(6, "route that does not fold, tensor parallel", V2, "rocm", "forward_normal", router="unbiased"),
    item(6, "route that does not fold, all-to-all", V2, "rocm", "forward_deepep", router="unbiased", a2a="mori"),
    item(6, "route that does not fold, two-batch overlap", V2, "rocm", "op chain", router="unbiased", a2a="mori"),
    item(6, "hash router, which does not fold", V2, "rocm", "forward_normal", router="hash"),
)
OLDER = (item(0, "002: slot of a rank, always 1/factor", V2, "rocm", "forward_deepep", a2a="mori", fused=1),)
"""Repaired between two earlier releases."""


def measure(root: Path, python: str, items: Sequence[Item]) -> list[Measurement]:
    """The cells of the items in one release."""
    found = []
    for platform in sorted({one.platform for one in items}):
        mine = [one for one in items if one.platform == platform]
        words = tuple(dict.fromkeys(one.block for one in mine))
        (job,) = plan.jobs(root, plan.Choice(classes=words, platforms=(platform,)))
        among = tuple({json.dumps(dict(one.configuration)): dict(one.configuration) for one in mine}.values())
        found += runner.run(Job.from_dict({**job.as_dict(), "among": among}), python=python).measurements
    return found


def cell(one: Item, measurements: list[Measurement]) -> Measurement | None:
    """The measurement of an item: the reached or forced cell of its block, route and configuration."""
    wanted = {"platform": one.platform, **dict(one.configuration)}
    for measurement in measurements:
        if (
            one.block in f"{measurement.path}:{measurement.block}"
            and one.route in measurement.route
            and "dual" not in measurement.route
            and measurement.configuration == wanted
        ):
            return measurement
    return None


def shown(one: Measurement | None) -> str:
    """Exponent of the routed part and weight of the shared part at the highest factor."""
    if one is None or one.measured is None:
        return "not run" if one is None else f"{one.verdict}: {one.reason[:40]}"
    shared = list(one.measured.shared.values())[-1]
    return f"{one.verdict:8} routed {one.measured.routed_exponent:+.2f} shared {shared:.3f}"


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, required=True)
    parser.add_argument("--after", type=Path, required=True)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--older", type=Path, nargs=2, metavar=("BEFORE", "AFTER"))
    options = parser.parse_args()
    pairs = [(ITEMS, options.before, options.after)]
    pairs += [(OLDER, *options.older)] if options.older else []
    right = total = 0
    print(f"{'item':45} {'block':26} {'before':38} after")
    for items, old, new in pairs:
        before, after = measure(old, options.python, items), measure(new, options.python, items)
        total += len(items)
        for one in items:
            was, now = cell(one, before), cell(one, after)
            right += was is not None and now is not None and (was.verdict, now.verdict) == ("violates", "matches")
            block = now.block if now is not None else one.block
            print(f"{one.number} {one.what:43} {block:26} {shown(was):38} {shown(now)}")
    print(f"{right} of {total} cells wrong before and right after")
    return 0 if right == total else 1


if __name__ == "__main__":
    sys.exit(main())
