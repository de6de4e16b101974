"""Tensor operations, by name, over the abstract values of router code."""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace

from moelint.linter.analysis.module import dotted_name, terminal_name
from moelint.rules import _router_words as words
from moelint.rules._router_arithmetic import Arithmetic
from moelint.rules._router_values import Addend, Index, Picks, Row, Tensor, Total, Value, merge


@dataclass(frozen=True, slots=True, eq=False)
class Operands:
    """A call, taken apart: the tensor it is about (receiver or first argument) and the rest."""

    node: ast.Call
    name: str
    subject: Value | None
    rest: tuple[tuple[ast.expr, Value | None], ...]
    keywords: dict[str, Value | None]

    @property
    def tensor(self) -> Tensor | None:
        return self.subject if isinstance(self.subject, Tensor) else None


class Operations(Arithmetic):
    """The value of a call whose body is not known."""

    def operation(self, call: Operands) -> Value | None:
        """What the call yields; None where nothing is known of it."""
        name, tensor = call.name, call.tensor
        if words.is_score_function(name):
            known = tensor or Tensor()
            after_choice = "softmax" in name and known.pick is not None
            scores = known.scores - {"named"} | {name.strip("_")}
            return replace(known.copy(), scores=scores, normed=known.normed or after_choice)
        if name in words.TOPK or (name in ("max", "min") and _has_axis(call)):
            return Picks(self.picked(tensor or Tensor(), call.node, _chooses_one(call)))
        if name in words.GATHER:
            return self.picked(tensor or Tensor(), call.node)
        if name in words.INDEX:
            return Index()
        if name in words.SUM:
            return Total()
        if name in words.ARITHMETIC:
            return self._arithmetic_call(call)
        if name in words.SCATTER:
            return self._scattered(call)
        if name in words.MATMUL:
            for value in (call.subject, *(value for _, value in call.rest), *call.keywords.values()):
                self.use(value, call.node, "summed up over the experts")
            return None
        if name in words.REDUCE:
            return None
        if name == "copy_":
            return self._stored(call)
        if name in words.VIEW:
            return call.subject
        if name in words.COPY or name in words.IN_PLACE:
            return self._copied(call)
        if tensor is not None and words.is_normaliser(name) and (not tensor.plain or "p" in call.keywords):
            return self.normalised(tensor, call.node)
        if tensor is not None and words.is_bias_name(name):
            return self.biased(tensor, call.node)
        self._consumed(call)
        return None

    def _arithmetic_call(self, call: Operands) -> Value | None:
        if not call.rest:
            return call.subject
        node, subject = call.node, call.subject
        is_method = isinstance(node.func, ast.Attribute) and len(node.args) == 1
        left = node.func.value if is_method and isinstance(node.func, ast.Attribute) else node.args[0]
        operand, value = call.rest[0]
        result = self.arithmetic(words.ARITHMETIC[call.name], subject, value, left, operand, node)
        if call.name.endswith("_") and isinstance(subject, Tensor) and isinstance(result, Tensor):
            self.mutate(subject.cell, result)
            return replace(result, cell=subject.cell)
        return result

    def _scattered(self, call: Operands) -> Value | None:
        placed = [value for _, value in call.rest] + list(call.keywords.values())
        source = next((value for value in placed if isinstance(value, Tensor) and value.pick is not None), None)
        if source is None and any(isinstance(value, Index) for value in placed):
            return self._mask(call)
        if source is None or call.tensor is None:
            return call.subject
        result = replace(source, cell=call.tensor.cell)
        if call.name.endswith("_"):
            self.mutate(result.cell, result)
        return result

    def _mask(self, call: Operands) -> Value | None:
        """Zeros with something at the chosen places: a mask over the experts."""
        key = dotted_name(call.node.func.value) if isinstance(call.node.func, ast.Attribute) else ""
        if call.name.endswith("_") and key:
            self.env[key] = Index()
        return Index()

    def _stored(self, call: Operands) -> Value | None:
        value = call.rest[0][1] if call.rest else None
        if isinstance(call.node.func, ast.Attribute) and words.hints_weights(terminal_name(call.node.func.value)):
            self.use(value, call.node, "stored as weights")
        return value

    def _copied(self, call: Operands) -> Value | None:
        subject = call.subject
        if isinstance(subject, Row):
            subject = _merged([item for item in subject.items if isinstance(item, Tensor)])
        elif call.name in ("where", "maximum", "minimum"):
            chosen = [value for _, value in call.rest if isinstance(value, (Tensor, Addend))]
            if call.name != "where" or len(chosen) < 2:
                chosen = [value for value in (subject, *chosen) if isinstance(value, (Tensor, Addend))]
            tensors = [value for value in chosen if isinstance(value, Tensor)]
            subject = _merged(tensors) if tensors else next(iter(chosen), None)
        return subject.copy() if isinstance(subject, Tensor) and call.name not in words.IN_PLACE else subject

    def _consumed(self, call: Operands) -> None:
        lowered = call.name.lower()
        handed = words.is_consumer(lowered)
        for value in (call.subject, *(value for _, value in call.rest)) if handed else ():
            self.use(value, call.node, f"handed to `{call.name}`")
        for keyword, value in call.keywords.items():
            if handed or words.hints_weights(keyword):
                self.use(value, call.node, f"handed to `{call.name}`")


def is_number(node: ast.expr | None) -> bool:
    """Whether an expression is a numeric literal, perhaps with a sign."""
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float))


def _merged(tensors: list[Tensor]) -> Value | None:
    found: Value | None = tensors[0] if tensors else None
    for tensor in tensors[1:]:
        found = merge(found, tensor)
    return found


def _has_axis(call: Operands) -> bool:
    return any(keyword in ("dim", "axis") for keyword in call.keywords) or any(is_number(part) for part, _ in call.rest)


def _chooses_one(call: Operands) -> bool:
    """Whether the literal number of chosen experts is one."""
    if call.name in ("max", "min"):
        return True
    named = next((keyword.value for keyword in call.node.keywords if keyword.arg == "k"), None)
    count = named if named is not None else call.rest[0][0] if call.rest else None
    return isinstance(count, ast.Constant) and count.value == 1
