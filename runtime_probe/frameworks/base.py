"""What an adapter offers: to the child process as a whole, and to the engine that measures block classes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from moelint.runtime_probe.records import FORCED, REACHED, Measurement, Unit

if TYPE_CHECKING:
    from moelint.runtime_probe.standins import Leaves

Configuration = Mapping[str, Any]
"""A choice for each of the framework's dimensions; what is absent is at its default."""


class Adapter(Protocol):
    """One release on one platform, imported and set up."""

    def about(self) -> dict[str, Any]:
        """Versions and what was fabricated, for the report's head."""

    def measure(self, unit: Unit) -> Iterator[Measurement]:
        """Run the unit's cells one after the other. Whatever it raises makes the rest of the unit not-run."""


class Framework:
    """What the engine must know of a framework. The defaults are those of plain torch modules."""

    kept: frozenset[str] = frozenset()
    """Names of classes that are never taken for experts or shared experts."""

    def about(self) -> dict[str, Any]:
        """Versions and what was fabricated."""
        return {}

    def configurations(self, cls: type, overlay: Mapping[str, Any]) -> list[Configuration]:
        """The configurations to measure; the first is the reference for the routed weight at factor 1."""
        return [{}]

    def is_reference(self, configuration: Configuration) -> bool:
        """Whether nothing is folded, fused or sent anywhere."""
        return not {key for key in configuration if key not in ("platform", "router", "dtype")}

    def shown(self, configuration: Configuration) -> dict[str, Any]:
        """The configuration as the report has it."""
        return dict(configuration)

    def router_overlay(self, configuration: Configuration) -> Mapping[str, Any]:
        """Configuration fields that choose the configuration's kind of router."""
        return {}

    def applies(self, cls: type, built: Any, configuration: Configuration) -> bool:
        """Whether the built block can be in this configuration at all."""
        return True

    def entered(self, configuration: Configuration) -> contextlib.AbstractContextManager[Any]:
        """The runtime as a server in this configuration has it."""
        return contextlib.nullcontext()

    def stand_ins(self, configuration: Configuration, leaves: Leaves) -> tuple[type, type]:
        """The classes that stand for routed and shared experts."""
        raise NotImplementedError

    def leaf_patches(self, experts: type) -> Mapping[str, Any]:
        """Names to replace wherever the class's modules have them, while it is built."""
        return {}

    def config_maker(
        self, cls: type, overlay: Mapping[str, Any]
    ) -> Callable[[float | None, dict[str, Any]], Any] | None:
        """How to make the target's own configuration, None to use the tiny one."""
        return None

    def after_build(self, block: Any, configuration: Configuration) -> None:
        """What a server does to a block between building and serving."""

    def shared_ids(self, block: Any, configuration: Configuration) -> list[int]:
        """The expert numbers that are slots of fused shared experts."""
        return []

    def enter_call(self, cls: type, block: Any, leaves: Leaves, force: bool, stack: contextlib.ExitStack) -> None:
        """Patches for one call; `force` asks for the branches that need an accelerator's streams or graphs."""

    def grade(self, force: bool) -> str:
        """The grade of a call of `forward`, with branches forced or not."""
        return FORCED if force else REACHED

    def remarks(self, cls: type, built: Any, configuration: Configuration) -> list[str]:
        """What a reader must know of this configuration of the block."""
        return []

    def has_edges(self, configuration: Configuration) -> bool:
        """Whether the ends of the ranges are measured in this configuration."""
        return not configuration

    def has_pipeline(self, configuration: Configuration) -> bool:
        """Whether a scheduler would run the block's operations in this configuration."""
        return False

    def pipeline(self, operations: Sequence[str]) -> Sequence[str]:
        """The order in which a scheduler runs a block's operations, given in the order of its source."""
        return operations

    def batched(self, cls: type) -> bool:
        """Whether the block takes (batch, tokens, channels) and not (tokens, channels)."""
        return False

    def batch(self) -> Any:
        """What stands for the forward batch."""
        return None

    def latent(self, routes: list[str]) -> list[str]:
        """Which routes to call by themselves if nothing came through them."""
        return []

    def latent_configurations(self, route: str) -> list[Configuration]:
        """Where to try such a route, most likely first."""
        return [{}]

    def emulations(self, configuration: Configuration) -> tuple[str, ...]:
        """What is emulated in this configuration."""
        return ()
