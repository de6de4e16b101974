"""A parsed module: classes, functions, imports, and what `self` attributes are set to."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.walk import remembered, walk
from moelint.linter.profile import Profile, Role
from moelint.linter.source import Source

if TYPE_CHECKING:
    from moelint.linter.analysis.flow import Flow

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_TEXT = "_moelint_text"


@dataclass(slots=True, eq=False)
class Function:
    """A function or method. `qualname` is as Python's, without `<locals>`."""

    node: FunctionNode
    qualname: str
    cls: Class | None
    outer: Function | None = None
    statements: list[ast.stmt] = field(init=False)
    """All of its own, those of nested functions and classes left out."""

    def __post_init__(self) -> None:
        self.statements = remembered(self.node, "statements", lambda: statements(self.node.body))

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def outermost(self) -> Function:
        """The function or method that this one is nested in, at any depth; itself if it is not."""
        function = self
        while function.outer is not None:
            function = function.outer
        return function

    def parameters(self) -> list[ast.arg]:
        args = self.node.args
        return [*args.posonlyargs, *args.args, *args.kwonlyargs]

    def defaults(self) -> Iterator[tuple[ast.arg, ast.expr]]:
        """Parameters with a default value."""
        args = self.node.args
        positional = [*args.posonlyargs, *args.args]
        yield from zip(positional[len(positional) - len(args.defaults) :], args.defaults, strict=True)
        for parameter, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                yield parameter, default


@dataclass(slots=True, eq=False)
class Class:
    """A class at any depth of the module."""

    node: ast.ClassDef
    qualname: str
    methods: dict[str, Function] = field(default_factory=dict)
    attributes: dict[str, list[ast.expr]] = field(default_factory=dict)
    """`self.x = value` and class-level `x = value`: name -> values in source order."""
    assignments: dict[str, list[ast.stmt]] = field(default_factory=dict)
    """The statements that `attributes` come from, in the same order."""
    bases: list[str] = field(init=False)
    """The bases as source text."""

    def __post_init__(self) -> None:
        self.bases = [source_text(base) for base in self.node.bases]

    @property
    def name(self) -> str:
        return self.node.name

    def has_property(self, name: str) -> bool:
        method = self.methods.get(name)
        return method is not None and any(
            terminal_name(decorator) in ("property", "cached_property") for decorator in method.node.decorator_list
        )


class Module:
    """One parsed file and its facts. Facts are computed when first asked for."""

    def __init__(self, source: Source, tree: ast.Module, profile: Profile) -> None:
        self.source = source
        self.tree = tree
        self.profile = profile
        self.name = profile.module_name(source.path)
        self.role: Role = profile.role(self.name)
        self.classes: dict[str, Class] = {}
        self.functions: list[Function] = []
        self.imports: dict[str, str] = {}
        self.constants: dict[str, ast.expr] = {}
        """Names that the module binds exactly once, at its top level."""
        self._rebound: set[str] = set()
        self._definitions: dict[Function, dict[str, list[ast.expr]]] = {}
        self._collect(statements(tree.body), "", None, None)

    @property
    def path(self) -> str:
        return self.source.path

    def definitions(self, function: Function) -> dict[str, list[ast.expr]]:
        """Local name -> the expressions bound to it in `function` itself, in source order."""
        found = self._definitions.get(function)
        if found is None:
            walrus = b":=" in self.source.segment(function.node)
            found = remembered(function.node, "definitions", lambda: _definitions(function, walrus))
            self._definitions[function] = found
        return found

    @cached_property
    def flow(self) -> Flow:
        """Where the factor goes, which slots are written, which flags are set."""
        from moelint.linter.analysis.flow import analyse

        return analyse(self)

    def function(self, name: str, cls: Class | None = None) -> Function | None:
        """The top-level function `name`, or the method `name` of `cls` or of its bases in this module."""
        if cls is None:
            return self._top_level.get(name)
        if name not in self._methods:
            return None
        for ancestor in self.ancestry(cls):
            if name in ancestor.methods:
                return ancestor.methods[name]
        return None

    def real_name(self, node: ast.expr) -> str:
        """The last name of an expression, as it was called where it was imported from."""
        name = terminal_name(node)
        if (
            name in self.imports
            and not isinstance(node, ast.Attribute)
            and not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute))
        ):
            return self.imports[name].rsplit(".", 1)[-1]
        return name

    def ancestry(self, cls: Class) -> Iterator[Class]:
        """`cls` and those of its bases that this module defines, nearest first."""
        queue, seen = [cls], set()
        while queue:
            current = queue.pop(0)
            if current.qualname in seen:
                continue
            seen.add(current.qualname)
            yield current
            queue.extend(self.classes[base] for base in current.bases if base in self.classes)

    @cached_property
    def _methods(self) -> set[str]:
        return {function.name for function in self.functions if function.cls is not None}

    @cached_property
    def _top_level(self) -> dict[str, Function]:
        return {f.name: f for f in self.functions if f.cls is None and f.outer is None}

    def _collect(self, flat: list[ast.stmt], prefix: str, cls: Class | None, outer: Function | None) -> None:
        """Note what `flat`, the statements of one scope, define."""
        for statement in flat:
            kind = type(statement)
            if kind in _ASSIGNMENTS:
                if outer is None:
                    self._collect_binding(statement, cls)
            elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                function = Function(statement, prefix + statement.name, cls, outer)
                self.functions.append(function)
                if cls is not None and outer is None:
                    cls.methods[statement.name] = function
                    self._collect_attributes(function, cls)
                self._collect(function.statements, f"{function.qualname}.", cls, function)
            elif isinstance(statement, ast.ClassDef):
                inner = Class(statement, prefix + statement.name)
                self.classes.setdefault(inner.qualname, inner)
                self._collect(
                    remembered(statement, "statements", partial(statements, statement.body)),
                    f"{inner.qualname}.",
                    inner,
                    None,
                )
            elif isinstance(statement, ast.Import):
                for alias in statement.names:
                    self.imports[alias.asname or alias.name.split(".")[0]] = alias.name
            elif isinstance(statement, ast.ImportFrom):
                base = "." * statement.level + (statement.module or "")
                for alias in statement.names:
                    self.imports[alias.asname or alias.name] = f"{base}.{alias.name}"

    def _collect_binding(self, statement: ast.stmt, cls: Class | None) -> None:
        for name, value in simple_bindings(statement):
            if cls is not None:
                cls.attributes.setdefault(name, []).append(value)
                cls.assignments.setdefault(name, []).append(statement)
            elif name in self._rebound or self.constants.pop(name, None) is not None:
                self._rebound.add(name)
            else:
                self.constants[name] = value

    def _collect_attributes(self, method: Function, cls: Class) -> None:
        if not method.node.args.args:
            return
        for name, value, statement in remembered(method.node, "attributes", lambda: list(_attributes_set(method))):
            cls.attributes.setdefault(name, []).append(value)
            cls.assignments.setdefault(name, []).append(statement)


