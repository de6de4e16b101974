"""What a rule is, and everything a rule may use. Rules import this module and `moelint.linter.model` only."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from moelint.linter.analysis.module import Class, Function, Module, dotted_name, terminal_name
from moelint.linter.model import Place, Severity
from moelint.linter.profile import Profile
from moelint.linter.source import Source

if TYPE_CHECKING:
    from moelint.linter.repair import Repair

__all__ = [
    "Class",
    "Draft",
    "Function",
    "Module",
    "Place",
    "Profile",
    "RouteRule",
    "Rule",
    "Source",
    "dotted_name",
    "terminal_name",
]

Tokens = tuple[tuple[str, ...], ...]
"""Alternatives of conjunctions: the file is looked at if all entries of one inner tuple occur in it. An entry
`@group` stands for any spelling in that field of the profile, everything else for itself."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A finding before the engine adds path, rule and identity. `node` is the narrowest region."""

    node: ast.AST
    message: str
    qualname: str
    related: tuple[tuple[ast.AST, str], ...] = ()
    severity: Severity | None = None
    statement: ast.AST | None = None
    """The innermost statement, for the identity; `node` where it is left out."""
    repair: Callable[[], Repair | None] | None = None
    """Works out a repair, if there is one; called only where somebody asks for fixes."""


class Rule(ABC):
    """One check. The file name is the rule's name; the docstring is its documentation, under fixed headings:
    `## What it does`, `## Why is this bad?`, `## Example`, `## Use instead`, `## Limits`."""

    code: ClassVar[str]
    family: ClassVar[str]
    severity: ClassVar[Severity] = "error"
    since: ClassVar[str] = "0.1.0"
    tokens: ClassVar[Tokens]
    help: ClassVar[str]
    """One line: what to do."""
    needs_helpers: ClassVar[bool] = False
    """Only for frameworks whose profile names central helpers."""
    roles: ClassVar[tuple[str, ...]] = ("client", "owner")
    """The kinds of module the rule looks at; kernels and runners are `leaf`."""

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        """Whether a file that holds the tokens may hold a finding, told from its bytes. Asked before the file is
        parsed, for what tokens cannot say; must never deny what `check` would find."""
        return True

    @abstractmethod
    def check(self, module: Module) -> Iterable[Draft]:
        """Yield a draft for each breach in `module`."""

    @classmethod
    def name(cls) -> str:
        return cls.__module__.rsplit(".", 1)[1].replace("_", "-")


class RouteRule(Rule):
    """A rule about cells of the route table. It runs with `--routes` alone, on whole routes, and never on a file."""

    family: ClassVar[str] = "routes"
    tokens: ClassVar[Tokens] = ()
    part: ClassVar[str]
    """The part of a wrong cell that the rule reports: `routed`, `slot`, `shared`, `reduction`, or `end` for a program
    that never returns."""
    yields_to: ClassVar[str] = ""
    """A part that, if it is wrong too, is the cause: the cell is left to the rule about it."""

    def check(self, module: Module) -> Iterable[Draft]:
        """Nothing: a file alone has no route table."""
        return ()
