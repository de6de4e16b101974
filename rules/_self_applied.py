"""Blocks that keep the factor from router and runner and multiply by themselves: right today, decided locally."""

from __future__ import annotations

import ast

from moelint.linter.analysis.events import FlagSet, Handed
from moelint.linter.analysis.module import Class, Function, Module


def keeps_factor_to_itself(module: Module, function: Function | None) -> bool:
    """Whether the class of `function` builds its router and experts without the factor and without a fold flag.

    True only if the class (with its bases in this module) constructs at least one callable that may carry the factor
    and hands none of them the factor, and sets no fold flag to anything but a literal False.
    """
    if function is None or function.cls is None:
        return False
    family = {ancestor.qualname for ancestor in module.ancestry(function.cls)}
    for event in module.flow.events:
        if event.function is None or event.function.cls is None or event.function.cls.qualname not in family:
            continue
        if isinstance(event, Handed) and (
            event.callee in module.profile.constructors or event.keyword in module.profile.factor
        ):
            return False
        if isinstance(event, FlagSet) and not (isinstance(event.value, ast.Constant) and event.value.value is False):
            return False
    return any(_builds(module, cls) for cls in module.ancestry(function.cls))


def _builds(module: Module, cls: Class) -> bool:
    segment = module.source.segment(cls.node)
    return any(name.encode() + b"(" in segment for name in module.profile.constructors)
