"""The profile's route facts: plain data, and the small language of its conditions."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes.values import Symbol

if TYPE_CHECKING:
    from moelint.linter.routes.machine import Machine


@dataclass(frozen=True, slots=True)
class Fact:
    """A deployment fact: where `when` holds, `then` holds. `source` says where it was read."""

    then: str
    when: str = "True"
    source: str = ""


@dataclass(frozen=True, slots=True)
class Derived:
    """An atom that is defined by a function of the tree: `atom` == `function(*arguments)`."""

    atom: str
    function: str
    arguments: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A route that is a list of methods sharing one state dictionary."""

    name: str
    operations: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    when: str = "True"


@dataclass(frozen=True, slots=True)
class RouteFacts:
    """What the route analysis is told of a framework, besides its model functions."""

    experts_factories: tuple[str, ...] = ()
    """Callables that build routed experts; a class whose `__init__` calls one is a block."""
    entries: tuple[str, ...] = ()
    """Functions that measure what they are handed; a function that calls one is analysed like a block."""
    exact: bool = False
    """The analysed code is a closed program: numbers count, and an attribute that nobody sets raises."""
    routers: tuple[str, ...] = ()
    """Qualified classes of routers, whose calls are summarised."""
    weights_field: str = "topk_weights"
    config_field: str = "topk_config"
    shared_attributes: str = "(?!)"
    """Attributes that hold the separate shared expert (a regular expression)."""
    follow: tuple[str, ...] = ()
    """Prefixes of qualified names that are interpreted whenever they are called."""
    follow_tracked: tuple[str, ...] = ()
    """Prefixes that are interpreted when they are handed an expert's output."""
    never: tuple[str, ...] = ()
    """Beginnings of function names that are not interpreted."""
    classes: tuple[str, ...] = ()
    """Prefixes of classes whose `__init__` is interpreted."""
    classes_here: str = "(?!)"
    """Names of classes of the block's own module whose `__init__` is interpreted (a regular expression)."""
    prefix: str = ""
    """Beginning of qualified names that is left out where a call names a symbol."""
    globals: dict[str, str | int | float] = field(default_factory=dict)
    """Qualified globals -> the symbol, or the number, that they are."""
    false_symbols: tuple[str, ...] = ()
    """Prefixes of symbols that are false in deployment."""
    harmless: str = "(?!)"
    """Calls that may get an expert's output without changing it (a regular expression)."""
    linear: str = "(?!)"
    """Classes of linear layers: scales commute with them."""
    norms: str = "(?!)"
    """Classes of norms: they erase scales."""
    keep: str = "(?!)"
    """Atoms that stay visible outside a summarised router."""
    hidden: str = "(?!)"
    """Atoms that never show in a cell."""
    reducing: str = "(?!)"
    """Atoms that decide about sums alone: they do not show in cells about scales."""
    order: tuple[str, ...] = ()
    """Atoms in the order in which diagrams and cells sort them."""
    dimensions: dict[str, str] = field(default_factory=dict)
    """Suffixes of symbols -> the dimension they carry."""
    groups: dict[str, str] = field(default_factory=dict)
    """Enumeration symbols -> the qualified enumeration class."""
    named_only: dict[str, str] = field(default_factory=dict)
    """Groups whose values count only if the block's module contains this text with `{value}` filled in."""
    named_also: dict[str, str] = field(default_factory=dict)
    """`group.value` -> a further text that counts as naming it."""
    structured: dict[str, str] = field(default_factory=dict)
    """Boolean atoms -> the condition that defines them."""
    derived: tuple[Derived, ...] = ()
    facts: tuple[Fact, ...] = ()
    pipelines: tuple[Pipeline, ...] = ()
    provenance: tuple[str, ...] = ()
    """Constructor arguments whose `x if condition else None` in the module tells when they are not None."""
    world: tuple[str, ...] = ()
    """Conditions of the worlds that are judged: a batch with tokens, the rank that adds."""


def route_facts_from_dict(data: dict[str, Any]) -> RouteFacts:
    """Build from plain data, as a TOML file gives it."""
    values: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in data.items()}
    values["derived"] = tuple(
        Derived(item["atom"], item["function"], tuple(item["arguments"])) for item in data.get("derived", ())
    )
    values["facts"] = tuple(Fact(**item) for item in data.get("facts", ()))
    values["pipelines"] = tuple(
        Pipeline(
            item["name"], tuple(item["operations"]), tuple(item["inputs"]), item["output"], item.get("when", "True")
        )
        for item in data.get("pipelines", ())
    )
    return RouteFacts(**values)


def condition(machine: Machine, text: str, module_text: str = "") -> Node:
    """Read a condition: `and`, `or`, `not`, `group == "value"`, `group in ("a", "b")`, `atom("name")`, `none("name")`,
    `truth("name")`, `mentions("text")` (whether the block's module contains a text)."""
    return _read(machine, ast.parse(text, mode="eval").body, module_text)


def _read(machine: Machine, node: ast.expr, module_text: str) -> Node:
    diagrams = machine.diagrams
    if isinstance(node, ast.Constant):
        return TRUE if node.value else FALSE
    if isinstance(node, ast.BoolOp):
        parts = [_read(machine, part, module_text) for part in node.values]
        return diagrams.all_of(parts) if isinstance(node.op, ast.And) else diagrams.any_of(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return diagrams.neg(_read(machine, node.operand, module_text))
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        variable = ast.unparse(node.left) if not isinstance(node.left, ast.Constant) else str(node.left.value)
        literal = machine.is_value(variable, *_strings(node.comparators[0]))
        return diagrams.neg(literal) if isinstance(node.ops[0], (ast.NotEq, ast.NotIn)) else literal
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        argument = str(ast.literal_eval(node.args[0]))
        if node.func.id == "atom":
            return machine.atom(argument)
        if node.func.id == "none":
            return machine.is_none(Symbol(argument))
        if node.func.id == "truth":
            return machine.truth_of(Symbol(argument))
        if node.func.id == "mentions":
            return TRUE if re.search(argument, module_text) else FALSE
    raise ValueError(f"not a condition: {ast.unparse(node)}")


def _strings(node: ast.expr) -> Iterable[str]:
    value = ast.literal_eval(node)
    return [str(item) for item in value] if isinstance(value, (tuple, list, set)) else [str(value)]
