"""Layers that own a part of the block: the shared expert is made, and added, one level above."""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from typing import Any

from torch import nn

from moelint.runtime_probe import reading
from moelint.runtime_probe.build import is_shared
from moelint.runtime_probe.reading import Factory

_ATTENTION = re.compile(r"attn|attention")

FIELDS: dict[str, Any] = {
    "moe_layers_enum": "0,1,2,3,4,5,6,7",
    "yarn_only_types": [],
    "rope_theta": [1e4] * 8,
    "partial_rotary_factors": [1.0] * 8,
    "mlp_only_layers": [],
    "rope_scaling": None,
    "rope_parameters": {"rope_theta": 1e4, "rope_type": "default"},
}
"""Configuration fields that a layer asks for beside those of its block."""


class Attention(nn.Module):
    """Stands for attention, which is no concern of a block: its output is its input."""

    def __init__(self, *_: Any, **__: Any) -> None:
        super().__init__()

    def forward(self, *arguments: Any, hidden_states: Any = None, **_: Any) -> Any:
        """The hidden states, handed by name or by place."""
        return hidden_states if hidden_states is not None else arguments[-1]


def owners(block: type) -> list[type]:
    """The classes of the block's module that make it and make a shared expert beside it."""
    home = sys.modules[block.__module__]
    found = []
    for one in vars(home).values():
        if isinstance(one, type) and one is not block and one.__module__ == home.__name__ and hasattr(one, "forward"):
            made = reading.factories(one)
            makes_block = any(Factory(block.__name__) in factories for factories in made.values())
            if makes_block and any(map(is_shared, made)):
                found.append(one)
    return found


def told(block: type) -> dict[str, bool]:
    """What the layers of the block's module tell it when they make it, as far as they all say the same in plain words:
    `Block(..., reduce_results=False)`."""
    said: dict[str, set[bool]] = {}
    for node in ast.walk(_tree(block)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == block.__name__:
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg is not None and isinstance(value, bool):
                    said.setdefault(keyword.arg, set()).add(value)
    return {name: values.pop() for name, values in said.items() if len(values) == 1}


def _tree(block: type) -> ast.Module:
    home = sys.modules[block.__module__]
    return ast.parse(Path(str(home.__file__)).read_text(encoding="utf-8"))


def attention_classes(owner: type) -> list[str]:
    """The names of what the owner makes its attention with."""
    made = reading.factories(owner)
    return sorted({factory.name for name in made if _ATTENTION.search(name) for factory in made[name]})


def inner(owner_instance: Any, block: type) -> Any:
    """The block in a built owner, or the instance itself where it is the block."""
    return next(part for part in owner_instance.modules() if type(part) is block)
