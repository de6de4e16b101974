"""What travels between the parent, its child processes and the report: plain dataclasses, JSON in and out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

SCHEMA = 1
"""Version of the report. It grows by one when a field changes its meaning or goes away."""

MATCHES, VIOLATES, REFUSED, NOT_RUN = "matches", "violates", "refused", "not-run"
VERDICTS = (MATCHES, VIOLATES, REFUSED, NOT_RUN)

REACHED, FORCED, LATENT, UNREACHED = "reached", "forced", "latent", "unreached"
GRADES = (REACHED, FORCED, LATENT, UNREACHED)


@dataclass(frozen=True)
class Unit:
    """One thing to build and run: a class of a target tree, or a file that brings its own block."""

    path: str
    """Below the target's root, with `/`."""
    block: str
    """The class, or the file's name for a file that brings its own block."""
    module: str = ""
    line: int = 0
    routes: tuple[str, ...] = ()
    """The ways through the class that come to its routed experts, as its source has them."""
    reads_factor: bool = False
    """Whether the source of the class or of its bases asks for the factor."""

    @property
    def key(self) -> str:
        """What names the unit in cells and on the command line."""
        return f"{self.path}:{self.block}"


@dataclass(frozen=True)
class Job:
    """What one child process does: units of one release on one platform."""

    framework: str
    root: str
    platform: str
    device: str
    units: tuple[Unit, ...]
    factors: tuple[float, ...] = (1.5, 2.5)
    seed: int = 7
    dtype: str = "float32"
    only: str = ""
    """Run just the cell with this identity."""
    among: tuple[dict[str, Any], ...] = ()
    """Run just configurations that have all the values of one of these."""
    unit_seconds: float = 120.0
    world: int = 1
    """How many ranks run the block together."""
    launcher: str = ""
    """`threads` or `torchrun`; empty with one rank."""
    backend: str = ""
    """`gloo` or `nccl` with torchrun."""
    edges: bool = False
    """Measure the ends of the ranges as well."""
    asks: tuple[str, ...] = ()
    """Configuration fields whose values are wanted with every cell."""

    def as_dict(self) -> dict[str, Any]:
        """The job as JSON can hold it."""
        return asdict(self)

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Job:
        """The inverse of `as_dict`."""
        raw = dict(raw)
        raw["units"] = tuple(Unit(**{**unit, "routes": tuple(unit["routes"])}) for unit in raw["units"])
        for name in ("factors", "among", "asks"):
            raw[name] = tuple(raw[name])
        return cls(**raw)


@dataclass(frozen=True)
class Weights:
    """What reached the output: by factor value, the summed weight of the routed and of the shared part."""

    routed: dict[str, float | None] = field(default_factory=dict)
    shared: dict[str, float | None] = field(default_factory=dict)
    routed_exponent: float | None = None
    """None where the part is absent, zero, or differs in sign between the factor values."""
    shared_exponent: float | None = None
    baseline: float | None = None
    """The routed weight at factor 1."""
    spread: float | None = None
    """Largest distance of a token's exponent from the mean of all tokens."""


@dataclass(frozen=True)
class Share:
    """What one rank has of the output, in units of its own tokens."""

    rank: int
    routed: dict[str, float | None]
    """By factor value: the summed weight of the routed part."""
    shared: dict[str, float | None]
    routed_from: tuple[float, ...] = ()
    """At the lowest factor: how much of it the experts on each rank put in."""
    shared_from: tuple[float, ...] = ()


@dataclass(frozen=True)
class Expected:
    """What the policy asks of the cell."""

    routed_exponent: float | None = 1.0
    shared_exponent: float | None = 0.0
    baseline: float | None = None
    """None where no reference was measured."""
    shared: float | None = 1.0
    """None where the block has no shared expert."""


def in_words(configuration: Mapping[str, object]) -> str:
    """A configuration as a cell's identity has it."""
    return ",".join(f"{key}={value}" for key, value in sorted(configuration.items()))


@dataclass(frozen=True)
class Measurement:
    """One cell: what was run, how it was brought about, what came out."""

    path: str
    block: str
    route: str
    configuration: dict[str, Any]
    device: str
    verdict: str
    reason: str = ""
    line: int = 0
    grade: str = UNREACHED
    emulated: tuple[str, ...] = ()
    """What stood in for hardware or for a package: `platform:rocm`, `aiter.topk_gating`. Empty: nothing."""
    notes: tuple[str, ...] = ()
    """Guessed configuration values, inert stubs: what a reader must know before believing the numbers."""
    expected: Expected | None = None
    measured: Weights | None = None
    tolerance: float | None = None
    seed: int = 0
    seconds: float = 0.0
    static_verdict: str | None = None
    world: int = 1
    launcher: str = ""
    backend: str = ""
    shares: tuple[Share, ...] = ()
    """With several ranks: what each of them has. `measured` is then the rank that is furthest off."""
    fields: dict[str, str] = field(default_factory=dict)
    """Configuration fields that were asked for, as text."""

    @property
    def cell(self) -> str:
        """The cell's identity: block, route and configuration, no line number."""
        return f"{self.path}:{self.block}|{self.route}|{in_words(self.configuration)}"

    def as_dict(self) -> dict[str, Any]:
        """The measurement as the report has it."""
        raw = asdict(self)
        raw["cell"] = self.cell
        raw["emulations"] = list(raw.pop("emulated"))
        raw["emulated"] = bool(raw["emulations"])
        raw["notes"] = list(raw["notes"])
        raw["shares"] = list(raw["shares"])
        return raw

    @classmethod
    def from_dict(cls, raw: dict[str, Any]) -> Measurement:
        """The inverse of `as_dict`. Raises TypeError, ValueError or KeyError for what is no measurement."""
        known = {item.name for item in fields(cls)}
        values = {key: value for key, value in raw.items() if key in known}
        values["emulated"] = tuple(raw["emulations"])
        values["notes"] = tuple(raw["notes"])
        values["expected"] = Expected(**raw["expected"]) if raw["expected"] else None
        values["shares"] = tuple(map(_share, raw.get("shares", ())))
        values["measured"] = Weights(**raw["measured"]) if raw["measured"] else None
        if raw["verdict"] not in VERDICTS or raw["grade"] not in GRADES:
            raise ValueError(f"unknown verdict {raw['verdict']!r} or grade {raw['grade']!r}")
        if not isinstance(raw["configuration"], dict):
            raise ValueError("configuration is no table")
        return cls(**values)


def _share(raw: dict[str, Any]) -> Share:
    lists = {name: tuple(raw[name]) for name in ("routed_from", "shared_from")}
    return Share(**{**raw, **lists})


def not_run(job: Job, unit: Unit, reason: str) -> Measurement:
    """The measurement of a unit that gave none of its own."""
    return Measurement(
        path=unit.path,
        block=unit.block,
        line=unit.line,
        route="*",
        configuration={"platform": job.platform, **({"world": job.world} if job.world > 1 else {})},
        device=job.device,
        verdict=NOT_RUN,
        reason=reason,
        seed=job.seed,
        world=job.world,
        launcher=job.launcher,
        backend=job.backend,
    )
