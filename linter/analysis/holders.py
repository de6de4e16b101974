"""Where the names and attributes of a module get what they hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from moelint.linter.analysis.branches import result_of, value_of
from moelint.linter.analysis.lookup import Lookup
from moelint.linter.analysis.module import Class, Function, Module

_DEPTH = 8


class Holders:
    """Looks names up: locals, parameters, attributes, properties, constants of the module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.profile = module.profile
        self.lookup = Lookup(module)

    def local(self, node: ast.Name, binder: Function, function: Function | None) -> ast.expr | None:
        """What a local name of `binder` holds where `node` stands in `function`, over the branches that lead there."""
        walrus = b":=" in self.module.source.segment(binder.node)
        return value_of(binder.node, node.id, node if binder is function else None, walrus)

    def binder(self, name: str, function: Function | None) -> Function | None:
        """The function that binds a local name, looking outwards."""
        while function is not None:
            if self.module.definitions(function).get(name):
                return function
            if self.is_parameter(name, function):
                return None
            function = function.outer
        return None

    def attribute_values(
        self, node: ast.Attribute, function: Function | None
    ) -> list[tuple[ast.expr, Function | None]]:
        """What an attribute of an object of this module's classes is set to, each with the function it is set in."""
        for ancestor in self._ancestry(node, function):
            if ancestor.has_property(node.attr):
                result = result_of(ancestor.methods[node.attr].node)
                return [(result, ancestor.methods[node.attr])] if result is not None else []
            if node.attr in ancestor.attributes:
                init = ancestor.methods.get("__init__")
                return [(value, init) for value in ancestor.attributes[node.attr]]
        return []

    def assignments(self, node: ast.Attribute, function: Function | None) -> list[ast.stmt]:
        """The statements that set an attribute."""
        for ancestor in self._ancestry(node, function):
            if node.attr in ancestor.assignments:
                return ancestor.assignments[node.attr]
        return []

    def held(self, node: ast.Attribute, function: Function | None) -> tuple[ast.expr, Function | None] | None:
        """What `self.x` holds, if one method sets it or a property computes it."""
        for ancestor in self._ancestry(node, function):
            if ancestor.has_property(node.attr):
                method = ancestor.methods[node.attr]
                result = result_of(method.node)
                return (result, method) if result is not None else None
            values = ancestor.attributes.get(node.attr)
            if values is None:
                continue
            setters = [m for m in ancestor.methods.values() if any(_inside(value, m.node) for value in values)]
            if not setters:
                return (values[-1], None)
            if len(setters) > 1:
                return None
            receiver = setters[0].node.args.args[0].arg
            held = value_of(setters[0].node, f"{receiver}.{node.attr}", walrus=False)
            return (held, setters[0]) if held is not None else None
        return None

    def _ancestry(self, node: ast.Attribute, function: Function | None) -> Iterator[Class]:
        """The classes of this module that may set the attribute of an object, nearest first."""
        owner = self.lookup.owner_class(node.value, function)
        return self.module.ancestry(owner) if owner is not None else iter(())

    def resolve(self, node: ast.expr, function: Function | None) -> ast.expr:
        """The expression behind local names, constants of the module and attributes that are set once."""
        for _ in range(_DEPTH):
            if isinstance(node, ast.Name):
                binder = self.binder(node.id, function)
                if binder is not None:
                    values = self.module.definitions(binder)[node.id]
                else:
                    known = self.module.constants.get(node.id)
                    values = [known] if known is not None and not self.takes(node.id, function) else []
                if len(values) != 1:
                    return node
                node, function = values[0], binder
            elif isinstance(node, ast.Attribute):
                if node.attr in self.profile.backend_sources or node.attr in self.profile.quant_attributes:
                    return node
                written = self.attribute_values(node, function)
                if len(written) != 1:
                    return node
                node, function = written[0]
            else:
                return node
        return node

    def takes(self, name: str, function: Function | None) -> bool:
        """Whether a name is a parameter of the function or of one around it."""
        while function is not None:
            if self.is_parameter(name, function):
                return True
            function = function.outer
        return False

    @staticmethod
    def is_parameter(name: str, function: Function | None) -> bool:
        """Whether a name is a parameter of the function itself."""
        return function is not None and any(parameter.arg == name for parameter in function.parameters())


def _inside(node: ast.AST, outer: ast.AST) -> bool:
    """Whether `node` lies in `outer`, by position."""
    first, last = (outer.lineno, outer.col_offset), (outer.end_lineno, outer.end_col_offset)  # type: ignore[attr-defined]
    return first <= (node.lineno, node.col_offset) < last  # type: ignore[attr-defined]
