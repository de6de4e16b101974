"""Repairs that take a shared slot's weight, or an answer that is handed on, from the central helpers."""

from __future__ import annotations

import ast

from moelint.linter.analysis.events import AnswerGiven, SlotWrite
from moelint.linter.analysis.module import Function, Module
from moelint.linter.analysis.walk import walk
from moelint.linter.repair import NeedName, Repair, Replace
from moelint.rules._answer import answer_for
from moelint.rules._sites import helper_name, weight_helper_name


def weight_from_helper(event: SlotWrite, module: Module) -> Repair | None:
    """Puts the helper's weight in place of a literal one and of `1 / factor`.

    None for other quotients, such as the sum of the weights by the factor, and where the answer or the factor cannot be
    named.
    """
    keywords = module.profile.weight_arguments
    answer = answer_for(module, event.function, event.value)
    factor = _factor(event, module)
    if not keywords or answer is None or factor is None or event.how == "name":
        return None
    given = {"answer": answer.text, "factor": factor}
    if not given.keys() >= set(keywords.values()):
        return None
    helper = weight_helper_name(module)
    text = f"{helper}({', '.join(f'{name}={given[kind]}' for name, kind in keywords.items())})"
    needed = () if module.name == module.profile.helper_module else (NeedName(module.profile.helper_module, helper),)
    return Repair(f"Take it from `{helper}`", (Replace(event.value, text), *answer.steps, *needed), True)


def answer_from_helper(event: AnswerGiven, module: Module) -> Repair | None:
    """Puts the helper's answer in place of what is handed on as such."""
    answer = answer_for(module, event.function, event.value)
    if answer is None or answer.text.endswith(f".{event.name}"):
        return None
    return Repair(f"Ask `{helper_name(module)}`", (Replace(event.value, answer.text), *answer.steps), True)


def _factor(event: SlotWrite, module: Module) -> str | None:
    """The factor as it is spelled at a write; None where the value is something else than one or its inverse."""
    value = event.value
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Div):
        return ast.unparse(value.right) if _is_one(value.left) and _names_factor(value.right, module) else None
    return _at_hand(event.function, module) if _is_one(value) else None


def _is_one(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, bool) and node.value == 1


def _names_factor(node: ast.expr, module: Module) -> bool:
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name in module.profile.factor


def _at_hand(function: Function | None, module: Module) -> str | None:
    """A parameter or a local that holds the factor on every way, or the factor of the configuration that is given."""
    if function is None:
        return None
    for parameter in function.parameters():
        if parameter.arg in module.profile.factor:
            return parameter.arg
    configurations = {
        parameter.arg
        for parameter in function.parameters()
        if parameter.annotation is not None
        and any(
            getattr(part, "id", getattr(part, "value", None)) in module.profile.config_objects
            for part in walk(parameter.annotation)
        )
    }
    for statement in module.tree.body:
        for part in walk(statement):
            if (
                isinstance(part, ast.Attribute)
                and part.attr in module.profile.factor
                and isinstance(part.value, ast.Name)
                and part.value.id in configurations
            ):
                return ast.unparse(part)
    return None
