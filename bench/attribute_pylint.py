"""The question as a pylint checker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from astroid import nodes
from pattern import ATTRIBUTE
from pylint.checkers import BaseChecker

if TYPE_CHECKING:
    from pylint.lint import PyLinter


class AttributeReads(BaseChecker):
    name = "attribute-reads"
    msgs = {"W9901": (f"read of {ATTRIBUTE}", "attribute-read", "The attribute is read.")}

    def visit_attribute(self, node: nodes.Attribute) -> None:
        if node.attrname == ATTRIBUTE:
            self.add_message("attribute-read", node=node)


def register(linter: PyLinter) -> None:
    linter.register_checker(AttributeReads(linter))
