"""MOE001."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reductions import collectives, is_reduce_helper, local_values, only_counts_ranks

_KEEPS_PARTIAL = re.compile(r"reduce")
_DEPTH = 5


class ExpertsReducedBare(Rule):
    """Reports a bare collective on the experts' result where only the experts know whether a sum is owed.

    ## What it does
    Follows the operand of an all-reduce back to the call of an experts object, and reports the collective if the
    experts have a helper for it, here or at another call in the module, or if they were told to leave the sum out
    while their own back end may have done it, and nothing but the group size is asked.

    ## Why is this bad?
    Some back ends combine over the ranks themselves. The bare collective then sums complete copies, and the output
    is as many times too large as there are ranks, only with that back end.

    ## Example
    ```python
    class Block:
        def __init__(self, config):
            self.experts = FusedMoE(config.num_experts, reduce_results=False)

        def forward(self, x, logits):
            y = self.experts(x, logits)
            if self.tp_size > 1:
                y = tensor_model_parallel_all_reduce(y)
            return y
    ```

    ## Use instead
    ```python
    class Block:
        def __init__(self, config):
            self.experts = FusedMoE(config.num_experts, reduce_results=False)

        def forward(self, x, logits):
            y = self.experts(x, logits)
            if self.tp_size > 1:
                y = self.experts.maybe_all_reduce_tensor_model_parallel(y)
            return y
    ```

    ## Limits
    Objects are followed within one module; being told to leave the sum out counts only in frameworks that are known to
    have helpers for it. A collective under a test of anything else than a group size is taken
    for a decision that somebody made.
    """

    code = "MOE001"
    family = "reduction"
    tokens = (
        ("all_reduce(", "@experts", "maybe_all_reduce"),
        ("all_reduce(", "@experts", "maybe_reduce"),
        ("all_reduce(", "@experts", "reduce_results"),
        ("@collectives", "@experts", "@reduce_helpers"),
    )
    help = "let the experts' own helper decide whether a sum is still owed"
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        bare = [
            (function, call, made)
            for function in module.functions
            for call, tests in collectives(module, function.node)
            if call.args and all(map(only_counts_ranks, tests))
            for made in _object_calls(function, call.args[0])
        ]
        if not bare:
            return
        evidence = _Evidence(module)
        reported: set[ast.Call] = set()
        for function, call, made in bare:
            reason = evidence.about(made, function) if call not in reported else ""
            if reason:
                reported.add(call)
                yield Draft(
                    call,
                    f"`{ast.unparse(call.func)}` sums the result of `{ast.unparse(made.func)}` whatever the experts "
                    f"did: {reason}. Ask them, so that complete results are not added up once more.",
                    function.qualname,
                    ((made, "the summed value is made here"),),
                )


def _object_calls(function: Function, operand: ast.expr) -> Iterator[ast.Call]:
    """The calls of objects that the operand of a collective comes from."""
    bound = local_values(function)
    objects = {parameter.arg for parameter in function.parameters()} | bound.keys()
    stack = [(operand, _DEPTH)]
    while stack:
        node, depth = stack.pop()
        if isinstance(node, ast.Call):
            owner = node.func.value if isinstance(node.func, ast.Attribute) else None
            if terminal_name(node.func) in objects if owner is None else terminal_name(owner) == "self":
                yield node
            elif owner is not None:
                stack.append((owner, depth))
        elif isinstance(node, ast.BinOp):
            stack += [(node.left, depth), (node.right, depth)]
        elif isinstance(node, ast.Name) and depth:
            stack += [(value, depth - 1) for value in bound.get(node.id, ())]


class _Evidence:
    """Why an object is known to decide about its own sum."""

    def __init__(self, module: Module) -> None:
        self.module = module
        callables = [cls for cls in module.classes.values() if {"__call__", "forward"} & cls.methods.keys()]
        self.helpers = {cls.name: name for cls in callables for name in cls.methods if is_reduce_helper(module, name)}
        self.undecided = {cls.name for cls in callables if _may_have_reduced(cls)}
        self.asked = {
            node.func.attr
            for node in walk(module.tree)
            if isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and is_reduce_helper(module, node.func.attr)
            and terminal_name(node.func.value) in module.profile.experts
        }

    def about(self, call: ast.Call, function: Function) -> str:
        """The reason, in words; empty if there is none."""
        classes = {terminal_name(value.func) for value in self._makers(call, function)}
        named = terminal_name(call.func) in self.module.profile.experts
        for cls, helper in self.helpers.items():
            if cls in classes or (named and not classes & self.module.classes.keys()):
                return f"their `{helper}` knows whether a sum is still owed"
        if named and self.asked:
            return f"elsewhere in this module their `{min(self.asked)}` decides"
        if classes & self.undecided or (named and not classes and self.undecided):
            return "they leave the sum out or have done it already, depending on their own state"
        for value in self._makers(call, function) if self.module.profile.reduce_helpers else ():
            if named and any(
                keyword.arg and _KEEPS_PARTIAL.search(keyword.arg) and _is_false(keyword.value)
                for keyword in value.keywords
            ):
                return "they leave the sum to the caller, but a back end that combines over ranks has done it already"
        return ""

    def _makers(self, call: ast.Call, function: Function) -> list[ast.Call]:
        """The constructor calls that may have made the called object."""
        name = terminal_name(call.func)
        values: list[ast.expr] = []
        if isinstance(call.func, ast.Attribute) and function.cls is not None:
            for cls in self.module.ancestry(function.cls):
                values += cls.attributes.get(name, [])
        else:
            values += [default for parameter, default in function.defaults() if parameter.arg == name]
            values += local_values(function).get(name, [])
            values += [
                ast.Call(parameter.annotation, [], [])
                for parameter in function.parameters()
                if parameter.arg == name and isinstance(parameter.annotation, ast.Name)
            ]
        return [value for value in values if isinstance(value, ast.Call)]


def _may_have_reduced(cls: Class) -> bool:
    """Whether a class says that it leaves the sum out, and makes its result depend on its own state."""
    left_out = any(
        _KEEPS_PARTIAL.search(name) and any(map(_is_false, values)) for name, values in cls.attributes.items()
    )
    call = cls.methods.get("__call__") or cls.methods.get("forward")
    return (
        left_out
        and call is not None
        and any(
            isinstance(node, (ast.If, ast.IfExp))
            and any(isinstance(part, ast.Name) and part.id == "self" for part in walk(node.test))
            for node in walk(call.node)
        )
    )


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
