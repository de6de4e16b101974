"""Where weights are normalised, where they get the factor, and under which switches: for the rules about the two."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from moelint.linter.analysis.module import Function, Module, dotted_name, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.rules import _router_words as words
from moelint.rules._conditions import EMPTY, Atom, Path, atoms, feasible, test_aliases
from moelint.rules._router import router_facts
from moelint.rules._router_values import Step

TOKENS = (
    ("@factor", "norm", "sum("),
    ("renormalize", ".sum(", "expert"),
    ("norm_topk_prob", ".sum(", "expert"),
    ("route_norm", ".sum(", "expert"),
)
"""What a file needs to have before a rule about weighings looks at it."""

_NORM = re.compile(r"norm")


@dataclass(frozen=True, slots=True, eq=False)
class Weighing:
    """One normalisation of a function, and the multiplications of the same weights by a factor."""

    function: Function
    norm: Step
    scales: tuple[Step, ...]

    @property
    def operand(self) -> ast.expr:
        """The factor, as the first multiplication spells it."""
        operand = self.scales[0].operand
        assert operand is not None
        return operand


def weighings(module: Module) -> Iterator[Weighing]:
    """Every normalisation whose weights are also scaled somewhere in the same function."""
    facts = router_facts(module)
    scales: dict[Function, list[Step]] = defaultdict(list)
    for step in facts.products:
        if is_factor(step.operand, module):
            scales[step.function].append(step)
    for norm in facts.norms:
        same = [step for step in scales[norm.function] if step.tensor.line == norm.tensor.line]
        if same:
            unique = {id(step.node): step for step in same}
            yield Weighing(norm.function, norm, tuple(unique.values()))


def is_factor(node: ast.expr | None, module: Module) -> bool:
    """Whether an operand is a scale by its name: a spelling of the profile, or one that says so."""
    if node is None:
        return False
    bare = words.stripped(node)
    if isinstance(bare, ast.Call) and terminal_name(bare.func) == "getattr" and len(bare.args) > 1:
        key = bare.args[1]
        return isinstance(key, ast.Constant) and isinstance(key.value, str) and _is_factor_name(key.value, module)
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return _is_factor_name(node.slice.value, module)
    return isinstance(bare, (ast.Name, ast.Attribute)) and _is_factor_name(terminal_name(bare), module)


def _is_factor_name(name: str, module: Module) -> bool:
    return name in module.profile.factor or words.is_factor_name(name)


def switches(function: Function) -> dict[Atom, ast.If | ast.IfExp]:
    """The tests of a function as atoms, with their statement; those whose other side fails are left out."""
    found: dict[Atom, ast.If | ast.IfExp] = {}
    refused: Path = EMPTY
    nodes = list(walk(function.node))
    aliases = dict(pair for node in nodes if isinstance(node, ast.Assign) for pair in test_aliases(node))
    for node in nodes:
        if isinstance(node, ast.Assert):
            refused |= atoms(node.test, True, aliases)
        elif isinstance(node, (ast.If, ast.IfExp)):
            then, other = atoms(node.test, True, aliases), atoms(node.test, False, aliases)
            if isinstance(node, ast.If):
                refused |= other if _fails(node.body) else EMPTY
                refused |= then if _fails(node.orelse) else EMPTY
            for atom in (*then, *other):
                found.setdefault(atom, node)
    return {atom: node for atom, node in found.items() if atom not in refused}


def is_norm_switch(atom: Atom) -> bool:
    """Whether a test's subject says that it is about normalising."""
    return atom.value is None and _NORM.search(atom.subject.rsplit(".", 1)[-1].lower()) is not None


def excluded(path: Path, other: Path) -> bool:
    """Whether two paths cannot be taken together."""
    return not feasible(path | other)


def spelled(node: ast.expr) -> str:
    """The dotted text of an operand, for comparing."""
    return dotted_name(words.stripped(node)) or ast.unparse(node)


def _fails(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)
