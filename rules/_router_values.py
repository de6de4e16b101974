"""Abstract values of router code: scores, top-k results, sums, selection biases; and their merge after branches."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from moelint.linter.analysis.module import Function
from moelint.rules import _router_words as words
from moelint.rules._conditions import EMPTY, Path

_cells = count()


@dataclass(frozen=True, slots=True, eq=False)
class Bias:
    """An addition of a selection bias, and the tests under which the tensor at hand went through it."""

    node: ast.AST
    path: Path


@dataclass(frozen=True, slots=True, eq=False)
class Pick:
    """A selection: top-k values, a gather, an indexing with chosen ids."""

    node: ast.expr
    function: Function
    single: bool = False
    """Exactly one expert is chosen, by a literal."""


@dataclass(frozen=True, slots=True, eq=False)
class Tensor:
    """A tensor. Equal `cell`: shared storage. Equal `line`: the same values up to scaling and shape."""

    cell: int = field(default_factory=lambda: next(_cells))
    line: int = field(default_factory=lambda: next(_cells))
    scores: frozenset[str] = frozenset()
    """The score functions it went through; `named` where only its name says that it did."""
    bias: Bias | None = None
    pick: Pick | None = None
    normed: bool = False

    def copy(self) -> Tensor:
        return replace(self, cell=next(_cells))

    @property
    def plain(self) -> bool:
        """Nothing is known of it."""
        return not self.scores and self.bias is None and self.pick is None


@dataclass(frozen=True, slots=True, eq=False)
class Addend:
    """A selection bias. `strong`: its name leaves no doubt."""

    strong: bool


@dataclass(frozen=True, slots=True, eq=False)
class Picks:
    """A pair (values, indices)."""

    values: Tensor


@dataclass(frozen=True, slots=True, eq=False)
class Index:
    """Expert ids."""


@dataclass(frozen=True, slots=True, eq=False)
class Total:
    """A sum over a tensor."""


@dataclass(frozen=True, slots=True, eq=False)
class Number:
    """A scalar that is no tensor."""


@dataclass(frozen=True, slots=True, eq=False)
class Row:
    """A tuple or a list."""

    items: tuple[Value, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """A callable whose body is known."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    function: Function
    """The function itself, or the one around a lambda."""
    env: Mapping[str, Value]
    bound: bool = False


Value = Tensor | Addend | Picks | Index | Total | Number | Row | Code


@dataclass(frozen=True, slots=True, eq=False)
class Leak:
    """Picked values that carry a selection bias are used as weights."""

    pick: Pick
    bias: ast.AST
    use: ast.AST
    how: str


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """A division of weights by their sum, or a multiplication of a tensor by `operand`."""

    node: ast.AST
    statement: ast.stmt
    function: Function
    path: Path
    tensor: Tensor
    operand: ast.expr | None = None


@dataclass(slots=True)
class RouterFacts:
    leaks: list[Leak] = field(default_factory=list)
    norms: list[Step] = field(default_factory=list)
    products: list[Step] = field(default_factory=list)


def named(name: str) -> Value:
    """What an unbound name stands for."""
    if words.is_bias_name(name):
        return Addend(words.is_selection_bias(name))
    return Tensor(scores=frozenset({"named"}) if words.is_score_name(name) else frozenset())


def merge(a: Value | None, b: Value | None, path_a: Path = EMPTY, path_b: Path = EMPTY) -> Value | None:
    """The value after two branches. A bias of one branch holds under that branch's tests only."""
    if a is None or b is None or a is b:
        known, path = (a, path_a) if a is not None else (b, path_b)
        return _under(known, path) if a is not b and isinstance(known, Tensor) else known
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        return _merge_tensors(a, b, path_a, path_b)
    if isinstance(a, Picks) and isinstance(b, Picks):
        return Picks(_merge_tensors(a.values, b.values, path_a, path_b))
    if isinstance(a, Row) and isinstance(b, Row) and len(a.items) == len(b.items):
        merged = [merge(x, y, path_a, path_b) for x, y in zip(a.items, b.items, strict=True)]
        return Row(tuple(item for item in merged if item is not None))
    if isinstance(a, Tensor) and (not a.plain or not isinstance(b, (Tensor, Total))):
        return _under(a, path_a)
    return _under(b, path_b) if isinstance(b, Tensor) else b


def _under(value: Value | None, path: Path) -> Value | None:
    if isinstance(value, Tensor) and value.bias is not None:
        return replace(value, bias=Bias(value.bias.node, value.bias.path | path))
    return value


def _merge_tensors(a: Tensor, b: Tensor, path_a: Path, path_b: Path) -> Tensor:
    bias: Bias | None
    if a.bias is not None and b.bias is not None:
        bias = Bias(a.bias.node, a.bias.path & b.bias.path)
    elif a.bias is not None:
        bias = Bias(a.bias.node, a.bias.path | path_a) if a.pick is not None or b.pick is None else None
    elif b.bias is not None:
        bias = Bias(b.bias.node, b.bias.path | path_b) if b.pick is not None or a.pick is None else None
    else:
        bias = None
    if bias is not None:
        first = a if bias.node is (a.bias and a.bias.node) else b
    else:
        first = a if a.pick is not None or b.pick is None else b
    same = a.cell == b.cell
    return Tensor(
        cell=a.cell if same else next(_cells),
        line=first.line,
        scores=a.scores | b.scores,
        bias=bias,
        pick=first.pick or a.pick or b.pick,
        normed=a.normed and b.normed,
    )
