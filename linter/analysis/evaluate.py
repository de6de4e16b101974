"""What an expression does with the routed scaling factor, and whether it still carries it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from moelint.linter.analysis.calls import Calls
from moelint.linter.analysis.events import Compared, Guard, Step, Value, either
from moelint.linter.analysis.shapes import is_neutral, is_number, is_scalar_call, is_self, path_text, short
from moelint.linter.analysis.walk import children, walk


class Evaluator(Calls):
    """Expressions."""

    def eval_test(self, test: ast.expr) -> None:
        """Evaluate a condition: the bare factor as a truth value is no use of it."""
        if isinstance(test, ast.BoolOp):
            for part in test.values:
                self.eval_test(part)
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self.eval_test(test.operand)
        else:
            self.eval(test)

    def eval(self, node: ast.expr) -> Value | None:
        kind = type(node)
        if kind is ast.Name:
            return self.env.get(node.id)  # type: ignore[attr-defined]
        if kind is ast.Constant or kind is ast.JoinedStr:
            return None
        known = _KINDS.get(kind)
        if known is not None:
            return known(self, node)
        self._inside(node)
        return None

    def bind(self, target: ast.expr, value_node: ast.expr, value: Value | None) -> None:
        """Assign to a target; `value` is the factor content of `value_node`."""
        raise NotImplementedError

    def _unary(self, node: ast.UnaryOp) -> Value | None:
        value = self.eval(node.operand)
        return None if isinstance(node.op, ast.Not) else value

    def _walrus(self, node: ast.NamedExpr) -> Value | None:
        value = self.eval(node.value)
        self.bind(node.target, node.value, value)
        return value

    def _wrapped(self, node: ast.Await | ast.Starred) -> Value | None:
        return self.eval(node.value)

    def _inside(self, node: ast.expr) -> None:
        """The parts of a collection, a comprehension or a lambda."""
        outer = self.env
        if isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values, strict=True):
                if key is not None:
                    self.dictionary_entry(key, item)
                self.eval(item)
            return
        if isinstance(node, ast.Lambda):
            self.env = dict(outer)
            defaults = [*node.args.defaults, *(default for default in node.args.kw_defaults if default is not None)]
            values = [self.eval(default) for default in defaults]
            parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
            for parameter in parameters:
                self.env.pop(parameter.arg, None)
            for parameter, value in zip(parameters[len(parameters) - len(values) :], values, strict=True):
                if value is not None:
                    self.env[parameter.arg] = value
            self.eval(node.body)
        else:
            self.env = dict(outer)
            kept = self.guards
            for child in children(node):
                if isinstance(child, ast.comprehension):
                    self.eval(child.iter)
                    for name in walk(child.target):
                        if isinstance(name, ast.Name):
                            self.env.pop(name.id, None)
                    for test in child.ifs:
                        self.eval_test(test)
                        self.guards += (Guard(test, True, "if", self.function),)
            for child in children(node):
                if isinstance(child, ast.expr):
                    self.eval(child)
            self.guards = kept
        self.env = outer

    def _attribute(self, node: ast.Attribute) -> Value | None:
        base = self.eval(node.value)
        if node.attr in self.profile.factor:
            return Value(1, (Step(node, f"read of `{short(node)}`"),))
        own = is_self(node.value, self.function)
        if own and self.function.cls is not None:
            alias = self.known.alias(self.function.cls, node.attr)
            if alias is not None:
                return alias.then(node, f"read of `self.{node.attr}`")
            method = self.module.function(node.attr, self.function.cls)
            if method is not None and method.cls is not None and method.cls.has_property(node.attr):
                returned = self.known.returns.get((method, None))
                if returned is not None:
                    return returned.then(node, f"property `self.{node.attr}`")
        else:
            held = self._at_path(node) or self.known.alias_of(node, self.function)
            if held is not None:
                return held.then(node, f"read of `{short(node)}`")
        return base if node.attr in ("data", "T") else None

    def _subscript(self, node: ast.Subscript) -> Value | None:
        self.eval(node.slice)
        if isinstance(node.value, (ast.Tuple, ast.List, ast.Dict)):
            return self._picked(node, node.value)
        base = self.eval(node.value)
        key = self.text(node.slice)
        if key in self.profile.factor:
            return Value(1, (Step(node, f"read as key `{key}`"),))
        held = self._at_path(node)
        if held is not None:
            return held.then(node, f"read of `{short(node)}`")
        return base

    def _at_path(self, node: ast.expr) -> Value | None:
        return self.env.get(path_text(node) or "") if self.env else None

    def _picked(self, node: ast.Subscript, display: ast.Tuple | ast.List | ast.Dict) -> Value | None:
        """`(1.0, factor)[test]` and `{True: 1.0, False: factor}[test]`."""
        choices: list[tuple[bool | None, ast.expr]]
        if isinstance(display, ast.Dict):
            keys = [key.value if isinstance(key, ast.Constant) else None for key in display.keys]
            choices = [(k if isinstance(k, bool) else None, v) for k, v in zip(keys, display.values, strict=True)]
        else:
            pair = len(display.elts) == 2
            choices = [(bool(position) if pair else None, item) for position, item in enumerate(display.elts)]
        held = []
        for wanted, item in choices:
            value = self.eval(item)
            if value is not None:
                test = () if wanted is None else (Guard(node.slice, wanted, "ternary", self.function),)
                held.append(value.under(test))
        return either(held) if held else None

    def text(self, node: ast.expr) -> str | None:
        """The string that an expression is, directly or through a constant of the module."""
        if isinstance(node, ast.Name):
            node = self.module.constants.get(node.id, node)
        return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None

    def _binary(self, node: ast.BinOp) -> Value | None:
        left, right = self.eval(node.left), self.eval(node.right)
        if left is None and right is None:
            return None
        if isinstance(node.op, ast.Mult):
            if left is not None and right is not None:
                return Value(left.power + right.power, (*left.trace, *right.trace), (*left.guards, *right.guards))
            value, other = (left, node.right) if left is not None else (right, node.left)
            assert value is not None
            if is_number(other):
                return value
            self.scale(node, value, other, value.power, False, "*")
            return None
        if isinstance(node.op, ast.Div):
            return self._quotient(node, left, right)
        if isinstance(node.op, ast.Pow):
            return self._power(node, left) if left is not None else None
        value = left or right
        assert value is not None
        self.scale(node, value, node.left if left is None else node.right, value.power, False, "arithmetic")
        return None

    def _quotient(self, node: ast.BinOp, left: Value | None, right: Value | None) -> Value | None:
        if left is not None and right is not None:
            return Value(left.power - right.power, (*left.trace, *right.trace), (*left.guards, *right.guards))
        if left is not None:
            if is_number(node.right) or is_scalar_call(node.right):
                return left
            self.scale(node, left, node.right, left.power, False, "factor / x")
            return None
        assert right is not None
        if is_number(node.left):
            return self.inverse(node, right)
        self.scale(node, right, node.left, -right.power, False, "/")
        return None

    def _power(self, node: ast.BinOp, value: Value) -> Value:
        """`factor ** -1` is its inverse, `factor ** test` the factor under a test; of numbers only the sign matters."""
        if isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub):
            return self.inverse(node, value)
        return value if is_number(node.right) else value.under((Guard(node.right, True, "ternary", self.function),))

    def _conditional(self, node: ast.IfExp) -> Value | None:
        self.eval_test(node.test)
        kept = self.guards
        held = []
        for branch, positive in ((node.body, True), (node.orelse, False)):
            guard = Guard(node.test, positive, "ternary", self.function)
            self.guards = (*kept, guard)
            value = self.eval(branch)
            if value is not None:
                held.append(Value(value.power, value.trace, (*value.guards, guard)))
        self.guards = kept
        return either(held) if held else None

    def _boolean(self, node: ast.BoolOp) -> Value | None:
        """`a and b`, `a or b`: what stands further right counts only if what stands left of it lets it."""
        kept = self.guards
        held = []
        before: tuple[Guard, ...] = ()
        for part in node.values:
            self.guards = (*kept, *before)
            value = self.eval(part)
            if value is not None:
                held.append(value.under(before))
            else:
                before = (*before, Guard(part, isinstance(node.op, ast.And), "ternary", self.function))
        self.guards = kept
        return either(held) if held else None

    def _compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        values = [self.eval(operand) for operand in operands]
        found = next((value for value in values if value is not None), None)
        if found is None:
            return
        others = [operand for operand, value in zip(operands, values, strict=True) if value is None]
        if all(is_neutral(other) for other in others) and all(
            isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops
        ):
            return
        self.events.append(Compared(node, self.statement, self.function, self.guards, found.trace))


_KINDS: dict[type[ast.expr], Callable[[Evaluator, Any], Value | None]] = {
    ast.Attribute: Evaluator._attribute,
    ast.Await: Evaluator._wrapped,
    ast.BinOp: Evaluator._binary,
    ast.BoolOp: Evaluator._boolean,
    ast.Call: Evaluator.call,
    ast.Compare: Evaluator._compare,
    ast.IfExp: Evaluator._conditional,
    ast.NamedExpr: Evaluator._walrus,
    ast.Starred: Evaluator._wrapped,
    ast.Subscript: Evaluator._subscript,
    ast.UnaryOp: Evaluator._unary,
}