def _definitions(function: Function, walrus: bool) -> dict[str, list[ast.expr]]:
    found: dict[str, list[ast.expr]] = {}
    for statement in function.statements:
        for name, value in simple_bindings(statement):
            found.setdefault(name, []).append(value)
    for node in walk(function.node) if walrus else ():
        if isinstance(node, ast.NamedExpr):
            found.setdefault(node.target.id, []).append(node.value)
    return found


def _attributes_set(method: Function) -> Iterator[tuple[str, ast.expr, ast.stmt]]:
    """The attributes of its own object that a method sets, with what to and where."""
    receiver = method.node.args.args[0].arg
    for statement in method.statements:
        for target, value in bindings(statement) if type(statement) in _ASSIGNMENTS else ():
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == receiver:
                yield target.attr, value, statement


def bindings(statement: ast.stmt) -> Sequence[tuple[ast.expr, ast.expr]]:
    """The targets of an assignment, with what each is bound to (the whole right side where it is unpacked)."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
        if len(targets) == 1 and not isinstance(targets[0], (ast.Tuple, ast.List, ast.Starred)):
            return ((targets[0], value),)
        return [pair for target in targets for pair in _paired(target, value)]
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return ((statement.target, statement.value),)
    return ()


def _paired(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, (ast.Tuple, ast.List)):
        parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        if len(parts) != len(target.elts) or any(isinstance(part, ast.Starred) for part in target.elts):
            parts = []
        for position, part in enumerate(target.elts):
            yield from _paired(part, parts[position] if parts else value)
    elif isinstance(target, ast.Starred):
        yield from _paired(target.value, value)
    else:
        yield target, value


def simple_bindings(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    """The plain names that a statement binds, with what they are bound to."""
    for target, value in bindings(statement):
        if isinstance(target, ast.Name):
            yield target.id, value


def terminal_name(node: ast.expr) -> str:
    """`c` of `a.b.c`, of `a.b.c()` and of `c`; empty for anything else."""
    while isinstance(node, ast.Call):
        node = node.func
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def dotted_name(node: ast.expr) -> str:
    """`a.b.c` of an attribute chain that starts at a name; empty otherwise."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return ""
    parts.append(node.id)
    return ".".join(reversed(parts))


def source_text(node: ast.expr) -> str:
    """An expression as `ast.unparse` writes it, which is slow and not needed for names."""
    text: str | None = dotted_name(node) or node.__dict__.get(_TEXT)
    if text is None:
        text = node.__dict__[_TEXT] = ast.unparse(node)
    return text


if sys.version_info >= (3, 11):
    TRIES = (ast.Try, ast.TryStar)
else:
    TRIES = (ast.Try,)
"""The statements that handle exceptions."""
_COMPOUND = frozenset((ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, *TRIES, ast.Match))
_ASSIGNMENTS = frozenset((ast.Assign, ast.AnnAssign))


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    """The blocks of a compound statement that is no definition."""
    if isinstance(statement, ast.Match):
        return [case.body for case in statement.cases]
    values = statement.__dict__
    blocks = [values[name] for name in ("body", "orelse", "finalbody") if name in values]
    return blocks + [handler.body for handler in values.get("handlers", ())]


def statements(body: list[ast.stmt]) -> list[ast.stmt]:
    """All statements below `body`, not entering nested functions and classes."""
    found: list[ast.stmt] = []
    for statement in body:
        found.append(statement)
        if type(statement) in _COMPOUND:
            for block in _blocks(statement):
                found += statements(block)
    return found
