"""MOE122."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import partial

from moelint.linter.analysis.mentions import covers, mentioning_lines
from moelint.linter.analysis.module import Function, Module
from moelint.linter.analysis.walk import remembered, walk
from moelint.linter.rule import Draft, Profile, Rule, Source
from moelint.rules._buffers import Choice, Use, operands, sites, view_of
from moelint.rules._records import is_allocation
from moelint.rules._reductions import local_values
from moelint.rules._truth import Conditions, Outcome

_VIEWS = 4
_COMPARISONS = (b"==", b"!=", b" in ")


class NeutralShortcutDisagrees(Rule):
    """Reports a shortcut for a factor of 1 that disagrees with the choice of the buffer it relies on.

    ## What it does
    Looks for two decisions in one function: which of two buffers the experts write, and which one is scaled by the
    factor or returned as it is. Reports the use of a buffer that, for a factor other than 1, may not be the written
    one, and a return for a factor of 1 that has nothing to do with what is scaled otherwise.

    ## Why is this bad?
    In the cases between them the function scales a buffer that nobody filled, or returns one that nobody scaled:
    uninitialised memory, now and then, only for some top-k and some factors.

    ## Example
    ```python
    def experts(x, w, routed_scaling_factor):
        out, rows = torch.empty_like(x), torch.empty_like(x)
        run_kernel(x, w, rows if w.shape[1] != 1 else out)
        if w.shape[1] == 1 and routed_scaling_factor == 1.0:
            return out
        return rows * routed_scaling_factor
    ```

    ## Use instead
    ```python
    def experts(x, w, routed_scaling_factor):
        out, rows = torch.empty_like(x), torch.empty_like(x)
        needs_rows = w.shape[1] != 1 or routed_scaling_factor != 1.0
        run_kernel(x, w, rows if needs_rows else out)
        if not needs_rows:
            return out
        return rows * routed_scaling_factor
    ```

    ## Limits
    Both decisions must be in one function (a callee that is handed a part of the test may decide too), and the factor
    must be in the tests of one of them. Tests are compared as boolean functions of their parts; what the parts have
    to do with each other is not known.
    """

    code = "MOE122"
    family = "factor-flow"
    tokens = (("@factor", "== 1"), ("@factor", "!= 1"), ("@factor", "None, 1"))
    help = "take both decisions by one stored test"
    roles = ("client", "owner", "method", "leaf")

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        return bool(_compared(source, profile.factor))

    def check(self, module: Module) -> Iterable[Draft]:
        spelled = module.profile.factor
        compared = _compared(module.source, spelled)
        for function in module.functions if compared else ():
            if function.outer is not None or not covers(function.node, compared):
                continue
            found = remembered(function.node, ("sites", spelled), partial(_sites_of, function, spelled))
            bound = local_values(function)
            tests = Conditions(bound, spelled)
            uses = [site for site in found if isinstance(site, Use)]
            yield from _unrelated(function, uses, tests, bound)
            for choice in (site for site in found if isinstance(site, Choice)):
                use = next((use for use in uses if _disagrees(choice, use, tests, bound)), None)
                if use is not None:
                    yield Draft(
                        use.node,
                        f"`{use.buffer}` is used here in a case in which another buffer was written: the two tests do "
                        "not agree on what a factor of 1 means. Store one test and take both decisions by it.",
                        function.qualname,
                        ((choice.test, "this test decides which buffer is written"),),
                    )


def _sites_of(function: Function, spelled: frozenset[str]) -> list[Choice | Use]:
    return list(sites(function.node.body, (), spelled))


def _compared(source: Source, spelled: frozenset[str]) -> list[int]:
    """The lines that compare and name the factor."""
    return [line for line, text in mentioning_lines(source, spelled) if any(sign in text for sign in _COMPARISONS)]


def _unrelated(
    function: Function, uses: list[Use], tests: Conditions, bound: dict[str, list[ast.expr]]
) -> Iterator[Draft]:
    for short in uses:
        for long in uses:
            if _returns_another(short, long, tests, bound) and not any(
                _is_fresh(name, bound) and _is_filled(name, function) for name in (short.buffer, long.buffer)
            ):
                yield Draft(
                    short.node,
                    f"For a factor of 1 this returns `{short.buffer}`, for any other the scaled `{long.buffer}`, and "
                    "the two have nothing in common. Return what would have been scaled.",
                    function.qualname,
                    ((long.node, "this is what is scaled otherwise"),),
                )
                break


def _disagrees(choice: Choice, use: Use, tests: Conditions, bound: dict[str, list[ast.expr]]) -> bool:
    """Whether the buffer can be used where the other one was written."""
    if use.buffer not in (choice.then, choice.other) or use.node.lineno < choice.test.lineno:
        return False
    fresh = [_is_fresh(choice.then, bound), _is_fresh(choice.other, bound)]
    if not (any(fresh) if choice.direct else all(fresh)):
        return False
    if isinstance(use.node, ast.Call) and tests.names_in(choice.test) & set(map(view_of, operands(use.node))):
        return False
    wrong: Outcome = (choice.test, use.buffer != choice.then)
    outcomes = [*choice.outcomes, *use.outcomes, wrong]
    return tests.ask_factor(outcomes) and tests.can_all_hold(outcomes)


def _is_fresh(name: str, bound: dict[str, list[ast.expr]], depth: int = _VIEWS) -> bool:
    """Whether a local is a fresh tensor or a view of one."""
    return depth > 0 and any(
        is_allocation(value) or (view_of(value) not in ("", name) and _is_fresh(view_of(value), bound, depth - 1))
        for value in bound.get(name, ())
    )


def _returns_another(short: Use, long: Use, tests: Conditions, bound: dict[str, list[ast.expr]]) -> bool:
    """Whether a return for a factor of 1 has nothing to do with what is scaled otherwise, though both are made."""
    if not short.outcomes or tests.can_all_hold(short.outcomes[-1:]) or isinstance(long.node, ast.Call):
        return False
    one, two, line = short.buffer, long.buffer, short.node.lineno
    if one == two or not tests.ask_factor(short.outcomes[-1:]):
        return False
    made = [bound.get(name, []) for name in (one, two)]
    if not all(values and all(value.lineno < line for value in values) for values in made):
        return False
    origins = [_origins(name, bound) for name in (one, two)]
    return one not in origins[1] and two not in origins[0] and not origins[0] & origins[1] & bound.keys()


def _origins(name: str, bound: dict[str, list[ast.expr]]) -> set[str]:
    """The names whose values a local is made of, directly or not."""
    found: set[str] = set()
    stack = [name]
    while stack:
        current = stack.pop()
        if current not in found:
            found.add(current)
            values = (value for value in bound.get(current, ()) if not is_allocation(value))
            parts = (part for value in values for part in walk(value))
            stack.extend(part.id for part in parts if isinstance(part, ast.Name))
    return found


def _is_filled(name: str, function: Function) -> bool:
    """Whether a local, or a choice with it, is handed to a call or is the object of an in-place one."""
    for node in walk(function.node):
        handed: list[ast.expr] = operands(node) if isinstance(node, ast.Call) else []
        if isinstance(node, ast.IfExp):
            handed = [node]
        if any(isinstance(part, ast.Name) and part.id == name for operand in handed for part in walk(operand)):
            return True
    return False
