"""Places that take a slot's weight or a fold flag, and the recording of events."""

from __future__ import annotations

import ast
import re
from abc import ABC, abstractmethod
from typing import Literal

from moelint.linter.analysis.events import AnswerGiven, Event, FlagSet, Guard, Scale, SlotWrite, Step, Value
from moelint.linter.analysis.known import Known
from moelint.linter.analysis.module import Function, terminal_name
from moelint.linter.analysis.shapes import last_columns

How = Literal["name", "column", "argument"]

_JOIN = frozenset({"cat", "concat", "concatenate", "hstack", "column_stack"})
_OVERWRITE = frozenset({"fill_", "copy_", "mul_", "multiply_", "div_", "divide_"})
_PICK = frozenset({"masked_fill", "masked_fill_", "index_fill", "index_fill_", "scatter", "scatter_"})
_COLUMN_CALLS = _JOIN | _OVERWRITE | _PICK | {"pad", "where"}
COLUMN_WRITE = re.compile(rb"\][^=\n\[\]]*=(?!=)|\b(?:%s)\s*\(" % "|".join(sorted(_COLUMN_CALLS)).encode())
"""What is in the text of every function that gives a column of a tensor a value."""
_SET_BY_NAME = frozenset({"setattr", "__setattr__", "setdefault", "__setitem__"})
_VIEW = frozenset({"to", "expand", "view", "reshape", "repeat", "unsqueeze", "contiguous", "type_as", "float", "clone"})
_NUMBER = frozenset({"tensor", "as_tensor", "float", "scalar_tensor"})
_FULL = frozenset({"new_full", "full", "full_like"})
_ONES = frozenset({"ones", "ones_like", "new_ones"})
_VIEWS = 4
"""How many local names for a part of the weights are looked through; a name may be bound to a part of itself."""


