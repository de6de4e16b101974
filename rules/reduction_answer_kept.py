"""MOE002."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.rule import Draft, Rule
from moelint.rules._reads import is_plumbing, receiver_name
from moelint.rules._reductions import collectives, local_values

_QUESTION = re.compile(rb"\.\w*(reduc\w*\(|reduced)")


class ReductionAnswerKept(Rule):
    """Reports an answer to "is this reduced already?" that is taken once, in a constructor, and used later.

    ## What it does
    Looks for an attribute that `__init__` sets from a question to a collaborator, such as
    `experts.output_is_reduced()` or `method.kernel.reduced`, and reports it if a test of that attribute decides
    about a collective in another method.

    ## Why is this bad?
    The answer depends on a back end that is chosen later: kernels are made after the weights are loaded, and some
    back ends decide by the number of tokens. The kept answer is then wrong, and a sum is missing or done twice.

    ## Example
    ```python
    class Runner:
        def __init__(self, method):
            self.method = method
            self.is_reduced = method.kernel is not None and method.kernel.output_is_reduced()

        def forward(self, x):
            y = self.method.apply(x)
            return y if self.is_reduced else all_reduce(y)
    ```

    ## Use instead
    ```python
    class Runner:
        def __init__(self, method):
            self.method = method

        @property
        def is_reduced(self):
            return self.method.kernel is not None and self.method.kernel.output_is_reduced()

        def forward(self, x):
            y = self.method.apply(x)
            return y if self.is_reduced else all_reduce(y)
    ```

    ## Limits
    Settings and configurations do not change and are left alone, and so is an attribute that a class of this module
    sets in its own constructor.
    """

    code = "MOE002"
    family = "reduction"
    tokens = (
        ("is_reduced", "__init__"),
        (".reduced", "__init__"),
        ("must_reduce", "__init__"),
        ("should_reduce", "__init__"),
        ("needs_reduc", "__init__"),
        ("_reduced", "__init__", "all_reduce("),
    )
    help = "ask at the time of the sum, for example with a property"
    roles = ("client", "method", "leaf")

    def check(self, module: Module) -> Iterable[Draft]:
        if not _QUESTION.search(module.source.data):
            return
        for cls in module.classes.values():
            kept = {name: found for name, *found in _kept(module, cls)}
            if not kept:
                continue
            for function in cls.methods.values():
                if function.name in ("__init__", "__post_init__"):
                    continue
                bound = local_values(function)
                for call, tests in collectives(module, function.node):
                    for name in _tested(tests, bound, receiver_name(function.node)) & kept.keys():
                        target, question = kept.pop(name)
                        yield Draft(
                            target,
                            f"`self.{name}` keeps what `{ast.unparse(question)}` says while the object is built, and "
                            f"`{function.name}` sums or not by it later. The back end may be chosen in between: ask "
                            "at the time of the sum.",
                            f"{cls.qualname}.__init__",
                            ((call, "this sum depends on the kept answer"),),
                        )


def _kept(module: Module, cls: Class) -> Iterator[tuple[str, ast.Attribute, ast.expr]]:
    """Attributes that a constructor sets from a question to a collaborator: name, target, question."""
    for name in ("__init__", "__post_init__"):
        function = cls.methods.get(name)
        if function is None or not _QUESTION.search(module.source.segment(function.node)):
            continue
        receiver = receiver_name(function.node)
        for node in ast.walk(function.node):
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute) and terminal_name(target.value) == receiver:
                    question = _question(module, cls, function, node.value, receiver)
                    if question is not None:
                        yield target.attr, target, question


def _question(module: Module, cls: Class, function: Function, value: ast.expr, receiver: str) -> ast.expr | None:
    """The part of a value that asks another object whether something is reduced."""
    parameters = {parameter.arg for parameter in function.parameters()}
    bound = local_values(function)
    for node in ast.walk(value):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked, is_question = node.func, "reduc" in node.func.attr
        elif isinstance(node, ast.Attribute):
            asked, is_question = node, "reduced" in node.attr
        else:
            continue
        chain = list(_chain(asked.value))
        root = chain[-1]
        if not is_question or not isinstance(root, ast.Name) or any(map(is_plumbing, chain)):
            continue
        if root.id == receiver:
            if len(chain) > 1 and not _is_settled(module, cls, chain[-2], asked.attr):
                return node
        elif root.id in parameters or root.id in bound:
            return node
    return None


def _chain(node: ast.expr) -> Iterator[ast.expr]:
    """`a.b.c`, `a.b`, `a` of `a.b.c`; calls and subscripts are looked through."""
    while True:
        if isinstance(node, (ast.Call, ast.Subscript)):
            node = node.func if isinstance(node, ast.Call) else node.value
            continue
        yield node
        if not isinstance(node, ast.Attribute):
            return
        node = node.value


def _is_settled(module: Module, cls: Class, holder: ast.expr, attribute: str) -> bool:
    """Whether the collaborator is of a class in this module that sets the attribute in its constructor."""
    for value in cls.attributes.get(terminal_name(holder), []):
        other = module.classes.get(terminal_name(value)) if isinstance(value, ast.Call) else None
        if other is not None and attribute in other.attributes:
            return True
    return False


def _tested(tests: Iterable[ast.expr], bound: dict[str, list[ast.expr]], receiver: str) -> set[str]:
    """The own attributes that tests look at, through local names."""
    found: set[str] = set()
    seen: set[str] = set()
    stack: list[ast.AST] = [*tests]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == receiver:
            found.add(node.attr)
        elif isinstance(node, ast.Name) and node.id not in seen:
            seen.add(node.id)
            stack.extend(bound.get(node.id, ()))
        stack.extend(ast.iter_child_nodes(node))
    return found
