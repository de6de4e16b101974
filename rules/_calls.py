"""Who calls whom inside one module, as far as names tell."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial

from moelint.linter.analysis.module import Class, Function, FunctionNode, Module, terminal_name
from moelint.linter.analysis.walk import children, remembered, walk

_Call = tuple[ast.Call, FunctionNode | None]
_ENTRIES = ("forward", "__call__", "call", "apply")


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """A call and the function around it (None at module level)."""

    call: ast.Call
    function: Function | None


@lru_cache(maxsize=2)
def calls_of(module: Module) -> Calls:
    """The call index of `module`."""
    return Calls(module)


class Calls:
    """Calls of a module's functions, methods and classes."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._functions = {function.node: function for function in module.functions}
        self._made: dict[Function, dict[str, Class]] = {}
        self._sites: dict[Function | None, list[Site]] = {}
        self._reaching: dict[Function, list[Site]] = {}

    def function_of(self, node: FunctionNode) -> Function | None:
        return self._functions.get(node)

    def of(self, function: Function) -> list[Site]:
        """The calls that reach `function`."""
        found = self._reaching.get(function)
        if found is None:
            anyhow = function.name in _ENTRIES
            found = self._reaching[function] = [
                site
                for site in self._sites_with(self._spellings(function))
                if (anyhow or terminal_name(site.call.func) == function.name)
                and self.resolve(site.call, site.function) is function
            ]
        return found

    def constructions(self, cls: Class) -> list[Site]:
        """The calls that make an object of `cls`."""
        return [
            site
            for site in self._sites_with([f"{cls.name}(".encode()])
            if isinstance(site.call.func, ast.Name) and site.call.func.id == cls.name
        ]

    def _spellings(self, function: Function) -> list[bytes]:
        """Bytes of which one is in the source of every function that calls this one."""
        if function.name not in _ENTRIES or function.cls is None:
            return [f"{function.name}(".encode()]
        keepers = [
            attribute
            for cls in self.module.classes.values()
            for attribute, values in cls.attributes.items()
            if any(isinstance(value, ast.Call) and terminal_name(value.func) == function.cls.name for value in values)
        ]
        keepers += [name for name, value in self.module.constants.items() if terminal_name(value) == function.cls.name]
        return [f"{name}(".encode() for name in (function.cls.name, *keepers)]

    def _sites_with(self, spellings: list[bytes]) -> Iterator[Site]:
        """The calls of module-level code, and of the functions whose source has one of `spellings`."""
        if not any(spelling in self.module.source.data for spelling in spellings):
            return
        yield from self._sites_in(None)
        for function in self.module.functions:
            if function.outer is None:
                segment = self.module.source.segment(function.node)
                defined = f"def {function.name}(".encode()
                if any(spelling in segment.replace(defined, b"", 1) for spelling in spellings):
                    yield from self._sites_in(function)

    def _sites_in(self, function: Function | None) -> list[Site]:
        known = self._sites.get(function)
        if known is None:
            start = function.node if function is not None else self.module.tree
            known = self._sites[function] = [
                Site(call, self._functions.get(around) if around is not None else None)
                for call, around in _calls_below(start)
            ]
        return known

    @cached_property
    def _by_scope(self) -> dict[tuple[Function | None, str], Function]:
        """Functions that a bare name can mean, by the function around them."""
        return {
            (function.outer, function.name): function
            for function in self.module.functions
            if function.outer is not None or function.cls is None
        }

    def arguments(self, function: Function) -> Iterator[tuple[str, ast.expr, Function | None]]:
        """(parameter, argument, function around the call) for every call that reaches `function`."""
        for site in self.of(function):
            for name, argument in bind(function, site.call).items():
                yield name, argument, site.function

    def resolve(self, call: ast.Call, function: Function | None) -> Function | None:
        """The function of this module that a call runs."""
        func = call.func
        if isinstance(func, ast.Name):
            found = self.named(func.id, function)
            return found if found is not None else self._entry(self._made_by_local(func.id, function))
        if isinstance(func, ast.Call) and isinstance(func.func, ast.Name):
            return self._entry(self.module.classes.get(func.func.id))
        if isinstance(func, ast.Attribute) and isinstance(func.value, ast.Name) and function is not None:
            if is_receiver(func.value, function):
                method = self.module.function(func.attr, function.cls)
                return method if method is not None else self._entry(self._stored(func.attr, function))
            return self._method_of_local(func, function)
        return None

    def named(self, name: str, function: Function | None) -> Function | None:
        """The function of this module that a bare name means inside `function`."""
        scope = function
        while scope is not None:
            found = self._by_scope.get((scope, name))
            if found is not None:
                return found
            scope = scope.outer
        return self._by_scope.get((None, name))

    def _entry(self, cls: Class | None) -> Function | None:
        if cls is None:
            return None
        return next((found for name in _ENTRIES if (found := self.module.function(name, cls)) is not None), None)

    def _stored(self, attribute: str, function: Function) -> Class | None:
        """The class of this module whose object is kept in `self.attribute`."""
        if function.cls is None:
            return None
        for ancestor in self.module.ancestry(function.cls):
            for value in ancestor.attributes.get(attribute, ()):
                if isinstance(value, ast.Call):
                    return self.module.classes.get(terminal_name(value.func))
        return None

    def _made_by_local(self, name: str, function: Function | None) -> Class | None:
        if not self.module.classes:
            return None
        if function is None:
            value = self.module.constants.get(name)
            return self.module.classes.get(terminal_name(value.func)) if isinstance(value, ast.Call) else None
        if function not in self._made:
            self._made[function] = self._objects_of(function)
        return self._made[function].get(name)

    def _objects_of(self, function: Function) -> dict[str, Class]:
        """Local name -> class of this module that it is an object of."""
        segment = self.module.source.segment(function.node)
        if not any(f"{cls.name}(".encode() in segment for cls in self.module.classes.values()):
            return {}
        return {
            target.id: self.module.classes[terminal_name(node.value.func)]
            for node in walk(function.node)
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name) and terminal_name(node.value.func) in self.module.classes
        }

    def _method_of_local(self, func: ast.Attribute, function: Function) -> Function | None:
        assert isinstance(func.value, ast.Name)
        if func.value.id in self.module.imports or not self.module.classes:
            return None
        cls = self.module.classes.get(func.value.id) or self._made_by_local(func.value.id, function)
        return self.module.function(func.attr, cls) if cls is not None else None


