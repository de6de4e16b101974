"""Classes and functions that only carry values, or only stand in for others: nothing can be dead in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.analysis.walk import children, walk

_PLAIN_BASES = frozenset({"object", "Module", "ABC", "Generic", "Protocol", "Layer"})
_ENDINGS = ("Config", "Configuration", "Args", "Arguments", "Params", "Metadata", "Spec", "BaseModel", "NamedTuple")
_DECORATORS = frozenset({"dataclass", "define", "frozen", "attrs", "struct"})
_METHODS = frozenset(
    {"__init__", "__post_init__", "__repr__", "__str__", "__eq__", "__hash__", "__iter__", "__getitem__", "to_dict"}
)
_STAND_IN_WORDS = frozenset({"fake", "meta", "abstract", "stub", "dummy", "mock"})
_ALLOCATIONS = ("empty", "zeros", "ones", "full", "empty_like", "zeros_like", "ones_like", "full_like", "empty_strided")
_SHAPES = frozenset({"size", "len", "numel", "dim", "int", "min", "max", "tuple", "list", "element_size", "range"})


def is_record(module: Module, cls: Class) -> bool:
    """Whether a class only holds values: a configuration, or nothing but a constructor, its bases here included."""
    return is_configuration(cls) or all(name in _METHODS for base in module.ancestry(cls) for name in base.methods)


def is_configuration(cls: Class) -> bool:
    """Whether a class calls itself a configuration, by its name, its bases or a decorator."""
    names = [cls.name, *(terminal_name(base) for base in cls.node.bases)]
    return any(name.endswith(_ENDINGS) for name in names) or any(
        terminal_name(decorator).lower() in _DECORATORS for decorator in cls.node.decorator_list
    )


def bases_are_known(module: Module, cls: Class) -> bool:
    """Whether every base of `cls` is in this module or has no business with the factor."""
    for ancestor in module.ancestry(cls):
        for base in ancestor.node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            if ast.unparse(plain) not in module.classes and terminal_name(plain) not in _PLAIN_BASES:
                return False
    return True


def is_stand_in(module: Module, function: Function) -> bool:
    """Whether a function has the signature of another and none of its work: abstract, overload, fake kernel, stub."""
    node = function.node
    marks = [ast.unparse(decorator).lower() for decorator in node.decorator_list]
    if any("abstract" in mark or "overload" in mark or _stands_in(mark) for mark in marks):
        return True
    if _stands_in(node.name) or (
        function.cls is not None and any(terminal_name(base) == "Protocol" for base in function.cls.node.bases)
    ):
        return True
    return computes_nothing(function) or _is_registered(module, node.name)


def is_allocation(node: ast.expr) -> bool:
    """Whether an expression makes a fresh tensor with no content of its own."""
    name = terminal_name(node) if isinstance(node, ast.Call) else ""
    return name.removeprefix("new_") in _ALLOCATIONS


def computes_nothing(function: Function) -> bool:
    """Whether a body only refuses, returns its input, or returns constants and fresh tensors."""
    parameters = {parameter.arg for parameter in function.parameters()}
    fresh: set[str] = set()
    for node in walk(function.node):
        if isinstance(node, ast.Assign) and is_allocation(node.value):
            fresh.update(target.id for target in node.targets if isinstance(target, ast.Name))
    for node in _without_errors(function.node.body):
        if isinstance(node, ast.Call) and not is_allocation(node) and terminal_name(node.func) not in _SHAPES:
            return False
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Return) and node.value is not None:
            parts = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            if not all(_is_empty(part, parameters | fresh) for part in parts):
                return False
    return True


def _without_errors(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """All nodes below `body` but those of `raise`."""
    stack: list[ast.AST] = [*body]
    while stack:
        node = stack.pop()
        if not isinstance(node, ast.Raise):
            yield node
            stack.extend(children(node))


def _is_empty(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Constant) or is_allocation(node) or (isinstance(node, ast.Name) and node.id in names)


def _stands_in(name: str) -> bool:
    return any(word in _STAND_IN_WORDS for word in re.split(r"[^a-z0-9]+|_", name.lower()))


def _is_registered(module: Module, name: str) -> bool:
    """Whether the module hands a function of this name to something as a fake or meta kernel."""
    data = module.source.data
    if data.count(name.encode()) < 2:
        return False
    pattern = rb"(?<![a-z])(?:fake|meta|abstract)(?![a-z])\w*\s*[=(][^=]{0,120}?\b%s\b(?!\s*\()" % name.encode()
    registers = re.compile(pattern).match
    return any(registers(data, place) for word in (b"fake", b"meta", b"abstract") for place in _places(data, word))


def _places(data: bytes, word: bytes) -> Iterator[int]:
    place = data.find(word)
    while place >= 0:
        yield place
        place = data.find(word, place + 1)
