"""Values of the interpreter. A guarded value is a list of (condition, value) with disjoint conditions."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from moelint.linter.diagram import Node
from moelint.linter.routes.units import Units

if TYPE_CHECKING:
    from moelint.linter.routes.frames import Scope
    from moelint.linter.routes.project import SourceModule


@dataclass(frozen=True, slots=True)
class Const:
    """A Python constant. `1`, `1.0` and `True` are different constants."""

    value: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is Const and type(other.value) is type(self.value) and other.value == self.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))

    def __str__(self) -> str:
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Symbol:
    """A value that is not known; boolean atoms come from its name. `kind` is an enumeration class, or `bool`."""

    name: str
    kind: ClassValue | str | None = None

    def __eq__(self, other: object) -> bool:
        return type(other) is Symbol and other.name == self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that carries units."""

    units: Units

    def __str__(self) -> str:
        return "*".join(f"{dimension}^{power}" for dimension, power in self.units) or "1"


@dataclass(frozen=True, slots=True)
class Tensor:
    """A reference to a heap cell that holds guarded parts; views share the cell."""

    cell: int

    def __str__(self) -> str:
        return f"t{self.cell}"


@dataclass(frozen=True, slots=True)
class Instance:
    """An object on the heap. `cls` is its class, or the name of a modelled kind (`@Experts`), or `dict`."""

    key: int
    cls: ClassValue | str
    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False)
class FunctionValue:
    """A function, with the scope it closes over and the class that defines it."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: SourceModule
    qualname: str
    closure: Scope | None = None
    owner: ClassValue | None = None

    def __str__(self) -> str:
        return self.qualname.rsplit(".", 1)[-1]


@dataclass(frozen=True, slots=True)
class Method:
    """A function bound to its receiver."""

    function: FunctionValue
    receiver: Value

    def __str__(self) -> str:
        return f"{self.receiver}.{self.function}"


@dataclass(frozen=True, slots=True)
class Native:
    """A method of a tensor, dictionary or symbol, which the interpreter knows itself."""

    receiver: Value
    name: str

    def __str__(self) -> str:
        return f"{self.receiver}.{self.name}"


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class of the project."""

    node: ast.ClassDef
    module: SourceModule

    @property
    def qualname(self) -> str:
        return f"{self.module.name}.{self.node.name}"

    def __eq__(self, other: object) -> bool:
        return type(other) is ClassValue and other.qualname == self.qualname

    def __hash__(self) -> int:
        return hash(self.qualname)

    def __str__(self) -> str:
        return self.node.name


@dataclass(frozen=True, slots=True, eq=False)
class ModuleValue:
    """A module of the project."""

    module: SourceModule

    def __str__(self) -> str:
        return self.module.name


@dataclass(frozen=True, slots=True, eq=False)
class Sequence:
    """A tuple, list or set whose items are guarded values."""

    items: tuple[Guarded, ...]

    def __str__(self) -> str:
        return f"({len(self.items)} items)"


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration class."""

    cls: ClassValue
    name: str
    value: Any

    def __eq__(self, other: object) -> bool:
        return type(other) is Member and (other.cls, other.name) == (self.cls, self.name)

    def __hash__(self) -> int:
        return hash((self.cls, self.name))

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Super:
    """`super()` inside a method of `cls`."""

    receiver: Value
    cls: ClassValue

    def __str__(self) -> str:
        return "super()"


Value = (
    Const | Symbol | Scalar | Tensor | Instance | FunctionValue | Method | Native | ClassValue | ModuleValue | Sequence
    | Member | Super
)  # fmt: skip
Guarded = list[tuple[Node, "Value"]]

ABSENT = Const("<absent>")
NONE, TRUE_VALUE, FALSE_VALUE = Const(None), Const(True), Const(False)
