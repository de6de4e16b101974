"""The question as a flake8 plug-in."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from pattern import ATTRIBUTE


class AttributeReads:
    name = "attribute-reads"
    version = "1"

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    def run(self) -> Iterator[tuple[int, int, str, type]]:
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and node.attr == ATTRIBUTE and isinstance(node.ctx, ast.Load):
                yield node.lineno, node.col_offset, f"ATR100 read of {ATTRIBUTE}", type(self)
