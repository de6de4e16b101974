"""Router facts: one abstract walk per function that follows scores from the score function to the combine weights.

The walk knows which tensor carries a selection bias and under which tests, which values a top-k has picked, where
weights are divided by their sum and where they are multiplied. Calls into the same module are followed.
"""

from __future__ import annotations

import ast
import re
from dataclasses import replace
from functools import lru_cache

from moelint.linter.analysis.module import Function, Module, dotted_name, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.rules import _router_words as words
from moelint.rules._calls import Calls, bind, calls_of
from moelint.rules._conditions import EMPTY, Path, atoms, feasible, test_aliases
from moelint.rules._router_entries import entries_of
from moelint.rules._router_eval import Expressions
from moelint.rules._router_operations import is_number
from moelint.rules._router_values import Code, Index, Leak, Number, Picks, RouterFacts, Row, Step, Tensor, Value, merge

_FOLLOWED = re.compile(
    rb"topk|top_k|softmax|sigmoid|softplus|gather|take_along|bias|statics|correction|norm|scor|scal|factor|\.sum\("
)
_DEPTH = 4


@lru_cache(maxsize=2)
def router_facts(module: Module) -> RouterFacts:
    """The facts of every function of `module` that picks, sums or scores something."""
    facts = RouterFacts()
    calls = calls_of(module)
    memo: dict[Function, Value | None] = {}
    for function in entries_of(module, calls):
        _Walk(module, facts, calls, function, {}, memo).run()
    return facts


