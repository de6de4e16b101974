"""MOE002."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from moelint.linter.analysis.mentions import covers, mentioning_lines
from moelint.linter.analysis.module import Class, Function, Module, terminal_name
from moelint.linter.analysis.walk import children, walk
from moelint.linter.rule import Draft, Rule
from moelint.rules._reads import is_plumbing, receiver_name
from moelint.rules._reductions import collectives, local_values

_WORDS = frozenset({"reduc"})
_QUESTION = re.compile(rb"\.\w*(reduc\w*\(|reduced)|[\"']\w*reduced")


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
        ('reduced"', "__init__", "all_reduce("),
        (".reduced", "__init__"),
        ("must_reduce", "__init__"),
        ("should_reduce", "__init__"),
        ("needs_reduc", "__init__"),
        ("_reduced", "__init__", "all_reduce("),
    )
    help = "ask at the time of the sum, for example with a property"
    roles = ("client", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        asked = [line for line, text in mentioning_lines(module.source, _WORDS) if _QUESTION.search(text)]
        if not asked:
            return
        for cls in module.classes.values():
            kept = {name: (target, question, by) for name, target, question, by in _kept(module, cls, asked)}
            if not kept:
                continue
            constructors = _constructors(cls)
            for function in cls.methods.values():
                if function in constructors:
                    continue
                bound = local_values(function)
                for call, tests in collectives(module, function.node):
                    for name in _tested(tests, bound, receiver_name(function.node)) & kept.keys():
                        target, question, constructor = kept.pop(name)
                        yield Draft(
                            target,
                            f"`self.{name}` keeps what `{ast.unparse(question)}` says while the object is built, and "
                            f"`{function.name}` sums or not by it later. The back end may be chosen in between: ask "
                            "at the time of the sum.",
                            constructor.qualname,
                            ((call, "this sum depends on the kept answer"),),
                        )


def _kept(module: Module, cls: Class, asked: list[int]) -> Iterator[tuple[str, ast.Attribute, ast.expr, Function]]:
    """Attributes that a constructor sets from a question to a collaborator: name, target, question, constructor."""
    for function in _constructors(cls) if covers(cls.node, asked) else ():
        if not covers(function.node, asked):
            continue
        receiver = receiver_name(function.node)
        for node in walk(function.node):
            if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
                continue
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Attribute) and terminal_name(target.value) == receiver:
                    question = _question(module, cls, function, node.value, receiver)
                    if question is not None:
                        yield target.attr, target, question, function


def _constructors(cls: Class) -> list[Function]:
    """The constructor, and own methods that nobody but the constructor calls."""
    named = [cls.methods[name] for name in ("__init__", "__post_init__") if name in cls.methods]
    called = {name: _own_calls(method) for name, method in cls.methods.items()}
    first = {name for method in named for name in called[method.name]}
    later = {name for caller, names in called.items() if cls.methods[caller] not in named for name in names}
    return named + [method for name, method in cls.methods.items() if name in first - later and method not in named]


def _own_calls(method: Function) -> set[str]:
    receiver = receiver_name(method.node)
    return {
        node.func.attr
        for node in walk(method.node)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == receiver
    }


def _question(module: Module, cls: Class, function: Function, value: ast.expr, receiver: str) -> ast.expr | None:
    """The part of a value that asks another object whether something is reduced."""
    parameters = {parameter.arg for parameter in function.parameters()}
    bound = local_values(function)
    for node in walk(value):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            asked, is_question = node.func, "reduc" in node.func.attr
        elif isinstance(node, ast.Attribute):
            asked, is_question = node, "reduced" in node.attr
        elif isinstance(node, ast.Call) and terminal_name(node.func) == "getattr" and _is_text(node.args[1:2]):
            key = ast.literal_eval(node.args[1])
            asked, is_question = ast.Attribute(node.args[0], key, ast.Load()), "reduced" in key
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


def _is_text(nodes: list[ast.expr]) -> bool:
    return all(isinstance(node, ast.Constant) and isinstance(node.value, str) for node in nodes) and bool(nodes)


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
        stack.extend(children(node))
    return found