class Sinks(ABC):
    """The state of one walk, and what is recorded on it."""

    def __init__(self, known: Known, function: Function) -> None:
        self.known = known
        self.module = known.module
        self.profile = known.module.profile
        self.function = function
        self.events: list[Event] = []
        self.guards: tuple[Guard, ...] = ()
        self.statement: ast.stmt = function.node

    @abstractmethod
    def eval(self, node: ast.expr) -> Value | None:
        """The factor content of an expression; records the events of everything inside it."""

    @abstractmethod
    def text(self, node: ast.expr) -> str | None:
        """The string that an expression is, directly or through a constant of the module."""

    def scale(
        self, node: ast.AST, value: Value, scaled: ast.expr | None, power: int, in_place: bool, form: str
    ) -> None:
        guards = (*self.guards, *value.guards)
        self.events.append(
            Scale(node, self.statement, self.function, guards, value.trace, scaled, power, in_place, form)
        )

    def slot(self, node: ast.AST, value: ast.expr, how: How, target: str) -> None:
        power, trace = self._content(value)
        self.events.append(
            SlotWrite(node, self.statement, self.function, self.guards, trace, value, how, target, power)
        )

    def flag(self, node: ast.AST, value: ast.expr, name: str, call: ast.Call | None = None) -> None:
        self.events.append(FlagSet(node, self.statement, self.function, self.guards, (), value, name, call))

    def answer(self, node: ast.AST, value: ast.expr, name: str, callee: str = "") -> None:
        self.events.append(AnswerGiven(node, self.statement, self.function, self.guards, (), value, name, callee))

    def call_sinks(
        self, node: ast.Call, name: str, real_name: str, keywords: list[tuple[str | None, ast.expr]]
    ) -> None:
        """Record the flags and slot weights among the arguments of a call."""
        profile = self.profile
        sinks = profile.slot_sinks.get(real_name, ())
        for key, value in keywords:
            if key in profile.flags or key in profile.runner_flags:
                self.flag(value, value, str(key), node)
            elif key in profile.answer_names:
                self.answer(value, value, str(key), real_name or name)
            if key in profile.slot_weight or (key in sinks and key is not None):
                site = next((keyword for keyword in node.keywords if keyword.value is value), value)
                self.slot(site, value, "argument", f"{name}({key}=)")
        for argument in sinks:
            if argument.isdecimal() and int(argument) < len(node.args):
                positional = node.args[int(argument)]
                self.slot(positional, positional, "argument", f"{name}()")
        if name in _SET_BY_NAME and len(node.args) > 1:
            self.named_sinks(node, self.text(node.args[-2]), node.args[-1])
        if name in _COLUMN_CALLS:
            self._column_sinks(node, name)

    def named_sinks(self, node: ast.AST, name: str | None, value: ast.expr) -> None:
        """Record a flag, an answer or a slot's weight that is set by its name."""
        if name in self.profile.flags or name in self.profile.runner_flags:
            self.flag(node, value, str(name))
        elif name in self.profile.answer_names:
            self.answer(node, value, str(name))
        elif name in self.profile.slot_weight:
            self.slot(node, value, "name", str(name))

    def _column_sinks(self, node: ast.Call, name: str) -> None:
        """Calls that give columns, or single entries, of the top-k weights a value."""
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        if name in _OVERWRITE:
            if node.args and receiver is not None and self.is_slot_column(receiver):
                self.slot(node, self.filler(node.args[0]) or node.args[0], "column", ast.unparse(receiver))
        elif name in _JOIN:
            parts = self._joined(node)
            if len(parts) > 1 and self.is_weights(parts[0]):
                for part in parts[1:]:
                    filler = self.filler(part)
                    if filler is not None:
                        self.slot(part, filler, "column", f"{name}({ast.unparse(parts[0])}, ...)")
        elif name == "pad":
            if node.args and self.is_weights(node.args[0]):
                for value in (*node.args[3:4], *(k.value for k in node.keywords if k.arg == "value")):
                    self.slot(value, value, "column", f"pad({ast.unparse(node.args[0])})")
        elif name == "where":
            if any(map(self.is_weights, node.args)) or (receiver is not None and self.is_weights(receiver)):
                for value in node.args[1:]:
                    if not self.is_weights(value):
                        self.slot(value, value, "column", "where()")
        elif receiver is not None and self.is_weights(receiver) and len(node.args) > 1:
            self.slot(node.args[-1], node.args[-1], "column", f"{ast.unparse(receiver)}.{name}()")

    def _joined(self, node: ast.Call) -> list[ast.expr]:
        """The parts of `cat([a, b])`, through one local name."""
        given = node.args[0] if node.args else next((k.value for k in node.keywords if k.arg == "tensors"), None)
        if isinstance(given, ast.Name):
            bound = self.module.definitions(self.function).get(given.id, [])
            given = bound[0] if len(bound) == 1 else None
        return given.elts if isinstance(given, (ast.List, ast.Tuple)) else []

    def dictionary_entry(self, key: ast.expr, item: ast.expr) -> None:
        """Record a flag or a slot's weight given as an entry of a dictionary."""
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            if key.value in self.profile.flags:
                self.flag(item, item, key.value)
            elif key.value in self.profile.slot_weight:
                self.slot(item, item, "argument", repr(key.value))

    def is_weights(self, node: ast.expr) -> bool:
        """The top-k weights, some of their rows or columns, or a local name for them."""
        while isinstance(node, ast.Subscript):
            node = node.value
        name = terminal_name(node)
        if name in self.profile.topk_weights or not isinstance(node, ast.Name):
            return name in self.profile.topk_weights
        bound = self.module.definitions(self.function).get(name, [])
        return len(bound) == 1 and terminal_name(bound[0]) in self.profile.topk_weights

    def is_slot_column(self, node: ast.expr, depth: int = _VIEWS) -> bool:
        """`topk_weights[:, -1]`, `topk_weights.narrow(1, k, n)`, and a local name for one of them."""
        if isinstance(node, ast.Subscript):
            return (self.is_weights(node.value) and last_columns(node.slice)) or self._names_column(node.value, depth)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return node.func.attr in ("narrow", "select") and self.is_weights(node.func.value)
        return self._names_column(node, depth)

    def _names_column(self, node: ast.expr, depth: int) -> bool:
        if depth == 0 or not isinstance(node, ast.Name) or self.is_weights(node):
            return False
        bound = self.module.definitions(self.function).get(node.id, [])
        return len(bound) == 1 and not isinstance(bound[0], ast.Name) and self.is_slot_column(bound[0], depth - 1)

    def real_name(self, callee: ast.expr) -> str:
        """What a callee is called where it is defined: through a local alias and `import ... as`."""
        name = terminal_name(callee)
        if not isinstance(callee, ast.Name):
            return name
        if name not in self.module.imports:
            for bound in self.module.definitions(self.function).get(name, ()):
                if terminal_name(bound) not in ("", name):
                    return terminal_name(bound)
        return self.module.real_name(callee)

    def filler(self, node: ast.expr) -> ast.expr | None:
        """The value that `new_full`, `full`, `ones` ... puts into a column, through one local name."""
        if isinstance(node, ast.Name):
            bound = self.module.definitions(self.function).get(node.id, [])
            return self.filler(bound[-1]) if bound and not isinstance(bound[-1], ast.Name) else None
        if isinstance(node, ast.Call):
            name = terminal_name(node.func)
            if name in _FULL:
                given = [*node.args[1:2], *(k.value for k in node.keywords if k.arg == "fill_value")]
                return given[0] if given else None
            if name in _ONES:
                return ast.copy_location(ast.Constant(1.0), node)
            if name in _NUMBER and len(node.args) == 1:
                return node.args[0] if isinstance(node.args[0], ast.Constant) else None
            if name in _VIEW and isinstance(node.func, ast.Attribute):
                return self.filler(node.func.value)
        if isinstance(node, ast.BinOp) and self.filler(node.left) is not None:
            return node
        return None

    def _content(self, node: ast.expr) -> tuple[int | None, tuple[Step, ...]]:
        """The factor's exponent in `node`, looking through products and quotients, without events."""
        count = len(self.events)
        value = self.eval(node)
        scales = [e for e in self.events[count:] if isinstance(e, Scale)]
        del self.events[count:]
        if value is not None:
            return value.power, value.trace
        return (scales[-1].power, scales[-1].trace) if scales else (None, ())
