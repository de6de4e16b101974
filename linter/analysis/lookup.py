"""Which function of this module a call reaches, and which class of it an expression is an instance of."""

from __future__ import annotations

import ast
from functools import cached_property
from typing import NamedTuple

from moelint.linter.analysis.module import Class, Function, Module, terminal_name

_DEPTH = 4
_RUN = ("forward", "__call__")


class Callee(NamedTuple):
    """A function of this module, as one call sees it. `bound` is 1 where the call leaves the first parameter out."""

    function: Function
    bound: int

    def parameter(self, call: ast.Call, argument: ast.expr, keyword: str | None) -> str | None:
        """The parameter that an argument of the call arrives at; `name['key']` inside a `**name` parameter."""
        args = self.function.node.args
        names = [parameter.arg for parameter in self.function.parameters()]
        if keyword is not None:
            if keyword in names:
                return keyword
            return f"{args.kwarg.arg}[{keyword!r}]" if args.kwarg is not None else None
        positional = [parameter.arg for parameter in (*args.posonlyargs, *args.args)]
        for position, given in enumerate(call.args):
            if isinstance(given, ast.Starred):
                return None
            if given is argument:
                position += self.bound
                return positional[position] if position < len(positional) else None
        return None

    def argument(self, call: ast.Call, parameter: str) -> ast.expr | None:
        """What the call hands to a parameter; its default where it is left out."""
        for keyword in call.keywords:
            if keyword.arg == parameter:
                return keyword.value
            if keyword.arg is None:
                return None
        for given in call.args:
            if isinstance(given, ast.Starred):
                return None
            if self.parameter(call, given, None) == parameter:
                return given
        return next((default for name, default in self.function.defaults() if name.arg == parameter), None)


class Lookup:
    """Name resolution inside one module."""

    def __init__(self, module: Module) -> None:
        self.module = module

    @cached_property
    def _nested(self) -> dict[Function, dict[str, Function]]:
        found: dict[Function, dict[str, Function]] = {}
        for function in self.module.functions:
            if function.outer is not None:
                found.setdefault(function.outer, {})[function.name] = function
        return found

    @cached_property
    def _callable(self) -> set[str]:
        """The last names of all that may run a function of this module."""
        classes = self.module.classes
        names = {function.name for function in self.module.functions} | set(classes) | {"cls"}
        if any(name in cls.methods for cls in classes.values() for name in _RUN):
            for cls in classes.values():
                names |= {name for name, values in cls.attributes.items() if any(map(self._builds, values))}
        return names

    def _builds(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in self.module.classes

    def callee(self, call: ast.Call, function: Function | None) -> Callee | None:
        """The function of this module that a call in `function` runs."""
        target = call.func
        if isinstance(target, ast.Name):
            local = self.module.definitions(function).get(target.id, ()) if function is not None else ()
            known = target.id in self._callable or any(map(self._builds, local))
            return self._named(call, target, function) if known else None
        if not isinstance(target, ast.Attribute) or target.attr not in self._callable:
            return None
        receiver = target.value
        cls = function.cls if function is not None else None
        if isinstance(receiver, ast.Call) and terminal_name(receiver.func) == "super":
            found = self._method(cls, target.attr, skip=True) if cls is not None else None
            return Callee(found, 1) if found is not None else None
        if isinstance(receiver, ast.Name) and receiver.id in self.module.classes:
            found = self._method(self.module.classes[receiver.id], target.attr)
            return Callee(found, int(_decorated(found, "classmethod"))) if found is not None else None
        owner = self.owner_class(receiver, function)
        found = self._method(owner, target.attr) if owner is not None else None
        if found is not None:
            return Callee(found, int(not _decorated(found, "staticmethod")))
        return self._instance(target, function)

    def built_class(self, call: ast.Call, function: Function | None) -> Class | None:
        """The class of this module that a call makes an instance of: `Name(...)`, or `cls(...)` in a class method."""
        if not isinstance(call.func, ast.Name):
            return None
        found = self.module.classes.get(call.func.id)
        if found is None and function is not None and _decorated(function.outermost, "classmethod"):
            first = function.outermost.node.args.args[:1]
            found = function.cls if first and first[0].arg == call.func.id else None
        return found

    def owner_class(self, node: ast.expr, function: Function | None, depth: int = _DEPTH) -> Class | None:
        """The class of this module that `node` is an instance of, where that is plain to see."""
        if depth == 0:
            return None
        if isinstance(node, ast.Call):
            return self.built_class(node, function)
        if isinstance(node, ast.Name):
            return self._class_of_name(node.id, function, depth)
        if isinstance(node, ast.Attribute):
            holder = self.owner_class(node.value, function, depth - 1)
            for cls in self.module.ancestry(holder) if holder is not None else ():
                values = cls.attributes.get(node.attr, ())
                if len(values) == 1:
                    return self.owner_class(values[0], cls.methods.get("__init__"), depth - 1)
        return None

    def _class_of_name(self, name: str, function: Function | None, depth: int) -> Class | None:
        while function is not None:
            parameters = function.parameters()
            if function.cls is not None and function.outer is None and parameters and parameters[0].arg == name:
                return None if _decorated(function, "staticmethod") else function.cls
            values = self.module.definitions(function).get(name, ())
            if values:
                return self.owner_class(values[0], function, depth - 1) if len(values) == 1 else None
            for parameter in parameters:
                if parameter.arg == name:
                    return self._annotated(parameter.annotation)
            function = function.outer
        return None

    def _annotated(self, annotation: ast.expr | None) -> Class | None:
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            return self.module.classes.get(annotation.value)
        return self.module.classes.get(annotation.id) if isinstance(annotation, ast.Name) else None

    def _named(self, call: ast.Call, target: ast.Name, function: Function | None) -> Callee | None:
        scope = function
        while scope is not None:
            nested = self._nested.get(scope, {}).get(target.id)
            if nested is not None:
                return Callee(nested, 0)
            scope = scope.outer
        found = self.module.function(target.id)
        if found is not None:
            return Callee(found, 0)
        cls = self.built_class(call, function)
        if cls is not None:
            found = self._method(cls, "__init__")
            return Callee(found, 1) if found is not None else None
        return self._instance(target, function)

    def _instance(self, node: ast.expr, function: Function | None) -> Callee | None:
        """`self.inner(x)` runs the `forward` of what `self.inner` is."""
        owner = self.owner_class(node, function)
        for name in _RUN if owner is not None else ():
            found = self._method(owner, name)  # type: ignore[arg-type]
            if found is not None:
                return Callee(found, 1)
        return None

    def _method(self, cls: Class, name: str, skip: bool = False) -> Function | None:
        for ancestor in self.module.ancestry(cls):
            if name in ancestor.methods and not (skip and ancestor is cls):
                return ancestor.methods[name]
        return None


def fields(module: Module, cls: Class) -> list[str]:
    """The constructor arguments of a class that declares fields and no `__init__`, in order."""
    names: list[str] = []
    for ancestor in reversed(list(module.ancestry(cls))):
        if "__init__" in ancestor.methods:
            return []
        names += [
            statement.target.id
            for statement in ancestor.node.body
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
        ]
    return list(dict.fromkeys(names))


def _decorated(function: Function, name: str) -> bool:
    return any(terminal_name(decorator) == name for decorator in function.node.decorator_list)
