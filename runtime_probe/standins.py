"""Linear stand-ins on orthogonal channels, so that an output coordinate is the weight with which a part arrived."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn

from moelint.runtime_probe.tiny import EXPERTS, HIDDEN, SHARED_CHANNEL

SATURATED = 40.0
"""A logit whose sigmoid is 1 in every dtype."""


class Leaves:
    """What the stand-ins of one block share: the amplitude that all of them put out, and what they saw."""

    def __init__(self) -> None:
        self.amplitude = 1.0
        self.experts_called = 0
        self.shared_called = 0
        self.listed = 0
        """How many expert layers were made: the number of the next one, where experts are made one by one."""


def routing(values: Iterable[Any]) -> tuple[Any, Any] | None:
    """Weights and expert numbers among the arguments of a call of experts: as one top-k output, or as two tensors."""
    tensors = []
    for one in values:
        if hasattr(one, "to_standard"):
            one = one.to_standard(layer_id=0)
        if hasattr(one, "topk_weights"):
            return one.topk_weights, one.topk_ids
        if isinstance(one, torch.Tensor) and one.dim() > 1:
            tensors.append(one)
    weights = next((one for one in tensors if one.is_floating_point()), None)
    ids = next((one for one in tensors if not one.is_floating_point()), None)
    return None if weights is None or ids is None else (weights, ids)


def listed_expert(hidden: Any, number: int, leaves: Leaves) -> Any:
    """The output of one expert that the block weighs itself: the amplitude on its channel, for every token given."""
    leaves.experts_called += 1
    out = torch.zeros_like(hidden)
    out[..., number % EXPERTS] = leaves.amplitude
    return out


def one_hot(hidden: Any, ids: Any, routing_weights: Any, leaves: Leaves) -> Any:
    """The experts' output: expert number e puts its weight on channel e; negative numbers are nobody."""
    leaves.experts_called += 1
    out = torch.zeros(*hidden.shape[:-1], HIDDEN, dtype=torch.float32, device=hidden.device)
    flat = out.view(-1, HIDDEN)
    if not len(flat):
        return out.to(hidden.dtype)
    weight = routing_weights.reshape(flat.shape[0], -1).float()
    if ids is None:
        flat[:, : weight.shape[-1]] = weight
    else:
        ids = ids.reshape(flat.shape[0], -1)
        kept = torch.where(ids >= 0, weight, torch.zeros_like(weight))
        flat.scatter_add_(1, ids.clamp(min=0).long(), kept)
    return (leaves.amplitude * out).to(hidden.dtype)


class SharedExpert(nn.Module):
    """A shared expert of weight 1 on its own channel."""

    leaves: Leaves

    def __init__(self, *_: Any, **keywords: Any) -> None:
        super().__init__()
        self.keywords = keywords
        linear = _Linearish()
        self.gate_up_proj, self.down_proj, self.gate_proj, self.up_proj = linear, linear, linear, linear
        self.swiglu_limit = None
        self.is_replicated = keywords.get("parallel_group") == "replicated" or keywords.get("tp_size") == 1

    def forward(self, hidden: Any, *_: Any, **__: Any) -> Any:
        """Amplitude on the shared channel for every token."""
        self.leaves.shared_called += 1
        out = torch.zeros_like(hidden)
        out[..., SHARED_CHANNEL] = self.leaves.amplitude
        return out


class _Linearish:
    """What blocks ask a projection of a shared expert: never to compute."""

    def __init__(self) -> None:
        self.weight = torch.zeros(1)
        self.quant_method = None
        self.output_size_per_partition = 128


class Projection(nn.Module):
    """A bias-free linear layer that returns `(output, None)`: router logits, or a square or single-column projection.

    Square ones are the identity, so that a latent projection does not mix channels; single-column ones (gates of shared
    experts) saturate to 1, for inputs whose channel 0 is 1.
    """

    def __init__(self, input_size: int = HIDDEN, output_size: int = EXPERTS, *_: Any, **__: Any) -> None:
        super().__init__()
        self.input_size, self.output_size = input_size, output_size
        self.weight = nn.Parameter(initial(output_size, input_size), requires_grad=False)
        self.quant_method = self.bias = self.e_score_correction_bias = None

    def forward(self, hidden: Any, *_: Any, **__: Any) -> Any:
        """Float32 logits and no bias."""
        return nn.functional.linear(hidden.float(), self.weight.float()), None


def initial(rows: int, columns: int) -> Any:
    """A weight of the right kind for its shape; the random one is the same on every device."""
    if rows == columns == HIDDEN:
        return torch.eye(HIDDEN)
    weight = torch.zeros(rows, columns)
    if rows == 1:
        weight[0, 0] = SATURATED
        return weight
    generator = torch.Generator("cpu").manual_seed(7)
    return torch.randn(rows, columns, generator=generator, device="cpu").to(weight.device) * 0.1


class Inert:
    """An accelerator object that does nothing: a stream, an event, a communicator. False when asked."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> Inert:
        return Inert()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Inert()

    def __bool__(self) -> bool:
        return False

    def __enter__(self) -> Inert:
        return self

    def __exit__(self, *_: object) -> None:
        pass


class Batch:
    """Stands for the forward batch: predicates are false, everything else is None unless given."""

    def __init__(self, **values: Any) -> None:
        self.__dict__.update(values)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return (lambda *_, **__: False) if name.startswith(("is_", "can_", "has_")) else None


class State(dict[str, Any]):
    """The dictionary that the operations of a pipeline share, with its keys as attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class PassThrough(nn.Module):
    """Takes a norm's place: behind a norm nothing can be concluded from a weight."""

    def forward(self, hidden: Any, *_: Any, **__: Any) -> Any:
        """The input."""
        return hidden


def bypass_norms(block: Any) -> list[str]:
    """Replace the block's own norm layers, and name them."""
    found = [name for name, part in block.named_modules() if name and "norm" in type(part).__name__.lower()]
    for name in found:
        parent = block.get_submodule(name.rpartition(".")[0])
        setattr(parent, name.rpartition(".")[2], PassThrough())
    return found


def settle(block: Any) -> None:
    """Give every parameter and buffer of a built block a value that keeps the block linear and its parts apart."""
    generator = torch.Generator("cpu").manual_seed(11)
    with torch.no_grad():
        for name, value in [*block.named_parameters(), *block.named_buffers()]:
            if not value.is_floating_point():
                continue
            if "bias" in name:
                value.zero_()
            elif name.endswith("scale") or "norm" in name:
                value.fill_(1.0)
            elif value.dim() == 2 and value.shape[0] == value.shape[1] == HIDDEN:
                value.copy_(torch.eye(HIDDEN, device="cpu"))
            elif value.dim() == 2 and 1 in value.shape:
                value.zero_()
                value.view(-1)[0] = SATURATED
            elif "gate" in name or "router" in name or "classifier" in name:
                value.copy_((torch.randn(value.shape, generator=generator, device="cpu") * 0.1).to(value.dtype))
