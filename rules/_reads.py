"""Who reads an attribute or a name: shared by the rules about values that nobody uses."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Class, FunctionNode, Module, terminal_name
from moelint.linter.analysis.walk import children, remembered, walk

_PLUMBING = ("config", "cfg", "args", "arguments", "params", "settings", "options", "spec")
_TALK = frozenset({"print", "debug", "info", "warning", "warn", "error", "warning_once", "info_once", "format", "repr"})
_DISPLAY = frozenset({"__repr__", "__str__", "extra_repr"})
_KEEPS = frozenset({"super", "isinstance", "type", "id", "issubclass"})
_BY_NAME = frozenset({"getattr", "hasattr", "attrgetter"})
_Reads = tuple[frozenset[str], frozenset[str], bool]
"""The attributes read from the own object and from others, and whether the own object is handed out."""


@dataclass(slots=True)
class AttributeReads:
    """Where attributes of some names are read. Reads for display only (messages, `repr`) are no reads."""

    through_self: dict[str, list[Class]] = field(default_factory=dict)
    """Attribute -> classes whose methods read it from their own object."""
    elsewhere: set[str] = field(default_factory=set)
    """Attributes that are read from another object that is no configuration, or listed by name."""
    escaping: list[Class] = field(default_factory=list)
    """Classes whose methods hand their own object out, to readers that are not known."""

    def of(self, attribute: str, family: Collection[Class]) -> bool:
        """Whether an object of one of these classes may have `attribute` read."""
        return (
            attribute in self.elsewhere
            or any(cls in family for cls in self.through_self.get(attribute, ()))
            or any(cls in family for cls in self.escaping)
        )


def attribute_reads(module: Module, names: frozenset[str], within: Class | None = None) -> AttributeReads:
    """Collect the reads of attributes called `names` in the whole module, or in the methods of one class that
    mention them."""
    return _Collector(module, names).run(within)


def is_plumbing(node: ast.expr) -> bool:
    """Whether an expression is a configuration or a bag of arguments, by its last name."""
    name = terminal_name(node).lower()
    return any(name == word or name.endswith(word) for word in _PLUMBING)


def key_read(node: ast.expr, names: Collection[str]) -> tuple[ast.expr, str] | None:
    """`(x, name)` if the node reads a field by name: `x.name`, `getattr(x, "name")`, `x.get("name")`, `x["name"]`."""
    if isinstance(node, ast.Attribute):
        return (node.value, node.attr) if node.attr in names else None
    if isinstance(node, ast.Subscript):
        key = _text(node.slice)
        return (node.value, key) if key in names else None
    if isinstance(node, ast.Call) and node.args:
        if isinstance(node.func, ast.Name) and node.func.id == "getattr" and len(node.args) > 1:
            key = _text(node.args[1])
            return (node.args[0], key) if key in names else None
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("get", "pop"):
            key = _text(node.args[0])
            return (node.func.value, key) if key in names else None
    return None


def family_of(module: Module, cls: Class) -> set[Class]:
    """The classes of this module that an object of `cls`, or of a class below it, has methods from."""
    below = [other for other in module.classes.values() if cls in module.ancestry(other)]
    return {ancestor for other in below for ancestor in module.ancestry(other)}


def receiver_name(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The name of the first parameter, which is the object in a method."""
    positional = [*function.args.posonlyargs, *function.args.args]
    return positional[0].arg if positional else ""


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


class _Collector:
    def __init__(self, module: Module, names: frozenset[str]) -> None:
        self.module = module
        self.names = names
        self.classes = {cls.node: cls for cls in module.classes.values()}
        self.reads = AttributeReads()

    def run(self, within: Class | None) -> AttributeReads:
        if within is None:
            self._visit(self.module.tree, None, "")
        else:
            for method in within.methods.values():
                if method.name not in _DISPLAY and mentions(self.module, method.node, self.names):
                    self._function(method.node, within, receiver_name(method.node))
        return self.reads

    def _visit(self, node: ast.AST, cls: Class | None, receiver: str) -> None:
        for child in self._inside(node):
            if isinstance(child, ast.ClassDef):
                self._visit(child, self.classes.get(child), "")
            elif isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if child.name not in _DISPLAY:
                    self._function(child, cls, receiver or (receiver_name(child) if cls is not None else ""))
            else:
                self._note(child, cls, receiver)

    def _function(self, node: FunctionNode, cls: Class | None, receiver: str) -> None:
        """Add the reads of a function, which are remembered for the next tree."""
        key = "attribute reads", self.names, cls is not None, receiver
        found = remembered(node, key, lambda: self._apart(node, cls, receiver))
        if found is None:
            self._visit(node, cls, receiver)
            return
        own, elsewhere, escapes = found
        self.reads.elsewhere |= elsewhere
        if cls is not None:
            for attribute in own:
                self.reads.through_self.setdefault(attribute, []).append(cls)
            if escapes:
                self.reads.escaping.append(cls)

    def _apart(self, node: FunctionNode, cls: Class | None, receiver: str) -> _Reads | None:
        """The reads of one function; None for one with classes in it, whose reads are not of one kind."""
        if any(isinstance(inner, ast.ClassDef) for inner in walk(node)):
            return None
        reads, self.reads = self.reads, AttributeReads()
        try:
            self._visit(node, cls, receiver)
            found = self.reads
        finally:
            self.reads = reads
        return frozenset(found.through_self), frozenset(found.elsewhere), bool(found.escaping)

    def _note(self, node: ast.AST, cls: Class | None, receiver: str) -> None:
        if isinstance(node, ast.Attribute):
            if isinstance(node.value, ast.Name):
                if isinstance(node.ctx, ast.Load) and node.attr in self.names:
                    self._read(node.value, node.attr, cls, receiver)
                if node.value.id == receiver and node.attr == "__dict__" and cls is not None:
                    self.reads.escaping.append(cls)
                return
            if isinstance(node.ctx, ast.Load) and node.attr in self.names:
                self._read(node.value, node.attr, cls, receiver)
        elif isinstance(node, ast.Name):
            if node.id == receiver and isinstance(node.ctx, ast.Load) and cls is not None:
                self.reads.escaping.append(cls)
            return
        elif isinstance(node, (ast.Tuple, ast.List, ast.Set)):
            self.reads.elsewhere.update(text for text in map(_text, node.elts) if text in self.names)
        elif isinstance(node, ast.Call) and self._by_name(node, cls, receiver):
            return
        self._visit(node, cls, receiver)

    def _by_name(self, node: ast.Call, cls: Class | None, receiver: str) -> bool:
        """Whether the call needs no further look: it only talks, or names the attribute in a string."""
        name = terminal_name(node.func)
        if name in _TALK or name in _KEEPS:
            return True
        if name == "__init__" and isinstance(node.func, ast.Attribute):
            return True
        if name in _BY_NAME and node.args:
            key = _text(node.args[-1] if name == "attrgetter" else node.args[min(1, len(node.args) - 1)])
            if key in self.names:
                self._read(node.args[0], key, cls, receiver)
            return bool(key)
        return False

    def _read(self, holder: ast.expr, attribute: str, cls: Class | None, receiver: str) -> None:
        if isinstance(holder, ast.Name) and holder.id == receiver and cls is not None:
            self.reads.through_self.setdefault(attribute, []).append(cls)
        elif not is_plumbing(holder):
            self.reads.elsewhere.add(attribute)

    @staticmethod
    def _inside(node: ast.AST) -> Sequence[ast.AST]:
        return () if isinstance(node, ast.Raise) else children(node)