def _calls_below(start: FunctionNode | ast.Module) -> list[_Call]:
    """The calls below a function, or in module-level code, each with the function around it; remembered on the
    statements."""
    if not isinstance(start, ast.Module):
        return remembered(start, "calls", lambda: _listed(start, outside=False))
    found: list[_Call] = []
    for statement in reversed(start.body):
        found += remembered(statement, "calls outside functions", partial(_listed, statement, outside=True))
    return found


def _listed(start: ast.stmt, *, outside: bool) -> list[_Call]:
    """The calls below a statement; `outside`: without those in functions."""
    found: list[_Call] = []
    stack: list[tuple[ast.AST, FunctionNode | None]] = [(start, None)]
    while stack:
        node, around = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if outside:
                continue
            around = node
        elif isinstance(node, ast.Call):
            found.append((node, around))
        stack.extend((child, around) for child in children(node))
    return found


def is_receiver(node: ast.expr, function: Function) -> bool:
    """Whether a name is the `self` of the method around it."""
    while function.outer is not None:
        function = function.outer
    args = function.node.args.args
    return function.cls is not None and bool(args) and isinstance(node, ast.Name) and node.id == args[0].arg


def takes_receiver(function: Function, call: ast.Call) -> bool:
    """Whether the first parameter is filled by the object and not by the call's arguments."""
    if function.cls is None or function.outer is not None:
        return False
    if any(terminal_name(decorator) == "staticmethod" for decorator in function.node.decorator_list):
        return False
    explicit = isinstance(call.func, ast.Attribute) and terminal_name(call.func.value) == function.cls.name
    return not explicit or function.name == "__init__"


def bind(function: Function, call: ast.Call) -> dict[str, ast.expr]:
    """Parameter -> argument of a call; stops at the first starred argument."""
    names = [parameter.arg for parameter in [*function.node.args.posonlyargs, *function.node.args.args]]
    if takes_receiver(function, call):
        names = names[1:]
    bound: dict[str, ast.expr] = {}
    for name, argument in zip(names, call.args, strict=False):
        if isinstance(argument, ast.Starred):
            break
        bound[name] = argument
    known = {parameter.arg for parameter in function.parameters()}
    bound.update((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg in known)
    return bound
