"""Classes and functions that only carry values, or only stand in for others: nothing can be dead in them."""

from __future__ import annotations

import ast

from moelint.linter.analysis.module import Class, Module, terminal_name

_PLAIN_BASES = frozenset({"object", "Module", "ABC", "Generic", "Protocol", "Layer"})
_ENDINGS = ("Config", "Configuration", "Args", "Arguments", "Params", "Metadata", "Spec", "BaseModel", "NamedTuple")
_DECORATORS = frozenset({"dataclass", "define", "frozen", "attrs", "struct"})
_METHODS = frozenset(
    {"__init__", "__post_init__", "__repr__", "__str__", "__eq__", "__hash__", "__iter__", "__getitem__", "to_dict"}
)


def is_record(cls: Class) -> bool:
    """Whether a class only holds values: a configuration, a dataclass, or nothing but a constructor."""
    names = [cls.name, *(terminal_name(base) for base in cls.node.bases)]
    return (
        any(name.endswith(_ENDINGS) for name in names)
        or any(terminal_name(decorator).lower() in _DECORATORS for decorator in cls.node.decorator_list)
        or all(name in _METHODS for name in cls.methods)
    )


def bases_are_known(module: Module, cls: Class) -> bool:
    """Whether every base of `cls` is in this module or has no business with the factor."""
    for ancestor in module.ancestry(cls):
        for base in ancestor.node.bases:
            plain = base.value if isinstance(base, ast.Subscript) else base
            if ast.unparse(plain) not in module.classes and terminal_name(plain) not in _PLAIN_BASES:
                return False
    return True
