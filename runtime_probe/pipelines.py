"""In which order a framework's schedulers run the operations of a block: read off the lists in its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path


class Pipelines:
    """Every list of a tree that names operations (`layer.mlp.op_gate`), in the order of the list."""

    def __init__(self, root: Path, owner: bytes = b".op_") -> None:
        self._lists = [found for file in sorted(root.rglob("*.py")) for found in _lists(file, owner)]

    def order(self, operations: Sequence[str]) -> Sequence[str]:
        """The first list that has most of the operations, reduced to them; the given order if no list has any."""
        wanted = set(operations)
        best = max(self._lists, key=lambda names: len(wanted & set(names)), default=[])
        return [name for name in best if name in wanted] or operations


def _lists(file: Path, owner: bytes) -> Iterator[list[str]]:
    source = file.read_bytes()
    if source.count(owner) < 2:
        return
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.List):
            names = [item.attr for item in node.elts if isinstance(item, ast.Attribute) and item.attr.startswith("op_")]
            if len(names) > 1:
                yield names
