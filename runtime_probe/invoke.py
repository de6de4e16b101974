"""Call a built block through one of its routes, with every argument chosen by its name."""

from __future__ import annotations

import contextlib
import inspect
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from unittest import mock

import torch

from moelint.runtime_probe import reading
from moelint.runtime_probe.standins import Inert, State
from moelint.runtime_probe.tiny import EXPERTS, HIDDEN, VOCABULARY

_HIDDEN = re.compile(r"^(hidden_states\w*|x|hidden|inputs?|inp|layer_input)$")
_COLLECTIVE = re.compile(r"all_?reduce|reduce_scatter|all_gather|reduce_moe_output|post_experts|reduce_results")
_QUESTION = re.compile(r"^(should|is|can|has|use|get|enable)_|scal|_add|fused")


class NoOutput(TypeError):
    """The route returned nothing that looks like the block's output."""


def collectives(cls: type) -> list[str]:
    """Functions of the class's modules that reduce or gather over ranks. With one rank they are the identity."""
    return sorted(
        name
        for module in reading.modules(cls)
        for name, value in vars(module).items()
        if _COLLECTIVE.search(name) and not _QUESTION.search(name) and isinstance(value, types.FunctionType)
    )


def patch_modules(cls: type, name: str, value: Any, stack: contextlib.ExitStack, kind: Any = object) -> None:
    """Replace a global of the class's modules while the stack is open, where it is of this kind."""
    for module in reading.modules(cls):
        if isinstance(vars(module).get(name), kind) and name in vars(module):
            stack.enter_context(mock.patch.object(module, name, value))


def tokens(count: int, dtype: Any, device: str) -> Any:
    """The input: random, the same on every device, with channel 0 at 1 so that saturated gates open."""
    generator = torch.Generator("cpu").manual_seed(3)
    hidden = torch.randn(count, HIDDEN, generator=generator, device="cpu")
    hidden[:, 0] = 1.0
    return hidden.to(device=device, dtype=dtype)


def call(
    block: Any, cls: type, route: str, hidden: Any, batch: Any, extra: Mapping[str, Any], operations: Sequence[str]
) -> Any:
    """The route's output of shape (tokens, channels). Raises what the target raises, or NoOutput."""
    with contextlib.ExitStack() as stack:
        _enter_runtime(cls, hidden, stack)
        if route == reading.PIPELINE:
            return _run_pipeline(block, operations, hidden, batch)
        method = getattr(block, route)
        return output_of(method(**arguments(method, hidden, batch, extra)), hidden.numel() // HIDDEN)


def arguments(method: Any, hidden: Any, batch: Any, extra: Mapping[str, Any]) -> dict[str, Any]:
    """What a route is called with, by the names of its parameters."""
    return {
        parameter.name: _argument(parameter.name, hidden, batch, extra)
        for parameter in inspect.signature(method).parameters.values()
        if _wanted(parameter, extra)
    }


@contextlib.contextmanager
def recorded(block: Any, cls: type) -> Iterator[list[str]]:
    """The routes, other than `forward`, that the block's own code enters while the context is open."""
    hits: list[str] = []

    def watch(name: str, method: Any) -> Any:
        def watched(*arguments: Any, **keywords: Any) -> Any:
            hits.append(name)
            return method(*arguments, **keywords)

        watched.__signature__ = inspect.signature(method)  # type: ignore[attr-defined]
        return watched

    names = [name for name in reading.routes(cls) if name not in ("forward", reading.PIPELINE)]
    for name in names:
        block.__dict__[name] = watch(name, getattr(block, name))
    try:
        yield hits
    finally:
        for name in names:
            block.__dict__.pop(name, None)


def output_of(value: Any, count: int) -> Any:
    """The tensor of shape (tokens, channels) in what a route returned."""
    candidates = list(value) if isinstance(value, (tuple, list)) else [value]
    candidates += [getattr(value, name) for name in ("merged", "output", "hidden_states") if hasattr(value, name)]
    for one in candidates:
        if isinstance(one, torch.Tensor) and one.shape[-1] == HIDDEN and one.numel() == count * HIDDEN:
            return one.reshape(count, HIDDEN)
    raise NoOutput(f"the route returned {type(value).__name__}, no tensor of {count} x {HIDDEN}")


def _wanted(parameter: inspect.Parameter, extra: Mapping[str, Any]) -> bool:
    if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
        return False
    return (
        parameter.default is parameter.empty
        or parameter.name in extra
        or _HIDDEN.match(parameter.name) is not None
        or parameter.name in ("forward_batch", "input_ids", "input_ids_global")
    )


def _argument(name: str, hidden: Any, batch: Any, extra: Mapping[str, Any]) -> Any:
    count = hidden.shape[0]
    if name in extra:
        return extra[name]
    if _HIDDEN.match(name):
        return hidden
    if name in ("forward_batch", "batch"):
        return batch
    if name in ("input_ids", "input_ids_global"):
        return torch.arange(count, device=hidden.device) % VOCABULARY
    if name == "router_logits":
        generator = torch.Generator("cpu").manual_seed(5)
        return torch.randn(count, EXPERTS, generator=generator, device="cpu").to(hidden.device)
    if name == "num_tokens":
        return count
    return torch.zeros_like(hidden) if name == "residual" else None


def _run_pipeline(block: Any, operations: Sequence[str], hidden: Any, batch: Any) -> Any:
    ids = torch.arange(hidden.shape[0], device=hidden.device) % VOCABULARY
    batch.input_ids = ids
    state = State(hidden_states_mlp_input=hidden, forward_batch=batch, num_tokens=hidden.shape[0], layer_id=0)
    for operation in operations:
        getattr(block, operation)(state)
    outputs = [value for name, value in state.items() if "output" in name]
    return output_of(outputs, hidden.shape[0])


def _enter_runtime(cls: type, hidden: Any, stack: contextlib.ExitStack) -> None:
    """What every call needs: collectives of a single rank, and streams where there is no accelerator."""
    for module in reading.modules(cls):
        for name in collectives(cls):
            if isinstance(getattr(module, name, None), types.FunctionType):
                stack.enter_context(mock.patch.object(module, name, _identity))
    stack.enter_context(torch.no_grad())
    if hidden.device.type == "cpu":
        enter_without_accelerator(stack)


def enter_without_accelerator(stack: contextlib.ExitStack) -> None:
    """While the stack is open: streams that do nothing, and what the CPU's operators lack."""
    stack.enter_context(mock.patch.object(torch.Tensor, "record_stream", _identity))
    stack.enter_context(mock.patch.object(torch, "mm", _widening_mm(torch.mm)))
    streams: dict[str, Any] = {
        "current_stream": lambda *_: Inert(),
        "stream": lambda *_: contextlib.nullcontext(),
        "is_current_stream_capturing": lambda: False,
        "Event": Inert,
        "Stream": Inert,
    }
    for name, value in streams.items():
        stack.enter_context(mock.patch.object(torch.cuda, name, value))


def _identity(value: Any = None, *_: Any, **__: Any) -> Any:
    return value


def _widening_mm(plain: Any) -> Any:
    """`torch.mm` with `out_dtype`, which the CPU does not have."""

    def product(left: Any, right: Any, *rest: Any, out_dtype: Any = None, **keywords: Any) -> Any:
        if out_dtype is None:
            return plain(left, right, *rest, **keywords)
        return plain(left.to(out_dtype), right.to(out_dtype), *rest, **keywords)

    return product
