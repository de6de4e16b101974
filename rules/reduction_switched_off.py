"""MOE003."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.mentions import mentions
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reductions import Tests, collectives, local_values

_SWITCH = re.compile(r"(enable_?|do_?|needs?_?|with_?|final_?)?all_?reduce|reduce_(results?|outputs?)|must_reduce\w*")
_LAYOUT = re.compile(r"(attention|attn)_?dp|dp_?attention|(tp|ep|dp|world)_size|world_size")
_WORDS = frozenset({"reduce"})
_EXPERTS = ("moe", "expert", "mlp", "ffn")


class ReductionSwitchedOff(Rule):
    """Reports a literal that switches the sum over ranks off where another layout still needs it.

    ## What it does
    Looks for `enable_allreduce=False`, `reduce_results=False` and the like in the function that runs the experts, and
    reports the literal if a collective of the same function stands under that switch, or if the function knows more
    than one parallel layout and sums nowhere.

    ## Why is this bad?
    Without a sum the output is right in one layout only, for example under attention data parallelism. In every
    other layout each rank goes on with its own part, and a draft model or a router hides the damage.

    ## Example
    ```python
    def draft_stage(x, experts, attention_dp):
        params = dict(enable_allreduce=False)
        y = experts(x)
        return all_reduce(y) if params["enable_allreduce"] else y
    ```

    ## Use instead
    ```python
    def draft_stage(x, experts, attention_dp):
        params = dict(enable_allreduce=not attention_dp and world_size() > 1)
        y = experts(x)
        return all_reduce(y) if params["enable_allreduce"] else y
    ```

    ## Limits
    A constructor may leave the sum to its caller, so literals in `__init__` and in functions that sum afterwards are
    not reported.
    """

    code = "MOE003"
    family = "reduction"
    tokens = (
        ("reduce=False",),
        ("reduce = False",),
        ('reduce": False',),
        ("reduce_results = False",),
        ("reduce_results=False", "experts(", "attention_dp"),
        ("reduce_results=False", "experts(", "attn_dp"),
    )
    help = "compute the switch from the parallel layout"
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for function in module.functions:
            if function.name == "__init__" or function.outer is not None:
                continue
            if not mentions(module, function.node, _WORDS) or b"False" not in module.source.segment(function.node):
                continue
            switches = list(_switches(function))
            if not switches:
                continue
            guarded = list(collectives(module, function.node))
            for name, literal, user in switches:
                dead = next((call for call, tests in guarded if _is_only_tested(function, name, tests)), None)
                if dead is not None and sum(other == name for other, _, _ in switches) == _bindings(function, name):
                    reason = "the sum below it can never run"
                    related = ((dead, "this sum stands under the switch"),)
                elif user is not None and not guarded and _knows_layouts(function, literal, user):
                    reason = "this function knows layouts in which the result is still partial and sums nowhere"
                    related = ((user, "the partial result is made here"),)
                else:
                    continue
                yield Draft(
                    literal,
                    f"`{name}` is switched off by a literal, so {reason}. Compute it from the parallel layout.",
                    function.qualname,
                    related,
                )


def _switches(function: Function) -> Iterator[tuple[str, ast.expr, ast.Call | None]]:
    """Reduction switches that a literal sets to False: name, literal, the call of the experts it is handed to."""
    for node in walk(function.node):
        if isinstance(node, ast.Call):
            for keyword in node.keywords:
                if keyword.arg and _SWITCH.fullmatch(keyword.arg) and _is_false(keyword.value):
                    yield keyword.arg, keyword.value, _experts_call(function, node)
        elif isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if isinstance(key, ast.Constant) and _is_switch(key.value) and _is_false(value):
                    yield str(key.value), value, None
        elif isinstance(node, ast.Assign) and _is_false(node.value):
            for target in node.targets:
                if _SWITCH.fullmatch(_name(target)):
                    yield _name(target), node.value, None


def _experts_call(function: Function, inner: ast.Call) -> ast.Call | None:
    """The call of experts that `inner` is, or is an argument of, also by a local name."""
    names = {name for name, values in local_values(function).items() if any(value is inner for value in values)}
    for node in walk(function.node):
        if (
            isinstance(node, ast.Call)
            and any(word in ast.unparse(node.func).lower() for word in _EXPERTS)
            and not terminal_name(node.func)[:1].isupper()
            and any(part is inner or (isinstance(part, ast.Name) and part.id in names) for part in walk(node))
        ):
            return node
    return None


def _bindings(function: Function, name: str) -> int:
    """How often the function gives a switch a value."""
    count = 0
    for node in walk(function.node):
        if isinstance(node, ast.Call):
            count += sum(keyword.arg == name for keyword in node.keywords)
        elif isinstance(node, ast.Dict):
            count += sum(isinstance(key, ast.Constant) and key.value == name for key in node.keys)
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            count += sum(_name(target) == name for target in targets)
    return count


def _is_only_tested(function: Function, name: str, tests: Tests) -> bool:
    """Whether one of `tests` needs the switch to be on: it, or its negation before an early return."""
    if any(parameter.arg == name for parameter in function.parameters()):
        return False
    bound = local_values(function)
    for test in tests:
        parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
        for part in parts:
            switch = part.operand if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) else part
            aliased = bound.get(switch.id, []) if isinstance(switch, ast.Name) else []
            if _name(switch) == name or [_name(value) for value in aliased] == [name]:
                return True
    return False


def _knows_layouts(function: Function, literal: ast.expr, user: ast.Call) -> bool:
    """Whether the function tests a parallel layout, but not around the literal, and reduces nothing behind it."""
    tested = False
    for node in walk(function.node):
        if isinstance(node, ast.Call) and "reduce" in terminal_name(node.func).lower() and node.lineno >= user.lineno:
            if not any(part is literal for part in walk(node)):
                return False
        elif isinstance(node, (ast.If, ast.IfExp)):
            names = (_name(part) for part in walk(node.test))
            if any(map(_LAYOUT.search, names)):
                if any(part is literal for part in walk(node)):
                    return False
                tested = True
    return tested


def _name(node: ast.AST) -> str:
    """The name of a switch: a local, an attribute, `x["name"]` or `x.get("name")`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return str(node.slice.value)
    if isinstance(node, ast.Call) and terminal_name(node.func) == "get" and node.args:
        return str(node.args[0].value) if isinstance(node.args[0], ast.Constant) else ""
    return terminal_name(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""


def _is_switch(value: object) -> bool:
    return isinstance(value, str) and _SWITCH.fullmatch(value) is not None


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
