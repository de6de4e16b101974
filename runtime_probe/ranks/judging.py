"""From what each rank has to a verdict. No torch here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from moelint.runtime_probe import measure
from moelint.runtime_probe.records import MATCHES, Expected, Share, Weights

By = Mapping[float, Sequence[float]]
"""By factor value: for each rank whose shard put it in, the weight that this rank's output has of it."""


@dataclass(frozen=True)
class Had:
    """What one rank's output has of both parts."""

    rank: int
    routed: By
    shared: By


@dataclass(frozen=True)
class Judged:
    """The verdict over all ranks, and the numbers behind it."""

    verdict: str
    reason: str
    measured: Weights
    shares: tuple[Share, ...]


def judge(had: Sequence[Had], expected: Expected, factors: Sequence[float], allowed: float) -> Judged:
    """Every rank must have the policy's weights of its own tokens; the first that has not is the one that is shown."""
    weights = {one.rank: _weights(one, factors) for one in had}
    verdicts = {rank: measure.judge(expected, one, allowed) for rank, one in weights.items()}
    wrong = [rank for rank, (verdict, _) in verdicts.items() if verdict != MATCHES]
    shown = wrong[0] if wrong else had[0].rank
    reason = "; ".join(f"rank {rank}: {verdicts[rank][1]}" for rank in wrong[:2])
    if len(wrong) > 2:
        reason += f"; and {len(wrong) - 2} more ranks"
    return Judged(verdicts[shown][0], reason, weights[shown], tuple(map(_share, had)))


def leaves_its_sum(had: Sequence[Had], expected: Expected, allowed: float) -> bool:
    """Whether no rank has anything of another's shard, and all together have just what one should have: the block puts
    out a part, whole and right, that somebody else has yet to sum."""
    for one in had:
        for kind in (one.routed, one.shared):
            if any(
                abs(part) > allowed for parts in kind.values() for rank, part in enumerate(parts) if rank != one.rank
            ):
                return False
    together = Had(
        0,
        {factor: [one.routed[factor][one.rank] for one in had] for factor in had[0].routed},
        {factor: [one.shared[factor][one.rank] for one in had] for factor in had[0].shared},
    )
    whole = judge([together], expected, sorted(set(had[0].routed) - {1.0}), allowed).verdict == MATCHES
    alone = judge(had, expected, sorted(set(had[0].routed) - {1.0}), allowed).verdict == MATCHES
    return whole and not alone


def _weights(one: Had, factors: Sequence[float]) -> Weights:
    totals = [{factor: [sum(parts)] for factor, parts in kind.items()} for kind in (one.routed, one.shared)]
    return measure.weights(totals[0], totals[1], factors)


def _share(one: Had) -> Share:
    lowest = min(one.routed)
    return Share(
        rank=one.rank,
        routed={measure.name(factor): round(sum(parts), 6) for factor, parts in sorted(one.routed.items())},
        shared={measure.name(factor): round(sum(parts), 6) for factor, parts in sorted(one.shared.items())},
        routed_from=tuple(round(part, 6) for part in one.routed[lowest]),
        shared_from=tuple(round(part, 6) for part in one.shared[lowest]),
    )
