"""Names, imports, classes and attributes across the modules of a project."""

from __future__ import annotations

import ast

from moelint.linter.diagram import FALSE, TRUE
from moelint.linter.routes import call, closed, evaluate
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.machine import Machine
from moelint.linter.routes.project import Binding, SourceModule
from moelint.linter.routes.values import (
    ABSENT,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Member,
    Method,
    ModuleValue,
    Native,
    Sequence,
    Super,
    Symbol,
    Tensor,
    Value,
)

_PROPERTY = frozenset({"property", "cached_property", "functools.cached_property"})
_CONSTANTS = {"True": Const(True), "False": Const(False), "None": Const(None)}
_SAME_TENSOR = frozenset({"data", "T", "mT"})
_TOPK = ("values", "indices")
_TENSOR_FACTS = frozenset({"shape", "dtype", "device", "ndim", "is_cuda"})


def name(machine: Machine, identifier: str, frame: Frame) -> Guarded:
    """The value of a name: local, enclosing, global, constant, or a symbol of that name."""
    found = frame.scope.find(identifier)
    if found is None:
        found = global_name(machine, frame.module, identifier)
    if found is not None:
        return found
    return [(TRUE, _CONSTANTS.get(identifier) or Symbol(identifier))]


def global_name(machine: Machine, module: SourceModule, identifier: str) -> Guarded | None:
    """What the top level of a module binds a name to, in every configuration; None if it binds nothing."""
    key = (module.name, identifier)
    if key in machine.globals:
        return machine.globals[key]
    qualified = f"{module.name}.{identifier}"
    modelled = machine.contracts.global_value(machine, qualified)
    if modelled is not None:
        machine.globals[key] = modelled
        return modelled
    if identifier not in module.bindings and module.stars:
        starred = _starred(machine, module, identifier)
        if starred is not None:
            machine.globals[key] = starred
            return starred
    if identifier not in module.bindings:
        submodule = machine.project.load(qualified) if module.is_package else None
        found: Guarded | None = [(TRUE, ModuleValue(submodule))] if submodule else None
        if found is not None:
            machine.globals[key] = found
        return found
    machine.globals[key] = [(TRUE, Symbol(qualified))]
    with machine.inside(None):
        machine.globals[key] = _top_level(machine, module, identifier) or [(TRUE, Symbol(qualified))]
    return machine.globals[key]


def _top_level(machine: Machine, module: SourceModule, identifier: str) -> Guarded | None:
    frame = Frame(module, Scope(), TRUE, module.name)
    result: Guarded | None = None
    for conditions, binding in module.bindings[identifier]:
        guard = TRUE
        for test, positive in conditions:
            holds = machine.truth(evaluate.expression(machine, test, frame), TRUE)
            guard = machine.diagrams.conj(guard, holds if positive else machine.diagrams.neg(holds))
        if guard != FALSE:
            value = _bound(machine, module, identifier, binding, frame)
            result = value if result is None else machine.choose(guard, value, result)
    return result


def _starred(machine: Machine, module: SourceModule, identifier: str) -> Guarded | None:
    """What `from x import *` binds a name to: a model, a global of the tree's `x`, or nothing."""
    for base in module.stars:
        modelled = machine.contracts.global_value(machine, f"{base}.{identifier}")
        if modelled is not None:
            return modelled
        source = machine.project.load(base)
        found = global_name(machine, source, identifier) if source is not None else None
        if found is not None:
            return found
    return None


