"""Arithmetic over the abstract values of router code, and what an evaluator reports on the way."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from dataclasses import replace

from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.rules import _router_words as words
from moelint.rules._calls import Calls
from moelint.rules._conditions import Path
from moelint.rules._router_values import Addend, Bias, Code, Index, Number, Pick, Picks, Tensor, Total, Value


class Arithmetic(ABC):
    """Sums, products and quotients. What happens to the reports is up to the walk that derives from it."""

    module: Module
    calls: Calls
    function: Function
    env: dict[str, Value]
    unbound: dict[str, Value]
    """What names stand for that nothing in the function has bound yet."""
    path: Path
    tests: dict[str, ast.expr]
    locals: frozenset[str]

    @abstractmethod
    def use(self, value: Value | None, node: ast.AST, how: str) -> None:
        """A value is used as combine weights."""

    @abstractmethod
    def scaled(self, tensor: Tensor, operand: ast.expr, node: ast.AST) -> None:
        """A tensor is multiplied by `operand`."""

    @abstractmethod
    def normalised(self, tensor: Tensor, node: ast.AST) -> Tensor:
        """A tensor is divided by a sum."""

    @abstractmethod
    def run_code(self, code: Code, node: ast.Call, arguments: dict[str, Value]) -> Value | None:
        """The value of a call whose body is known."""

    @abstractmethod
    def mutate(self, cell: int, value: Tensor) -> None:
        """An operation in place: every name of the same storage sees it."""

    def arithmetic(
        self, op: ast.operator, left: Value | None, right: Value | None, left_node: ast.expr, right_node: ast.expr,
        node: ast.AST,
    ) -> Value | None:  # fmt: skip
        """The value of `left op right`."""
        left = left.values if isinstance(left, Picks) else left
        right = right.values if isinstance(right, Picks) else right
        if isinstance(op, (ast.Add, ast.Sub)):
            return self._sum(left, right, left_node, right_node, node, isinstance(op, ast.Sub))
        if isinstance(op, ast.Mult):
            return self._product(left, right, left_node, right_node, node)
        if isinstance(op, ast.MatMult):
            self.use(left, node, "summed up over the experts")
            self.use(right, node, "summed up over the experts")
            return None
        if isinstance(op, ast.Div) and isinstance(left, Tensor) and isinstance(right, Total):
            return self.normalised(left, node)
        return left.copy() if isinstance(left, Tensor) else left

    def _sum(
        self, left: Value | None, right: Value | None, left_node: ast.expr, right_node: ast.expr, node: ast.AST,
        minus: bool,
    ) -> Value | None:  # fmt: skip
        if isinstance(left, Total) or isinstance(right, Total):
            if minus and isinstance(left, Tensor):
                return self.normalised(left, node)
            return left if isinstance(left, Total) else right
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            for main, other, operand in ((left, right, right_node), (right, left, left_node)):
                if other.plain and not minus and _takes_bias(main, operand):
                    return self.biased(main, node)
            return (right if left.plain else left).copy()
        tensor, addend = (left, right) if isinstance(left, Tensor) else (right, left)
        if not isinstance(tensor, Tensor):
            return left if isinstance(left, (Addend, Number)) else None
        if addend is None or isinstance(addend, Index):
            operand = right_node if tensor is left else left_node
            return self.biased(tensor, node) if not minus and _takes_bias(tensor, operand) else tensor.copy()
        if isinstance(addend, Addend):
            if minus and tensor.bias is not None:
                return replace(tensor.copy(), bias=None)
            if tensor.scores or addend.strong:
                return self.biased(tensor, node)
        return tensor.copy()

    def biased(self, tensor: Tensor, node: ast.AST) -> Tensor:
        return replace(tensor.copy(), bias=Bias(node, self.path))

    def _product(
        self, left: Value | None, right: Value | None, left_node: ast.expr, right_node: ast.expr, node: ast.AST
    ) -> Value | None:
        if isinstance(left, Total) or isinstance(right, Total):
            return left if isinstance(left, Total) else right
        for tensor, other, operand in ((left, right, right_node), (right, left, left_node)):
            if isinstance(tensor, Tensor) and isinstance(other, Index) and isinstance(node, ast.expr):
                return self.picked(tensor, node)
            if tensor is None or isinstance(tensor, Tensor):
                self.scaled(tensor or Tensor(), operand, node)
        if isinstance(left, Tensor) and isinstance(right, Tensor):
            swap = left.plain and (not right.plain or words.is_factor_name(terminal_name(left_node)))
            return (right if swap else left).copy()
        value = left if isinstance(left, Tensor) else right
        return value.copy() if isinstance(value, Tensor) else value

    def picked(self, tensor: Tensor, node: ast.expr, single: bool = False) -> Tensor:
        return replace(tensor.copy(), line=Tensor().line, pick=Pick(node, self.function, single), normed=False)


def _takes_bias(tensor: Tensor, operand: ast.expr) -> bool:
    """Whether adding an operand of no telling name to a tensor makes selection scores of it."""
    return bool(tensor.scores - {"named"}) and tensor.pick is None and words.may_be_bias(operand)
