"""How the central helper's answer is written at a place: which router it is asked about, and under which name."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from moelint.linter.analysis.guards import Guards
from moelint.linter.analysis.module import Class, Function, Module, statements, terminal_name
from moelint.linter.repair import InsertAfter, NeedName, Step
from moelint.rules._sites import guards_of, helper_name


@dataclass(frozen=True, slots=True)
class Answer:
    """The expression `text`, which is the answer where `steps` have been taken."""

    text: str
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Router:
    """A router that a constructor keeps: `self.attribute = Constructor(...)`."""

    attribute: str
    constructor: str
    statement: ast.stmt


def answer_for(module: Module, function: Function | None, node: ast.expr | ast.stmt) -> Answer | None:
    """The answer at `node` in `function`, about the router of the block that the function is a method of.

    None where it is not known which router that is, or where it does not exist yet.
    """
    method = function.outermost if function is not None else None
    cls = method.cls if method is not None else None
    if function is None or method is None or cls is None:
        return _about_parameter(module, function)
    receiver = method.node.args.args[0].arg if method.node.args.args else ""
    if not receiver or any(terminal_name(part) == "staticmethod" for part in method.node.decorator_list):
        return None
    for ancestor in module.ancestry(cls):
        routers = list(_routers(module, ancestor))
        if not routers:
            continue
        if len({router.attribute for router in routers}) > 1 or len(routers) < len(
            ancestor.attributes[routers[0].attribute]
        ):
            return None
        stored = _stored(module, ancestor)
        steps: tuple[Step, ...] = ()
        if stored is not None:
            known = stored[1]
            text = f"{receiver}.{stored[0]}"
        elif len(routers) == 1 and routers[0].constructor in module.profile.router_records:
            known = [routers[0].statement]
            text, steps = _asked(module, receiver, routers[0]), _imported(module)
        else:
            known = [router.statement for router in routers]
            text, steps = _store(module, receiver, routers)
        if method.name == "__init__" and not _after(method, known, node):
            return None
        return Answer(text, steps)
    return _about_parameter(module, function)


def _about_parameter(module: Module, function: Function | None) -> Answer | None:
    """The answer about a router's configuration that the function is given."""
    if function is None:
        return None
    for parameter in function.parameters():
        annotation = parameter.annotation
        if annotation is not None and terminal_name(_unquoted(annotation)) in module.profile.config_objects:
            return Answer(f"{helper_name(module)}({parameter.arg})", _imported(module))
    return None


def _unquoted(annotation: ast.expr) -> ast.expr:
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            return ast.parse(annotation.value, mode="eval").body
        except SyntaxError:
            return annotation
    return annotation


def _routers(module: Module, cls: Class) -> Iterator[_Router]:
    profile = module.profile
    for attribute, values in cls.attributes.items():
        for value, statement in zip(values, cls.assignments[attribute], strict=True):
            if isinstance(value, ast.Call):
                name = module.real_name(value.func)
                if name in profile.router_records or name in profile.router_answers:
                    yield _Router(attribute, name, statement)


def _stored(module: Module, cls: Class) -> tuple[str, list[ast.stmt]] | None:
    """The attribute in which the class keeps the answer already, and the statements that set it."""
    guards: Guards = guards_of(module)
    for name in sorted(module.profile.answer_names & cls.attributes.keys()):
        init = cls.methods.get("__init__")
        if all(guards.says_folded(guards.formula(value, init)) for value in cls.attributes[name]):
            return name, cls.assignments[name]
    return None


def _asked(module: Module, receiver: str, router: _Router) -> str:
    record = module.profile.router_records.get(router.constructor)
    if record is None:
        return f"{receiver}.{router.attribute}.{module.profile.router_answers[router.constructor]}"
    return f"{helper_name(module)}({receiver}.{router.attribute}.{record})"


def _store(module: Module, receiver: str, routers: Sequence[_Router]) -> tuple[str, tuple[Step, ...]]:
    """Where the constructor chooses among routers, it keeps the answer of the one that it takes."""
    name = f"{receiver}.{_attribute_name(module)}"
    steps: list[Step] = [
        InsertAfter(router.statement, f"{name} = {_asked(module, receiver, router)}") for router in routers
    ]
    return name, (*steps, *_imported(module))


def _attribute_name(module: Module) -> str:
    """The usual name of a stored answer: the helper's, if it is one, else the longest."""
    names = module.profile.answer_names
    usual = helper_name(module).removeprefix("is_")
    return usual if usual in names else max(sorted(names), key=len)


def _imported(module: Module) -> tuple[Step, ...]:
    if module.name == module.profile.helper_module:
        return ()
    return (NeedName(module.profile.helper_module, helper_name(module)),)


def _after(method: Function, known: Sequence[ast.stmt], node: ast.expr | ast.stmt) -> bool:
    """Whether each of `known` comes before `node` in the constructor, and one of them for certain."""
    place = (node.lineno, node.col_offset)
    ends = [(statement.end_lineno or 0, statement.end_col_offset or 0) for statement in known]
    return all(end <= place for end in ends) and any(
        statement in method.node.body or _inside_same(method, statement, node) for statement in known
    )


def _inside_same(method: Function, statement: ast.stmt, node: ast.expr | ast.stmt) -> bool:
    """Whether the block that holds `statement` goes on to the place of `node`."""
    for outer in statements(method.node.body):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(outer, name, None)
            if isinstance(block, list) and statement in block:
                last = block[-1]
                return (node.lineno, node.col_offset) < (last.end_lineno or 0, last.end_col_offset or 0)
    return False
