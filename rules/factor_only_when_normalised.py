"""MOE802."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.events import Handed, Scale
from moelint.linter.analysis.module import Function
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._calls import calls_of
from moelint.rules._conditions import Atom, atoms
from moelint.rules._constants import Constants
from moelint.rules._renorm import TOKENS, Weighing, is_norm_switch, spelled, switches, weighings
from moelint.rules._router import router_facts


class FactorOnlyWhenNormalised(Rule):
    """Reports a routed scaling factor that is applied only in the branch that normalises the weights.

    ## What it does
    Finds top-k weights that are divided by their sum under a switch (`renormalize`, `norm_topk_prob`) and multiplied by
    the factor under the same switch only, while the other way leaves the function with unscaled weights.

    ## Why is this bad?
    Normalising and scaling are two settings of a checkpoint. A model that does not normalise loses its factor, and the
    routed experts then count a fraction of what they should.

    ## Example
    ```python
    def finish(weights, renormalize, routed_scaling_factor):
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
            if routed_scaling_factor is not None:
                weights = weights * routed_scaling_factor
        return weights
    ```

    ## Use instead
    ```python
    def finish(weights, renormalize, routed_scaling_factor):
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        if routed_scaling_factor is not None:
            weights = weights * routed_scaling_factor
        return weights
    ```

    ## Limits
    Silent if the factor has another use in the function, in its class or in a caller, if the other way raises, and if
    every call in the module switches the normalisation on.
    """

    code = "MOE802"
    family = "router"
    tokens = TOKENS
    help = "multiply by the factor after the branch that normalises, not inside it"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        seen = set()
        for weighing in weighings(module):
            switch = _switch(weighing)
            if switch is None or weighing.scales[0].node in seen:
                continue
            atom, branch = switch
            if _used_elsewhere(weighing, atom, module) or _always_on(weighing, branch, atom, module):
                continue
            for scale in weighing.scales:
                seen.add(scale.node)
                yield Draft(
                    scale.node,
                    f"The factor is multiplied in only where `{ast.unparse(branch.test)}` normalises the weights; "
                    "without that the routed part has no factor at all. Move the multiplication out of this branch.",
                    weighing.function.qualname,
                    ((branch.test, "the switch"), (weighing.norm.node, "the weights are normalised here")),
                    statement=scale.statement,
                )


def _switch(weighing: Weighing) -> tuple[Atom, ast.If | ast.IfExp] | None:
    """The test that normalising and every scaling have in common, and that is there to normalise."""
    known = switches(weighing.function)
    common = weighing.norm.path.intersection(*(scale.path for scale in weighing.scales))
    for atom in sorted(common, key=str):
        branch = known.get(atom)
        if branch is None or atom.value == "None" or spelled(weighing.operand) == atom.subject:
            continue
        if is_norm_switch(atom) or _only_weighs(branch, weighing):
            return atom, branch
    return None


def _only_weighs(branch: ast.If | ast.IfExp, weighing: Weighing) -> bool:
    """Whether a branch without an `else` does nothing but normalise and scale."""
    if isinstance(branch, ast.IfExp) or branch.orelse:
        return False
    steps = {weighing.norm.statement, *(scale.statement for scale in weighing.scales)}
    return steps <= set(walk(branch)) and all(_weighs(statement, steps) for statement in branch.body)


def _weighs(statement: ast.stmt, steps: set[ast.stmt]) -> bool:
    if isinstance(statement, ast.If):
        return not statement.orelse and all(_weighs(inner, steps) for inner in statement.body)
    if statement in steps:
        return True
    return isinstance(statement, ast.Assign) and "sum(" in ast.unparse(statement.value)


def _used_elsewhere(weighing: Weighing, atom: Atom, module: Module) -> bool:
    """Whether the factor is applied, or handed to somebody, where the switch is off."""
    function, factor = weighing.function, spelled(weighing.operand)
    for step in router_facts(module).products:
        if step.function is function and atom not in step.path and step.operand and spelled(step.operand) == factor:
            return True
    around = {site.function for site in calls_of(module).of(function)}
    for event in module.flow.events:
        if not isinstance(event, (Scale, Handed)) or event.power <= 0 or event.function is None:
            continue
        if event.function is function or event.function.outer is function:
            path = frozenset().union(*(atoms(guard.test, guard.positive, {}) for guard in event.guards))
            if atom not in path:
                return True
        elif isinstance(event, Scale) and (event.function in around or _same_object(event.function, function)):
            return True
    return False


def _same_object(a: Function, b: Function) -> bool:
    return a.cls is not None and a.cls is b.cls


def _always_on(weighing: Weighing, branch: ast.If | ast.IfExp, atom: Atom, module: Module) -> bool:
    """Whether every known call takes the branch that normalises."""
    constants = Constants(module, calls_of(module))
    wanted = atom in atoms(branch.test, True, {})
    frames = list(constants.frames(weighing.function))
    return all(constants.truth(branch.test, frame) is wanted for frame in frames)
