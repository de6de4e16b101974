"""What to run: the framework of a target, its classes, on which platforms, and what the linter said of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from moelint.runtime_probe import discover, kernels, ranks
from moelint.runtime_probe.records import Job, Measurement, Unit

PACKAGES = {"sglang": ("srt/models", "srt/layers"), "transformers": ("models",)}
"""Framework -> the folders of its package that hold blocks."""
_PLATFORMS = {"sglang": ("cuda", "rocm"), "transformers": ("cpu",), "file": ("cpu",)}
_GENERATED_FROM = "modular_"
"""Transformers' sources of generated modules: the generated ones are what runs."""


class PlanError(ValueError):
    """The command line asks for something that is not there."""


@dataclass(frozen=True)
class Choice:
    """What the command line narrows a plan to."""

    classes: tuple[str, ...] = ()
    """Substrings of `path:Class`; none: all."""
    platforms: tuple[str, ...] = ()
    device: str = "cpu"
    framework: str = "auto"
    factors: tuple[float, ...] = (1.5, 2.5)
    seed: int = 7
    dtype: str = "float32"
    unit_seconds: float = 180.0
    only: str = ""
    world: int = 1
    launcher: str = ""
    backend: str = ""
    edges: bool = False
    kernels: bool = False
    """Compare the framework's kernels by themselves, no blocks."""
    asks: tuple[str, ...] = ()


def jobs(target: Path, choice: Choice, flagged: Iterable[str] | None = None) -> list[Job]:
    """One job for each platform of the target. `flagged`: keep to these `path:Class`. Raises PlanError."""
    if not target.exists():
        raise PlanError(f"{target}: no such file or folder")
    framework, root = resolve(target, choice.framework)
    if choice.world > 1 and framework not in ranks.FRAMEWORKS:
        raise PlanError(f"{target}: blocks of {framework} are not measured on several ranks")
    units = _kernels(framework, root) if choice.kernels else _units(framework, root, target)
    words = choice.classes
    wanted = [unit for unit in units if not words or any(word in unit.key for word in words)]
    if flagged is not None:
        keys = set(flagged)
        wanted = [unit for unit in wanted if any(_same(unit, key) for key in keys)]
    if choice.only:
        wanted = [unit for unit in wanted if _has_cell(unit, choice)]
    if not wanted:
        raise PlanError(f"{target}: no block to probe" + (f" like {', '.join(words)}" if words else ""))
    return [
        Job(
            framework=f"{framework}_kernels" if choice.kernels else framework,
            root=str(root),
            platform=platform,
            device=choice.device,
            units=tuple(wanted),
            factors=choice.factors,
            seed=choice.seed,
            dtype=choice.dtype,
            only=choice.only,
            unit_seconds=choice.unit_seconds,
            world=choice.world,
            launcher=choice.launcher,
            backend=choice.backend,
            edges=choice.edges,
            asks=choice.asks,
        )
        for platform in choice.platforms or (("cuda",) if choice.kernels else _platforms(framework, choice.device))
    ]


def _kernels(framework: str, root: Path) -> list[Unit]:
    """The functions that launch kernels, as far as this release has their files. Raises PlanError."""
    if framework not in kernels.UNITS:
        raise PlanError(f"{root}: no kernels are known of {framework}")
    return [unit for unit in kernels.UNITS[framework] if (root / unit.path).is_file()]


def _has_cell(unit: Unit, choice: Choice) -> bool:
    """Whether the cell may be one of the unit: on several ranks the layers around it have cells of their own."""
    key = choice.only.partition("|")[0]
    return unit.key == key or (choice.world > 1 and unit.path == key.rpartition(":")[0])


def resolve(target: Path, framework: str) -> tuple[str, Path]:
    """The framework and the root of its package: the target itself, a folder below it or above it. Raises PlanError."""
    target = target.resolve()
    if framework == "file":
        return framework, target if target.is_dir() else target.parent
    for name in PACKAGES if framework == "auto" else (framework,):
        for place in (target / name, target, *target.parents):
            if place.name == name and any((place / folder).is_dir() for folder in PACKAGES[name]):
                return name, place
    if framework != "auto":
        raise PlanError(f"{target}: no package {framework} here, below or above")
    return "file", target if target.is_dir() else target.parent


def _platforms(framework: str, device: str) -> Sequence[str]:
    return ("cuda",) if framework == "sglang" and device != "cpu" else _PLATFORMS[framework]


def _units(framework: str, root: Path, target: Path) -> list[Unit]:
    target = target.resolve()
    if framework == "file":
        files = [target] if target.is_file() else sorted(target.rglob("*.py"))
        return [Unit(file.relative_to(root).as_posix(), file.stem) for file in files if not file.name.startswith("_")]
    inside = target.relative_to(root).as_posix() if target.is_relative_to(root) else "."
    paths = [inside] if inside != "." else [folder for folder in PACKAGES[framework] if (root / folder).is_dir()]
    units = discover.blocks(root, framework, paths)
    return [unit for unit in units if not unit.path.rpartition("/")[2].startswith(_GENERATED_FROM)]


def _same(unit: Unit, key: str) -> bool:
    """Whether `key`, a path as the linter wrote it and a class, means this unit."""
    path, _, block = key.rpartition(":")
    return block == unit.block and (path == unit.path or path.endswith("/" + unit.path))


def flagged_by(report: Path) -> dict[str, list[str]]:
    """`path:Class` -> codes of the findings that `moelint check --output json` has in that class. Raises PlanError."""
    try:
        raw: Any = json.loads(report.read_text(encoding="utf-8"))
        findings = [(one["path"], str(one["qualname"]), str(one["code"])) for one in raw["findings"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise PlanError(f"{report}: no report of moelint check or routes in JSON ({error})") from None
    flagged: dict[str, list[str]] = {}
    for path, qualname, code in findings:
        flagged.setdefault(f"{path}:{qualname.partition('.')[0]}", []).append(code)
    return flagged


def with_static(measurements: Iterable[Measurement], flagged: dict[str, list[str]]) -> list[Measurement]:
    """The measurements with what the linter said of their class: the codes, or `clean`."""
    from dataclasses import replace

    found = []
    for one in measurements:
        unit = Unit(one.path, one.block)
        codes = sorted({code for key, codes in flagged.items() if _same(unit, key) for code in codes})
        found.append(replace(one, static_verdict=" ".join(codes) or "clean"))
    return found