def _bound(machine: Machine, module: SourceModule, identifier: str, binding: Binding, frame: Frame) -> Guarded:
    if isinstance(binding, tuple):
        return imported(machine, module, binding[0], binding[1])
    if isinstance(binding, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return [(TRUE, FunctionValue(binding, module, f"{module.name}.{binding.name}"))]
    if isinstance(binding, ast.ClassDef):
        return [(TRUE, ClassValue(binding, module))]
    if isinstance(binding, ast.Assign) and len(binding.targets) == 1 and isinstance(binding.targets[0], ast.Name):
        return evaluate.expression(machine, binding.value, frame)
    if isinstance(binding, ast.AnnAssign) and binding.value is not None:
        return evaluate.expression(machine, binding.value, frame)
    return [(TRUE, Symbol(f"{module.name}.{identifier}"))]


def imported(
    machine: Machine, module: SourceModule, statement: ast.Import | ast.ImportFrom, alias: ast.alias
) -> Guarded:
    """The value that an import binds."""
    if isinstance(statement, ast.Import):
        full = alias.name if alias.asname else alias.name.split(".")[0]
        loaded = machine.project.load(full)
        return [(TRUE, ModuleValue(loaded) if loaded else Symbol(full))]
    base = statement.module or ""
    if statement.level:
        parts = module.name.split(".")
        if not module.is_package:
            parts = parts[:-1]
        parts = parts[: len(parts) - (statement.level - 1)]
        base = ".".join([*parts, *([statement.module] if statement.module else [])])
    qualified = f"{base}.{alias.name}"
    modelled = machine.contracts.global_value(machine, qualified)
    if modelled is not None:
        return modelled
    source = machine.project.load(base)
    found = global_name(machine, source, alias.name) if source is not None else None
    if found is not None:
        return found
    submodule = machine.project.load(qualified) if source is not None else None
    return [(TRUE, ModuleValue(submodule) if submodule else Symbol(qualified))]


# classes


def bases(machine: Machine, cls: ClassValue) -> list[Value]:
    frame = Frame(cls.module, Scope(), TRUE)
    return [value for base in cls.node.bases for _, value in evaluate.expression(machine, base, frame)]


def ancestry(machine: Machine, cls: ClassValue) -> list[ClassValue]:
    """`cls` and its bases in the project, nearest first."""
    seen: set[str] = set()
    found: list[ClassValue] = []
    pending: list[Value] = [cls]
    while pending:
        current = pending.pop(0)
        if isinstance(current, ClassValue) and current.qualname not in seen:
            seen.add(current.qualname)
            found.append(current)
            pending = bases(machine, current) + pending
    return found


def class_member(machine: Machine, cls: ClassValue, attribute: str) -> tuple[ClassValue, ast.stmt] | None:
    """The statement that defines an attribute of a class, and the class that holds it."""
    for ancestor in ancestry(machine, cls):
        for statement in ancestor.node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if statement.name == attribute:
                    return ancestor, statement
            elif isinstance(statement, ast.Assign):
                if any(isinstance(target, ast.Name) and target.id == attribute for target in statement.targets):
                    return ancestor, statement
                unpacked = _unpacked(statement, attribute)
                if unpacked is not None:
                    return ancestor, unpacked
            elif (
                isinstance(statement, ast.AnnAssign)
                and isinstance(statement.target, ast.Name)
                and statement.target.id == attribute
            ):
                return ancestor, statement
    return None


def _unpacked(statement: ast.Assign, attribute: str) -> ast.Assign | None:
    """The part of `a, b = 1, 2` that assigns an attribute."""
    for target in statement.targets:
        if isinstance(target, ast.Tuple) and isinstance(statement.value, ast.Tuple):
            for name, value in zip(target.elts, statement.value.elts, strict=False):
                if isinstance(name, ast.Name) and name.id == attribute:
                    return ast.copy_location(ast.Assign([name], value), statement)
    return None


def method_value(owner: ClassValue, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> FunctionValue:
    return FunctionValue(statement, owner.module, f"{owner.qualname}.{statement.name}", None, owner)


def find_method(machine: Machine, cls: ClassValue, attribute: str) -> FunctionValue | None:
    member = class_member(machine, cls, attribute)
    if member is not None and isinstance(member[1], (ast.FunctionDef, ast.AsyncFunctionDef)):
        return method_value(member[0], member[1])
    return None


def decorators(statement: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in statement.decorator_list}


def is_enumeration(machine: Machine, cls: ClassValue) -> bool:
    return any("Enum" in ast.unparse(base) for ancestor in ancestry(machine, cls) for base in ancestor.node.bases)


def record_fields(machine: Machine, cls: ClassValue) -> list[tuple[str, ast.expr | None, SourceModule]]:
    """The annotated fields of a dataclass or named tuple, bases first."""
    fields: dict[str, tuple[str, ast.expr | None, SourceModule]] = {}
    for ancestor in reversed(ancestry(machine, cls)):
        for statement in ancestor.node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                fields[statement.target.id] = (statement.target.id, statement.value, ancestor.module)
    return list(fields.values())


def is_named_tuple(machine: Machine, cls: ClassValue) -> bool:
    return any(
        ast.unparse(base).endswith("NamedTuple") for ancestor in ancestry(machine, cls) for base in ancestor.node.bases
    )


# attributes


def attribute(
    machine: Machine, value: Value, name: str, frame: Frame, node: ast.AST, default: Guarded | None = None
) -> Guarded:
    """`value.name`. Where the attribute cannot exist, `frame.pc` loses that configuration (it raises)."""
    modelled = machine.contracts.attribute(machine, value, name, frame)
    if modelled is not None:
        return modelled
    if isinstance(value, Instance):
        return _instance_attribute(machine, value, name, frame, node, default)
    if isinstance(value, Symbol):
        return _symbol_attribute(machine, value, name, frame, node)
    if isinstance(value, ModuleValue):
        found = global_name(machine, value.module, name)
        if found is not None:
            return found
        submodule = machine.project.load(f"{value.module.name}.{name}")
        return [(TRUE, ModuleValue(submodule) if submodule else Symbol(f"{value.module.name}.{name}"))]
    if isinstance(value, ClassValue):
        return _class_attribute(machine, value, name)
    if isinstance(value, Member):
        if name in ("value", "name"):
            return [(TRUE, Const(value.value if name == "value" else value.name))]
        method = find_method(machine, value.cls, name)
        if method is not None:
            return _bind(machine, method, value, frame, node)
        return [(TRUE, Symbol(f"{value}.{name}"))]
    if isinstance(value, Tensor):
        trait = closed.attribute(machine, value, name)
        if trait is not None:
            return trait
        if name in _SAME_TENSOR:
            return [(TRUE, value)]
        if name in _TENSOR_FACTS:
            return [(TRUE, Symbol(f"{machine.labels[value.cell]}.{name}"))]
        return [(TRUE, Native(value, name))]
    if isinstance(value, Super):
        for base in bases(machine, value.cls):
            method = find_method(machine, base, name) if isinstance(base, ClassValue) else None
            if method is not None:
                return [(TRUE, Method(method, value.receiver))]
        return [(TRUE, Symbol(f"super().{name}"))]
    if isinstance(value, Sequence):
        if name in _TOPK and len(value.items) == len(_TOPK):
            return value.items[_TOPK.index(name)]
        return [(TRUE, Native(value, name))]
    if isinstance(value, Const) and value.value is None:
        return default if default is not None else []
    if isinstance(value, FunctionValue) and default is not None and machine.contracts.facts.exact:
        return default
    return [(TRUE, machine.symbol(f"{value}.{name}"))]


def _instance_attribute(
    machine: Machine, value: Instance, name: str, frame: Frame, node: ast.AST, default: Guarded | None
) -> Guarded:
    diagrams = machine.diagrams
    slots = machine.heap[value.key]
    cls = value.cls
    if name in slots:
        stored = slots[name]
        present = [(guard, item) for guard, item in stored if item != ABSENT]
        if default is not None:
            absent = [guard for guard, item in stored if item == ABSENT]
            fallback = [(diagrams.conj(guard, g), item) for guard in absent for g, item in default]
            return machine.merge(present + fallback)
        inherited = (
            class_member(machine, cls, name) if isinstance(cls, ClassValue) and len(present) < len(stored) else None
        )
        if present and (inherited is None or getattr(inherited[1], "value", None) is None):
            if len(present) < len(stored):
                frame.pc = diagrams.conj(frame.pc, diagrams.any_of(guard for guard, _ in present))
            return present
    if isinstance(cls, ClassValue):
        member = class_member(machine, cls, name)
        if member is not None:
            owner, statement = member
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                return _bind(machine, method_value(owner, statement), value, frame, node)
            default_value = getattr(statement, "value", None)
            if default_value is not None:
                return evaluate.expression(machine, default_value, Frame(owner.module, Scope(), TRUE))
    elif cls == "dict":
        return [(TRUE, Native(value, name))]
    if default is not None:
        return default
    if isinstance(cls, ClassValue) and is_named_tuple(machine, cls):
        if name in ("_replace", "_asdict"):
            return [(TRUE, Native(value, name))]
        frame.pc = FALSE
        return []
    if machine.contracts.facts.exact and cls != "dict":
        machine.refuse(frame.pc, node, frame)
        frame.pc = FALSE
        return []
    return [(TRUE, machine.symbol(f"{value.name}.{name}"))]


def _symbol_attribute(machine: Machine, value: Symbol, name: str, frame: Frame, node: ast.AST) -> Guarded:
    if isinstance(value.kind, ClassValue):
        method = find_method(machine, value.kind, name)
        if method is not None:
            return _bind(machine, method, value, frame, node)
    return [(TRUE, machine.symbol(f"{value.name}.{name}"))]


def _class_attribute(machine: Machine, value: ClassValue, name: str) -> Guarded:
    if name == "__name__":
        return [(TRUE, Const(value.node.name))]
    if name == "__new__":
        return [(TRUE, Native(value, name))]
    member = class_member(machine, value, name)
    if member is not None:
        owner, statement = member
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            method = method_value(owner, statement)
            return [(TRUE, Method(method, value) if "classmethod" in decorators(statement) else method)]
        default_value = getattr(statement, "value", None)
        if default_value is not None and is_enumeration(machine, value):
            try:
                constant = ast.literal_eval(default_value)
            except ValueError:
                constant = ast.unparse(default_value)
            return [(TRUE, Member(value, name, constant))]
        if default_value is not None:
            return evaluate.expression(machine, default_value, Frame(owner.module, Scope(), TRUE))
    return [(TRUE, Symbol(f"{value.node.name}.{name}"))]


def _bind(machine: Machine, method: FunctionValue, receiver: Value, frame: Frame, node: ast.AST) -> Guarded:
    """Access to a function through an instance: a property is called, a method is bound."""
    assert isinstance(method.node, (ast.FunctionDef, ast.AsyncFunctionDef))
    marks = decorators(method.node)
    if marks & _PROPERTY:
        return call.function(machine, method, [[(TRUE, receiver)]], {}, frame, node)
    if "staticmethod" in marks:
        return [(TRUE, method)]
    if "classmethod" in marks and isinstance(receiver, Instance) and isinstance(receiver.cls, ClassValue):
        return [(TRUE, Method(method, receiver.cls))]
    return [(TRUE, Method(method, receiver))]


def item(machine: Machine, value: Value, index: Const, frame: Frame, node: ast.AST) -> Guarded | None:
    """`value[index]` of a sequence, dictionary or named tuple; None where it is not known."""
    position = index.value
    if isinstance(value, Sequence) and isinstance(position, int) and -len(value.items) <= position < len(value.items):
        return value.items[position]
    if isinstance(value, Instance):
        if isinstance(value.cls, ClassValue) and isinstance(position, int):
            names = [field for field, _, _ in record_fields(machine, value.cls)]
            if -len(names) <= position < len(names):
                return attribute(machine, value, names[position], frame, node)
        stored = machine.heap[value.key].get(str(position))
        if stored is not None:
            return [(guard, entry) for guard, entry in stored if entry != ABSENT]
    return None
