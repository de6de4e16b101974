"""Evaluation of router expressions: names, attributes, subscripts, branches and calls."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from moelint.linter.analysis.module import dotted_name, terminal_name
from moelint.rules import _router_words as words
from moelint.rules._calls import bind, is_receiver
from moelint.rules._conditions import atoms
from moelint.rules._router_operations import Operands, Operations, is_number
from moelint.rules._router_values import Addend, Code, Index, Number, Picks, Row, Tensor, Value, merge, named


class Expressions(Operations):
    """The evaluator."""

    def eval(self, node: ast.expr) -> Value | None:
        """The value of an expression; None where nothing is known and nothing shared."""
        if isinstance(node, ast.Name):
            return self._name(node)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Constant):
            return Number() if isinstance(node.value, (int, float)) else None
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node.op, self.eval(node.left), self.eval(node.right), node.left, node.right, node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.UnaryOp):
            value = self.eval(node.operand)
            return None if isinstance(node.op, ast.Not) else value
        if isinstance(node, ast.IfExp):
            return self._conditional(node)
        if isinstance(node, (ast.Tuple, ast.List)):
            return Row(tuple(self.eval(item) or Tensor() for item in node.elts))
        if isinstance(node, ast.NamedExpr):
            value = self.eval(node.value)
            self.env[node.target.id] = value or Tensor()
            return value
        if isinstance(node, ast.Lambda):
            return Code(node, self.function, self.env)
        if isinstance(node, (ast.Await, ast.Starred)):
            return self.eval(node.value)
        if isinstance(node, ast.Dict):
            self._dictionary(node)
        parts = [self.eval(part) for part in _operands(node)]
        return next((part for part in parts if part is not None), None) if isinstance(node, ast.BoolOp) else None

    def _dictionary(self, node: ast.Dict) -> None:
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.eval(item)
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and words.hints_weights(key.value):
                self.use(value, item, f"stored as `{key.value}`")

    def _name(self, node: ast.Name) -> Value:
        found = self.lookup(node.id)
        if found is None:
            function = self.calls.named(node.id, self.function) if node.id not in self.locals else None
            if function is not None:
                return Code(function.node, function, {})
            constant = self.module.constants.get(node.id)
            found = Number() if node.id not in self.locals and is_number(constant) else named(node.id)
            self.unbound[node.id] = found
        return found

    def lookup(self, key: str) -> Value | None:
        """What a name or a dotted name is bound to here, or stood for when it was met unbound."""
        found = self.env.get(key)
        return found if found is not None else self.unbound.get(key)

    def _attribute(self, node: ast.Attribute) -> Value | None:
        key = dotted_name(node)
        found = self.lookup(key) if key else None
        if found is not None:
            return found
        base = self.eval(node.value)
        if isinstance(base, Picks):
            return base.values if node.attr in ("values", "value") else Index()
        if isinstance(base, Tensor) and node.attr in ("shape", "dtype", "device", "ndim"):
            return None
        same = node.attr in ("data", "T", "mT", "value", "weight")
        if same and (isinstance(base, Addend) or (isinstance(base, Tensor) and not base.plain)):
            return base
        value = named(node.attr)
        if key:
            self.unbound[key] = value
        return value

    def _subscript(self, node: ast.Subscript) -> Value | None:
        base, index = self.eval(node.value), self.eval(node.slice)
        position = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(base, Picks):
            return base.values if position == 0 else Index()
        if isinstance(base, Row):
            return base.items[position] if isinstance(position, int) and position < len(base.items) else None
        if isinstance(base, Tensor):
            parts = index.items if isinstance(index, Row) else (index,)
            if any(isinstance(part, Index) for part in parts):
                return self.picked(base, node)
            if base.plain and isinstance(position, str):
                return named(position)
        return base if isinstance(base, (Tensor, Addend, Index)) else None

    def _conditional(self, node: ast.IfExp) -> Value | None:
        path = self.path
        then, other = atoms(node.test, True, self.tests), atoms(node.test, False, self.tests)
        self.path = path | then
        a = self.eval(node.body)
        self.path = path | other
        b = self.eval(node.orelse)
        self.path = path
        return merge(a, b, then, other)

    def _call(self, node: ast.Call) -> Value | None:
        name = terminal_name(node.func)
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            return self._attribute(
                ast.copy_location(ast.Attribute(node.args[0], str(node.args[1].value), ast.Load()), node)
            )
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        received = self.eval(receiver) if receiver is not None and not self._is_namespace(receiver) else None
        values = [self.eval(argument) for argument in node.args]
        keywords = {keyword.arg: self.eval(keyword.value) for keyword in node.keywords if keyword.arg}
        code = self._code(node, received if receiver is None else None)
        if code is not None:
            found = self.run_code(code, node, _bound(code, node, values, keywords))
            if found is not None or not words.is_bias_name(name):
                return found
        subject = received if received is not None else next(iter([*values, *keywords.values()]), None)
        rest = tuple(zip(node.args, values, strict=True))[0 if received is not None else 1 :]
        subject = subject.values if isinstance(subject, Picks) else subject
        return self.operation(Operands(node, name, subject, rest, keywords))

    def _code(self, node: ast.Call, called: Value | None) -> Code | None:
        if isinstance(node.func, ast.Name):
            known = self.lookup(node.func.id)
            if isinstance(known, Code):
                return known
            if node.func.id in self.locals:
                return None
        function = self.calls.resolve(node, self.function)
        return Code(function.node, function, {}) if function is not None else None

    def _is_namespace(self, node: ast.expr) -> bool:
        """Whether `node` in `node.f(x)` is a module or the bare receiver, and no tensor."""
        root = node
        while isinstance(root, ast.Attribute):
            root = root.value
        return isinstance(root, ast.Name) and (is_receiver(node, self.function) or root.id not in self.locals)


def _operands(node: ast.expr) -> Sequence[ast.expr]:
    if isinstance(node, ast.Compare):
        return (node.left, *node.comparators)
    return node.values if isinstance(node, ast.BoolOp) else ()


def _bound(
    code: Code, node: ast.Call, values: Sequence[Value | None], keywords: dict[str, Value | None]
) -> dict[str, Value]:
    if isinstance(code.node, ast.Lambda):
        names = [argument.arg for argument in code.node.args.args]
        pairs = [*zip(names, values, strict=False), *keywords.items()]
        return {name: value for name, value in pairs if value is not None}
    by_node = dict(zip(node.args, values, strict=True))
    by_node.update({keyword.value: keywords[keyword.arg] for keyword in node.keywords if keyword.arg})
    bound = {name: by_node.get(argument) for name, argument in bind(code.function, node).items()}
    return {name: value for name, value in bound.items() if value is not None}
