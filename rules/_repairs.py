"""Repairs that put the central helper's answer where something else decided."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from moelint.linter.analysis.events import Guard, Scale, flattened
from moelint.linter.analysis.guards import ANSWER, FLAG, OTHER, TOLD, WISH
from moelint.linter.analysis.module import Function, Module
from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.repair import Guard as AskFirst
from moelint.linter.repair import Repair, Replace, Step
from moelint.rules._answer import answer_for
from moelint.rules._sites import Decision, guards_of, helper_name

_Guess = tuple[ast.expr, Function | None, bool]
"""An expression that stands for "folded" (or, if the last is false, for "not folded"), and where it is written."""


def ask_in_guards(guards: tuple[Guard, ...], module: Module) -> Repair | None:
    """Puts the helper's answer in place of what takes the experts' wish, or a platform on which routers always fold,
    for "folded" in the tests that guard a scale.

    None where something else decides too: what a runner does is not the helper's to say.
    """
    decision = Decision(guards, module)
    if not _would_be_right(decision, module):
        return None
    search = _Search(module)
    for guard in flattened(guards):
        if not search.look(guard.test, guard.function):
            return None
    steps: list[Step] = []
    for node, function, folded in search.guesses:
        answer = answer_for(module, function, node)
        if answer is None:
            return None
        steps.append(Replace(node, answer.text if folded else f"not {answer.text}"))
        steps += [step for step in answer.steps if step not in steps]
    if not search.guesses:
        return None
    return Repair(f"Ask `{helper_name(module)}`", tuple(steps), True)


def ask_before(event: Scale, module: Module) -> Repair | None:
    """Puts a statement that does nothing but scale below the helper's answer."""
    node, statement = event.node, event.statement
    if isinstance(statement, ast.Assign):
        whole = statement.value is node and [ast.unparse(target) for target in statement.targets] == [
            _text(event.scaled)
        ]
    else:
        whole = isinstance(statement, ast.AugAssign) or (
            isinstance(statement, ast.Expr) and statement.value is node and event.in_place and event.form.endswith("()")
        )
    answer = answer_for(module, event.function, statement) if whole else None
    if answer is None:
        return None
    return Repair(f"Ask `{helper_name(module)}`", (AskFirst(statement, f"not {answer.text}"), *answer.steps), True)


def _text(node: ast.expr | None) -> str:
    return ast.unparse(node) if node is not None else ""


def _would_be_right(decision: Decision, module: Module) -> bool:
    """Whether the scale acts exactly where nothing folded, if each guess is right."""
    diagrams = decision.guards.diagrams
    if decision.asked or decision.undecided:
        return False
    anyway = module.profile.folds_anyway[0] if module.profile.folds_anyway else None
    never = diagrams.restrict(decision.scaling, {WISH: False, FLAG: False, TOLD: False, "platform": None})
    always = diagrams.restrict(decision.scaling, {WISH: True, FLAG: True, TOLD: True, "platform": anyway})
    return never == TRUE and always == FALSE


class _Search:
    """Finds the guesses in a test, through names and attributes to where they are decided."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._guards = guards_of(module)
        diagrams = self._guards.diagrams
        wish, flag = diagrams.literal(WISH), diagrams.literal(FLAG)
        anyway = diagrams.literal("platform", module.profile.folds_anyway) if module.profile.folds_anyway else FALSE
        disj = diagrams.disj
        self._folded = {wish, flag, anyway, disj(wish, anyway), disj(flag, anyway), disj(wish, flag)} - {FALSE}
        self._owed = {diagrams.neg(node) for node in self._folded}
        self.guesses: list[_Guess] = []
        self._seen: set[ast.expr] = set()

    def look(self, node: ast.expr, function: Function | None) -> bool:
        """Collect the guesses in `node`; False if something in it decides and is no guess."""
        if node in self._seen:
            return True
        self._seen.add(node)
        formula = self._guards.formula(node, function)
        if not self._decides(formula):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.operand, (ast.Name, ast.Attribute)):
            return self.look(node.operand, function)
        if isinstance(node, ast.Name):
            binder = self._guards.holders.binder(node.id, function)
            if binder is not None:
                return all(self.look(value, binder) for value in self._module.definitions(binder)[node.id])
        if isinstance(node, ast.Attribute):
            values = self._guards.holders.attribute_values(node, function)
            if values:
                return all(self.look(*value) for value in values)
        if formula in self._folded or formula in self._owed:
            self.guesses.append((node, function, formula in self._folded))
            return True
        parts = list(_parts(node))
        return bool(parts) and all(self.look(part, function) for part in parts)

    def _decides(self, formula: Node) -> bool:
        groups = {*self._module.profile.backend_sources.values(), *self._module.profile.backend_predicates.values()}
        return bool(self._guards.kinds(formula) - {OTHER, ANSWER, *groups})


def _parts(node: ast.expr) -> Iterator[ast.expr]:
    """The parts of an expression of which each is a test of its own."""
    if isinstance(node, ast.BoolOp):
        yield from node.values
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.IfExp):
        yield from (node.test, node.body, node.orelse)
    elif isinstance(node, ast.NamedExpr):
        yield node.value
