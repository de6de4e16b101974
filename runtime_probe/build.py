"""Build a block by its real `__init__`, with linear stand-ins for its experts and a self-repairing configuration."""

from __future__ import annotations

import contextlib
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import torch
from torch import nn

from moelint.runtime_probe import reading
from moelint.runtime_probe.standins import Inert, bypass_norms, settle
from moelint.runtime_probe.tiny import TABLE, TinyConfig, UnknownField, guess

_CONFIG_PARAMETERS = frozenset({"config", "cfg", "hf_config", "text_config", "model_config"})
_EXPERTS = re.compile(r"^(?!.*share)(?!.*(num|_per|top|ids))\w*experts$")
_SHARED = re.compile(r"^_*(?!.*(gate|config|weight|scale|num|size|slot|ids|strategy))\w*shared?_(expert|mlp|ffn)\w*$")
_DECIDES = re.compile(r"scal|topk|top_k|experts|gate|router|route|fuse|weight", re.I)
_REPAIRS = 40


class NotConverging(RuntimeError):
    """The configuration was repaired many times and the block still asks for more."""


@dataclass
class Recipe:
    """How to build one class in one configuration; what is learnt in one build serves the next."""

    cls: type
    experts: type
    shared: type
    overlay: Mapping[str, Any]
    leaf_patches: Mapping[str, Any]
    keep: frozenset[str] = frozenset()
    """Names that are never patched: linear layers that blocks also use for their gates."""
    make_config: Callable[[float | None, dict[str, Any]], Any] | None = None
    """Makes the target's own configuration; None: only the tiny one is used."""
    shared_for: Callable[[type], type] | None = None
    """Makes the stand-in for one class of shared experts; None: `shared` stands for all."""
    guessed: dict[str, Any] = field(default_factory=dict)
    stubbed: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Built:
    """A block and how it came to be."""

    block: Any
    config: Any
    shared_by: tuple[str, ...]
    """The classes that a shared-expert stand-in replaced."""
    reads_factor: bool
    reads: frozenset[str]
    norms: list[str]
    """Norm layers that were replaced: the output is tapped before them."""


def build(recipe: Recipe, factor: float | None) -> Built:
    """Build the block. Raises what its `__init__` raises when no repair helps."""
    made = recipe.make_config(factor, recipe.guessed) if recipe.make_config else None
    config = made if made is not None else TinyConfig(factor, recipe.overlay, recipe.guessed)
    with contextlib.ExitStack() as stack:
        shared_by = _enter_patches(recipe, stack)
        for _ in range(_REPAIRS):
            try:
                torch.manual_seed(1)
                block, by_parameter = _construct(recipe, config, factor)
                break
            except UnknownField as error:
                recipe.guessed[error.field] = guess(error.field)
            except Exception as error:
                stub = reading.callee_at(error, recipe.cls)
                if stub is None or stub in recipe.stubbed or _DECIDES.search(stub) or not _is_global(recipe.cls, stub):
                    raise
                recipe.stubbed.append(stub)
                patch_all(recipe.cls, stub, Inert, stack)
        else:
            raise NotConverging(f"after {_REPAIRS} repairs, last guessed: {list(recipe.guessed)[-3:]}")
    norms = bypass_norms(block)
    settle(block)
    reads = frozenset(config.reads if isinstance(config, TinyConfig) else reads_of(config))
    return Built(block, config, shared_by, by_parameter or any(map(reading.is_factor, reads)), reads, norms)


def is_shared(attribute: str) -> bool:
    """Whether an attribute of this name is a shared expert."""
    return bool(_SHARED.match(attribute))


def patch_all(cls: type, name: str, value: Any, stack: contextlib.ExitStack) -> bool:
    """Replace a global of the class's modules while the stack is open; whether there was one."""
    homes = [module for module in reading.modules(cls) if hasattr(module, name)]
    for module in homes:
        stack.enter_context(mock.patch.object(module, name, value))
    return bool(homes)


def _enter_patches(recipe: Recipe, stack: contextlib.ExitStack) -> tuple[str, ...]:
    for name, value in recipe.leaf_patches.items():
        patch_all(recipe.cls, name, value, stack)
    for name in recipe.stubbed:
        patch_all(recipe.cls, name, Inert, stack)
    made = reading.factories(recipe.cls)
    shared = {factory.name for name in made if _SHARED.match(name) for factory in made[name]}
    shared = {name for name in shared if name not in recipe.keep and _is_module_class(recipe.cls, name)}
    for attribute in made:
        if not _EXPERTS.match(attribute):
            continue
        for factory in made[attribute]:
            if factory.name in shared or factory.name in recipe.keep:
                continue
            if factory.curried and _is_global(recipe.cls, factory.name):
                patch_all(recipe.cls, factory.name, _curried(recipe.experts), stack)
            elif not factory.curried and _is_module_class(recipe.cls, factory.name):
                patch_all(recipe.cls, factory.name, recipe.experts, stack)
    for name in shared:
        patch_all(recipe.cls, name, _shared_for(recipe, name), stack)
    return tuple(sorted(shared))


def _shared_for(recipe: Recipe, name: str) -> type:
    if recipe.shared_for is None:
        return recipe.shared
    return recipe.shared_for(next(vars(one)[name] for one in reading.modules(recipe.cls) if hasattr(one, name)))


def _curried(experts: type) -> Callable[..., type]:
    return lambda *_, **__: experts


def _is_global(cls: type, name: str) -> bool:
    return any(hasattr(module, name) for module in reading.modules(cls))


def _is_module_class(cls: type, name: str) -> bool:
    """Whether the name is a class of the target that can be a part of a model."""
    found = [getattr(module, name) for module in reading.modules(cls) if hasattr(module, name)]
    return any(
        isinstance(one, type) and issubclass(one, nn.Module) and not one.__module__.startswith("torch.")
        for one in found
    )


def _construct(recipe: Recipe, config: Any, factor: float | None) -> tuple[Any, bool]:
    """The block, and whether the factor was handed over as a parameter."""
    by_parameter = False
    arguments: dict[str, Any] = {}
    for parameter in _parameters(recipe.cls):
        name = parameter.name
        if name in _CONFIG_PARAMETERS:
            arguments[name] = config
        elif reading.is_factor(name):
            arguments[name] = factor
            by_parameter = True
        elif name in recipe.overlay:
            arguments[name] = recipe.overlay[name]
        elif parameter.default is not parameter.empty:
            continue
        elif name in TABLE:
            arguments[name] = TABLE[name]
        else:
            arguments[name] = recipe.guessed.setdefault(name, guess(name))
    return recipe.cls(**arguments), by_parameter


def _parameters(cls: Any) -> Iterator[inspect.Parameter]:
    for parameter in list(inspect.signature(cls.__init__).parameters.values())[1:]:
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            yield parameter


_READS = "_moelint_reads"


def record_reads(config: Any) -> Any:
    """Let a real configuration object remember which fields are read from now on."""
    cls: Any = type(config)

    def getattribute(self: Any, name: str) -> Any:
        if not name.startswith("_"):
            object.__getattribute__(self, "__dict__").setdefault(_READS, set()).add(name)
        return cls.__getattribute__(self, name)

    config.__class__ = type(cls.__name__, (cls,), {"__getattribute__": getattribute, "__module__": cls.__module__})
    return config


def reads_of(config: Any) -> set[str]:
    """The fields read from a configuration that `record_reads` prepared; none for any other object."""
    found: set[str] = getattr(config, "__dict__", {}).get(_READS, set())
    return found
