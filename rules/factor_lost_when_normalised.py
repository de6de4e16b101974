"""MOE803."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._calls import calls_of
from moelint.rules._conditions import Atom, atoms
from moelint.rules._constants import Constants, Frame, Record, Result, Unknown, is_neutral
from moelint.rules._renorm import TOKENS, Weighing, excluded, is_factor, switches, weighings


class FactorLostWhenNormalised(Rule):
    """Reports a call that hands over a factor and takes the branch that does not use it.

    ## What it does
    Looks at routers of the form "normalise the weights, else multiply by the factor". Such a router is right for the
    model that defines it so. Reports it if this module itself calls it with the normalisation switched on by a constant
    and with a factor: the constants are followed through calls, records and constructors.

    ## Why is this bad?
    The caller believes that both happen. The weights are normalised, the factor is dropped without a word, and the
    routed experts count a fraction of what they should.

    ## Example
    ```python
    def pick(scores, k, renormalize, factor):
        weights, chosen = scores.topk(k, -1)
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        else:
            weights = weights * factor
        return weights, chosen

    def route(scores, config):
        return pick(scores, config.top_k, True, config.routed_scaling_factor)
    ```

    ## Use instead
    ```python
    def pick(scores, k, renormalize, factor):
        weights, chosen = scores.topk(k, -1)
        if renormalize:
            weights = weights / weights.sum(-1, keepdim=True)
        return weights * factor, chosen

    def route(scores, config):
        return pick(scores, config.top_k, True, config.routed_scaling_factor)
    ```

    ## Limits
    Silent where the switch depends on a configuration that is not written in this module, where the factor is absent or
    one, and where a caller multiplies by the factor or hands it to somebody else as well.
    """

    code = "MOE803"
    family = "router"
    tokens = TOKENS
    help = "multiply after normalising too, or hand over no factor"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        seen = set()
        for weighing in weighings(module):
            first = weighing.scales[0]
            if first.node in seen or not all(excluded(weighing.norm.path, step.path) for step in weighing.scales):
                continue
            for frame, branch in _losing_frames(weighing, module):
                seen.add(first.node)
                related = [(branch, "this test comes out so that the weights are normalised instead")]
                related += [(site.call, "the factor is handed over here") for site in frame.sites[:2]]
                yield Draft(
                    first.node,
                    "The factor is used only where the weights are not normalised, but this module runs the router "
                    "with normalisation and with a factor, which is then dropped. Multiply after normalising as well.",
                    weighing.function.qualname,
                    tuple(related),
                    statement=first.statement,
                )
                break


def _losing_frames(weighing: Weighing, module: Module) -> Iterator[tuple[Frame, ast.expr]]:
    """The calls that normalise and whose factor is used by nobody, with the test that decides."""
    constants = Constants(module, calls_of(module))
    deciding = _deciding(weighing)
    if not deciding:
        return
    for frame in constants.frames(weighing.function):
        if not all(_holds(atom, branch.test, constants, frame) for atom, branch in deciding.items()):
            continue
        factor = constants.evaluate(weighing.operand, frame)
        if is_neutral(factor) or (isinstance(factor, Unknown) and not factor.given):
            continue
        if not _used_by_callers(frame, factor, constants, module):
            yield frame, next(iter(deciding.values())).test


def _deciding(weighing: Weighing) -> dict[Atom, ast.If | ast.IfExp]:
    """The tests on the way to the normalisation that the way to every multiplication contradicts."""
    known = switches(weighing.function)
    return {
        atom: known[atom]
        for atom in weighing.norm.path
        if atom in known and all(atom.contrary() in scale.path for scale in weighing.scales)
    }


def _holds(atom: Atom, test: ast.expr, constants: Constants, frame: Frame) -> bool:
    value = constants.truth(test, frame)
    return value is not None and atom in atoms(test, value, {})


def _used_by_callers(frame: Frame, factor: Result, constants: Constants, module: Module) -> bool:
    """Whether a function on the way multiplies by the factor or hands it to another one."""
    chain = [site.call for site in frame.sites]
    inside = {node for call in chain for node in walk(call)}
    text = ast.unparse(factor.node) if isinstance(factor, Unknown) else ""
    for site in frame.sites:
        if site.function is None:
            continue
        for node in walk(site.function.node):
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
                if any(is_factor(part, module) or ast.unparse(part) == text for part in (node.left, node.right)):
                    return True
            elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult):
                if is_factor(node.value, module) or ast.unparse(node.value) == text:
                    return True
            elif (
                isinstance(node, ast.Call)
                and node not in inside
                and _receives(node, text, module)
                and not isinstance(constants.evaluate(node, Frame(site.function)), Record)
            ):
                return True
    return False


def _receives(call: ast.Call, text: str, module: Module) -> bool:
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(is_factor(argument, module) or ast.unparse(argument) == text for argument in arguments)
