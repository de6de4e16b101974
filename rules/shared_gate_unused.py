"""MOE806."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from moelint.linter.analysis.module import Function, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._constants import assigned

_PURE = frozenset({"sigmoid", "mul", "multiply"})
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


@dataclass(frozen=True, slots=True, eq=False)
class _Gate:
    """A computed gate: the expression, its statement, and the name that keeps it (empty: nobody does)."""

    value: ast.expr
    statement: ast.stmt
    name: str


class SharedGateUnused(Rule):
    """Reports a sigmoid gate that is computed beside a shared expert and then not used.

    ## What it does
    Finds, in a function that runs a shared expert, the sigmoid of a gate's output which is bound to a name that nobody
    reads afterwards, or thrown away as the result of a statement. A product that contains the gate counts as well. So
    does a gate that a class builds and never calls, although its own methods run the shared expert.

    ## Why is this bad?
    The shared expert is then added at full weight instead of the gate's share of it. Shapes and types are right and
    nothing fails; the output is simply too large by the shared part.

    ## Example
    ```python
    def forward(self, x):
        shared = self.shared_expert(x)
        gate = torch.sigmoid(self.shared_expert_gate(x))
        return self.experts(x) + shared
    ```

    ## Use instead
    ```python
    def forward(self, x):
        shared = self.shared_expert(x)
        gate = torch.sigmoid(self.shared_expert_gate(x))
        return self.experts(x) + shared * gate
    ```

    ## Limits
    A gate that is handed to another function counts as used, and so does one that anything in the module reads.
    """

    code = "MOE806"
    family = "router"
    tokens = (("sigmoid(", "shared_expert"), ("sigmoid(", "shared", "gate", "expert"), ("shared_expert_gate",))
    help = "multiply the shared expert's output by its gate"

    def check(self, module: Module) -> Iterable[Draft]:
        yield from _never_called(module)
        for function in module.functions:
            if function.outer is not None:
                continue
            segment = module.source.segment(function.node)
            if b"sigmoid(" not in segment or b"shared" not in segment or not _runs_shared(function):
                continue
            for gate in _gates(function):
                if gate.name and _is_read(gate, function):
                    continue
                yield Draft(
                    gate.value,
                    "This gate is computed and never used, so the shared expert beside it is added at full weight. "
                    "Multiply the shared expert's output by the gate before adding it.",
                    function.qualname,
                    statement=gate.statement,
                )


def _runs_shared(function: Function) -> bool:
    return any(
        isinstance(node, ast.Call) and "shared" in terminal_name(node.func).lower() for node in walk(function.node)
    )


def _never_called(module: Module) -> Iterator[Draft]:
    """Gates of a shared expert that a class keeps and that nothing in the module reads."""
    kept = [
        (cls, name, statement)
        for cls in module.classes.values()
        for name, statements in cls.assignments.items()
        for statement, value in zip(statements, cls.attributes[name], strict=True)
        if "shared" in name and name.endswith("gate") and isinstance(value, ast.Call)
    ]
    if not kept:
        return
    read = set(_attributes_read(module))
    for cls, name, statement in kept:
        runs = [method for method in cls.methods.values() if method.name != "__init__" and _runs_shared(method)]
        if name not in read and runs:
            yield Draft(
                statement,
                f"`{name}` is built here and nothing calls it, so the shared expert is added at full weight. Multiply "
                "the shared expert's output by the sigmoid of this gate.",
                f"{cls.qualname}.__init__",
                ((runs[0].node, "the shared expert runs here without it"),),
            )


def _attributes_read(module: Module) -> Iterator[str]:
    for node in walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            yield node.attr
        elif isinstance(node, ast.Call) and terminal_name(node.func) in ("getattr", "get_submodule"):
            yield from (str(part.value) for part in node.args if isinstance(part, ast.Constant))


def _gates(function: Function) -> Iterator[_Gate]:
    computed = {name for name, values in assigned(function).items() if any(isinstance(v, ast.Call) for v in values)}
    for statement in walk(function.node):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for name, value in _pairs(target, statement.value):
                    if _holds_gate(value, computed):
                        yield _Gate(value, statement, name)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            if isinstance(statement.target, ast.Name) and _holds_gate(statement.value, computed):
                yield _Gate(statement.value, statement, statement.target.id)
        elif isinstance(statement, ast.Expr) and _is_pure(statement.value) and _holds_gate(statement.value, computed):
            yield _Gate(statement.value, statement, "")


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, item in zip(target.elts, value.elts, strict=True):
            yield from _pairs(part, item)


def _is_pure(node: ast.expr) -> bool:
    """Whether the value of a statement is lost, and nothing else happens."""
    return isinstance(node, ast.BinOp) or (isinstance(node, ast.Call) and terminal_name(node.func) in _PURE)


def _holds_gate(value: ast.expr, computed: set[str]) -> bool:
    """Whether an expression contains the sigmoid of something that was computed from the input."""
    for node in walk(value):
        if isinstance(node, ast.Call) and terminal_name(node.func) == "sigmoid":
            inner = [*node.args, *([node.func.value] if isinstance(node.func, ast.Attribute) else [])]
            for part in (part for argument in inner for part in walk(argument)):
                if isinstance(part, ast.Call) or (isinstance(part, ast.BinOp) and isinstance(part.op, ast.MatMult)):
                    return True
                if isinstance(part, ast.Name) and part.id in computed:
                    return True
                if isinstance(part, (ast.Name, ast.Attribute)) and "gate" in terminal_name(part).lower():
                    return True
    return False


def _is_read(gate: _Gate, function: Function) -> bool:
    """Whether the name is read after the store, before it is bound anew in the same block."""
    loops = [node for node in walk(function.node) if isinstance(node, _LOOPS) and _inside(gate.statement, node)]
    block = _block_of(gate.statement, function)
    end = _end(gate.statement)
    again = min(
        (_start(other) for other in block if _start(other) >= end and _rebinds(other, gate.name)), default=(1 << 30, 0)
    )
    for node in walk(function.node):
        read = isinstance(node, ast.Name) and node.id == gate.name and isinstance(node.ctx, ast.Load)
        if read and (end <= _start(node) < again or any(_inside(node, loop) for loop in loops)):
            return True
    return False


def _rebinds(statement: ast.stmt, name: str) -> bool:
    if not isinstance(statement, ast.Assign):
        return False
    reads = any(isinstance(node, ast.Name) and node.id == name for node in walk(statement.value))
    return not reads and any(isinstance(target, ast.Name) and target.id == name for target in statement.targets)


def _block_of(statement: ast.stmt, function: Function) -> list[ast.stmt]:
    for node in walk(function.node):
        for name in ("body", "orelse", "finalbody"):
            block = getattr(node, name, None)
            if isinstance(block, list) and statement in block:
                return block
    return []


def _inside(node: ast.AST, outer: ast.AST) -> bool:
    return _start(outer) <= _start(node) and _end(node) <= _end(outer)


def _start(node: ast.AST) -> tuple[int, int]:
    return node.lineno, node.col_offset  # type: ignore[attr-defined]


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]