class _Walk(Expressions):
    """The walk over one function. Without a `caller`, nothing is known of its arguments."""

    def __init__(
        self, module: Module, facts: RouterFacts, calls: Calls, function: Function, env: dict[str, Value],
        memo: dict[Function, Value | None], caller: _Walk | None = None, call: ast.Call | None = None,
    ) -> None:  # fmt: skip
        self.module = module
        self.facts = facts
        self.calls = calls
        self.function = function
        self.env = env
        self.unbound: dict[str, Value] = {}
        self.memo = memo
        self.caller = caller
        self.call = call
        self.depth: int = caller.depth + 1 if caller is not None else 0
        self.path: Path = caller.path if caller is not None else EMPTY
        self.tests: dict[str, ast.expr] = {}
        self.statement: ast.stmt = function.node
        self.returned: list[Value] = []
        self.locals = bound_names(function)
        self._rebinds = "jax" in module.imports and "torch" not in module.imports

    def run(self) -> Value | None:
        """Walk the body; the merged return value."""
        if self.depth == 0:
            for parameter, argument, around in self.calls.arguments(self.function):
                if isinstance(argument, ast.Lambda):
                    self.env.setdefault(parameter, Code(argument, around or self.function, {}))
        for named, default in self.function.defaults():
            if is_number(default):
                self.env.setdefault(named.arg, Number())
        self._block(self.function.node.body)
        result: Value | None = None
        for value in self.returned:
            result = value if result is None else merge(result, value)
        return result

    # What the evaluator reports.

    def use(self, value: Value | None, node: ast.AST, how: str) -> None:
        tensor = value.values if isinstance(value, Picks) else value
        if not isinstance(tensor, Tensor) or tensor.pick is None or tensor.bias is None:
            return
        if feasible(tensor.bias.path | self.path):
            self.facts.leaks.append(Leak(tensor.pick, tensor.bias.node, node, how))

    def scaled(self, tensor: Tensor, operand: ast.expr, node: ast.AST) -> None:
        self._note(self.facts.products, node, tensor, operand)
        name = terminal_name(words.stripped(operand))
        if name in self.module.profile.factor or words.is_factor_name(name):
            self.use(tensor, node, "scaled")

    def normalised(self, tensor: Tensor, node: ast.AST) -> Tensor:
        self.use(tensor, node, "normalised")
        self._note(self.facts.norms, node, tensor, None)
        return replace(tensor.copy(), normed=True)

    def _note(self, steps: list[Step], node: ast.AST, tensor: Tensor, operand: ast.expr | None) -> None:
        """Note a step; one that a called helper always takes counts as a step of the call."""
        if self.caller is None:
            steps.append(Step(node, self.statement, self.function, self.path, tensor, operand))
        elif self.caller.caller is None and self.call is not None and self.path == self.caller.path:
            if operand is not None:
                operand = bind(self.function, self.call).get(terminal_name(operand))
                if operand is None:
                    return
            around = self.caller
            steps.append(Step(self.call, around.statement, around.function, around.path, tensor, operand))

    def mutate(self, cell: int, value: Tensor) -> None:
        for name, known in {**self.unbound, **self.env}.items():
            if isinstance(known, Tensor) and known.cell == cell:
                self.env[name] = replace(value, cell=cell)

    def run_code(self, code: Code, node: ast.Call, arguments: dict[str, Value]) -> Value | None:
        if self.depth >= _DEPTH:
            return None
        env = {**code.env, **arguments}
        inner = _Walk(self.module, self.facts, self.calls, code.function, env, self.memo, self, node)
        if isinstance(code.node, ast.Lambda):
            inner.locals |= {argument.arg for argument in code.node.args.args}
            return inner.eval(code.node.body)
        known = any(not isinstance(value, Tensor) or not value.plain for value in env.values())
        if not known:
            if self.depth > 0 and code.function in self.memo:
                return self.memo[code.function]
            self.memo.setdefault(code.function, None)
            if not _FOLLOWED.search(self.module.source.segment(code.node)):
                return None
        result = inner.run()
        if not known:
            self.memo[code.function] = result
        return result

    # Statements. Each returns whether control cannot go on after it.

    def _block(self, body: list[ast.stmt]) -> bool:
        return any(self._visit(statement) for statement in body)

    def _visit(self, statement: ast.stmt) -> bool:
        self.statement = statement
        if isinstance(statement, ast.Assign):
            self._assign(statement.targets, statement.value)
            self.tests.update(test_aliases(statement))
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign([statement.target], statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement)
        elif isinstance(statement, ast.Expr):
            self.eval(statement.value)
        elif isinstance(statement, ast.Return):
            self._return(statement)
            return True
        elif isinstance(statement, (ast.Raise, ast.Continue, ast.Break)):
            return True
        elif isinstance(statement, ast.If):
            return self._if(statement)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self._bind(statement.target, None)
            self._maybe([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.While):
            self._maybe([*statement.body, *statement.orelse])
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            return self._block(statement.body)
        elif isinstance(statement, ast.Try):
            ended = self._block([*statement.body, *statement.orelse])
            for handler in statement.handlers:
                self._maybe(handler.body)
            return self._block(statement.finalbody) or (ended and not statement.handlers)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                self._maybe(case.body)
        elif isinstance(statement, ast.Assert):
            self.path = self.path | atoms(statement.test, True, self.tests)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            nested = self.calls.function_of(statement)
            if nested is not None:
                self.env[statement.name] = Code(statement, nested, self.env)
        return False

    def _maybe(self, body: list[ast.stmt]) -> None:
        """A body that may run or not, under no known test."""
        before, path = dict(self.env), self.path
        self._block(body)
        self.env, self.path = _merged(before, self.env, EMPTY, EMPTY), path

    def _if(self, statement: ast.If) -> bool:
        self.eval(statement.test)
        before, path = self.env, self.path
        then, other = atoms(statement.test, True, self.tests), atoms(statement.test, False, self.tests)
        env_then, ended_then = self._branch(statement.body, before, path | then)
        env_other, ended_other = self._branch(statement.orelse, before, path | other)
        self.path = path
        if ended_then and ended_other:
            return True
        if ended_then:
            self.env, self.path = env_other, path | other
        elif ended_other:
            self.env, self.path = env_then, path | then
        else:
            self.env = _merged(env_then, env_other, then, other)
        return False

    def _branch(self, body: list[ast.stmt], env: dict[str, Value], path: Path) -> tuple[dict[str, Value], bool]:
        """Walk a branch, unless it cannot be reached."""
        if not feasible(path):
            return env, True
        self.env, self.path = dict(env), path
        ended = self._block(body)
        return self.env, ended

    def _return(self, statement: ast.Return) -> None:
        value = self.eval(statement.value) if statement.value is not None else None
        if value is None:
            return
        self.returned.append(value)
        if self.depth > 0:
            return
        items = value.items if isinstance(value, Row) else (value,)
        certain = isinstance(value, (Row, Picks)) or not self.calls.of(self.function)
        for item in items:
            if certain or (isinstance(item, Tensor) and item.normed):
                self.use(item, statement, "returned")

    def _assign(self, targets: list[ast.expr], value_node: ast.expr) -> None:
        value = self.eval(value_node)
        for target in targets:
            if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value_node, ast.Tuple):
                self._bind(target, value if isinstance(value, Row) else None)
            else:
                self._bind(target, value)

    def _bind(self, target: ast.expr, value: Value | None) -> None:
        key = dotted_name(target)
        if key:
            self.env[key] = value if value is not None else Tensor()
            if isinstance(target, ast.Attribute) and words.hints_weights(target.attr):
                self.use(value, self.statement, "stored as weights")
        elif isinstance(target, (ast.Tuple, ast.List)):
            parts: tuple[Value | None, ...] = (None,) * len(target.elts)
            if isinstance(value, Picks) and len(target.elts) == 2:
                parts = (value.values, Index())
            elif isinstance(value, Row) and len(value.items) == len(target.elts):
                parts = value.items
            for part, item in zip(target.elts, parts, strict=True):
                self._bind(part, item)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, None)
        elif isinstance(target, ast.Subscript):
            self.eval(target.slice)
            if words.hints_weights(terminal_name(target.value)):
                self.use(value, self.statement, "stored as weights")

    def _augmented(self, statement: ast.AugAssign) -> None:
        left, right = self.eval(statement.target), self.eval(statement.value)
        result = self.arithmetic(statement.op, left, right, statement.target, statement.value, statement)
        key = dotted_name(statement.target)
        if isinstance(left, Tensor) and isinstance(result, Tensor) and not self._rebinds and key:
            self.mutate(left.cell, result)
        elif key and result is not None:
            self.env[key] = result


def _merged(a: dict[str, Value], b: dict[str, Value], path_a: Path, path_b: Path) -> dict[str, Value]:
    merged: dict[str, Value] = {}
    for name in a.keys() | b.keys():
        value = merge(a.get(name), b.get(name), path_a, path_b)
        if value is not None:
            merged[name] = value
    return merged


@lru_cache(maxsize=256)
def bound_names(function: Function) -> frozenset[str]:
    """Names that the function or one around it binds."""
    names: set[str] = set()
    scope: Function | None = function
    while scope is not None:
        args = scope.node.args
        names.update(parameter.arg for parameter in scope.parameters())
        names.update(extra.arg for extra in (args.vararg, args.kwarg) if extra is not None)
        names.update(
            node.id for node in walk(scope.node) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        )
        scope = scope.outer
    return frozenset(names)
