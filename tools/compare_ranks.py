"""Hold reports of several launchers against each other: the same verdicts, and numbers within the dtype's tolerance?

    python tools/compare_ranks.py docs/results/h200x2-2026-11-29/0.5.23-{threads,gloo,nccl}.json.gz

The first report is the one that the others are held against. Exit code 0 if nothing differs.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections import Counter
from pathlib import Path

from moelint.runtime_probe.records import Measurement


def read(path: Path) -> dict[str, Measurement]:
    """The cells of a report, gzipped or not, by identity."""
    raw = path.read_bytes()
    report = json.loads(gzip.decompress(raw) if path.suffix == ".gz" else raw)
    return {one.cell: one for one in map(Measurement.from_dict, report["measurements"])}


def distance(one: Measurement, other: Measurement) -> float | None:
    """The largest difference of a weight on any rank, relative to 1 or the weight; None where one has no numbers."""
    if not one.shares or len(one.shares) != len(other.shares):
        return None
    pairs = [
        (mine.get(factor), theirs.get(factor))
        for first, second in zip(one.shares, other.shares, strict=True)
        for mine, theirs in ((first.routed, second.routed), (first.shared, second.shared))
        for factor in mine
    ]
    return max(abs(a - b) / max(1.0, abs(a)) for a, b in pairs if a is not None and b is not None)


def main() -> int:
    """Print a line for each report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("reports", nargs="+", type=Path)
    options = parser.parse_args()
    first, *others = options.reports
    base = read(first)
    same = True
    print(f"{first.name}: {len(base)} cells, {dict(Counter(one.verdict for one in base.values()))}")
    for path in others:
        cells = read(path)
        verdicts = sum(one.verdict != base[cell].verdict for cell, one in cells.items() if cell in base)
        gaps = {cell: distance(base[cell], one) for cell, one in cells.items() if cell in base}
        far = [(gap, cell) for cell, gap in gaps.items() if gap is not None]
        beyond = sum(gap > (base[cell].tolerance or 0.0) for gap, cell in far)
        missing = len(set(base) ^ set(cells))
        largest = max((gap for gap, _ in far), default=0.0)
        print(
            f"{path.name}: {len(cells)} cells, {missing} not in both, {verdicts} with another verdict; numbers in "
            f"{len(far)}, {beyond} beyond the tolerance, largest difference {largest:g}"
        )
        same = same and not (missing or verdicts or beyond)
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
