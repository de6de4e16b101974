"""What an expression does with the routed scaling factor, and whether it still carries it."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from moelint.linter.analysis.events import Compared, Guard, Handed, Step, Stored, Value, either
from moelint.linter.analysis.known import Call, Known
from moelint.linter.analysis.lookup import Callee, fields
from moelint.linter.analysis.module import Class, Function, terminal_name
from moelint.linter.analysis.shapes import is_neutral, is_number, is_scalar_call, is_self, path_text, short
from moelint.linter.analysis.sinks import Sinks
from moelint.linter.analysis.walk import walk

_CONVERT = frozenset(
    {"float", "int", "round", "tensor", "as_tensor", "asarray", "array", "scalar_tensor", "full", "full_like"}
    | {"new_full", "new_tensor", "cast", "abs", "Parameter", "Buffer", "FloatTensor", "float16", "float32", "float64"}
)
"""Calls that keep the factor's value, given as an argument."""
_VIEW = frozenset(
    {"to", "item", "float", "double", "half", "bfloat16", "abs", "type", "type_as", "cpu", "cuda", "clone", "detach"}
    | {"contiguous", "view", "reshape", "expand", "expand_as", "squeeze", "unsqueeze", "flatten"}
)
"""Methods that keep the factor's value, held by their object."""
_FULL = frozenset({"full", "full_like", "new_full"})
_MUL = frozenset({"mul", "mul_", "multiply", "multiply_", "imul", "_foreach_mul_", "_foreach_mul"})
_DIV = frozenset({"div", "div_", "divide", "divide_", "true_divide", "true_divide_"})
_RECIPROCAL = frozenset({"reciprocal", "reciprocal_"})
_ADD = frozenset({"add", "add_", "sub", "sub_", "addcmul", "addcmul_", "addmm", "addmm_", "baddbmm", "baddbmm_"})
_ADD_SCALES = frozenset({"alpha", "value"})
_TALK = frozenset({"print", "debug", "info", "warning", "warn", "error", "warning_once", "info_once", "format", "repr"})
_READ = frozenset({"getattr", "get", "pop", "setdefault"})
_STORE = frozenset({"register_buffer", "setattr", "__setattr__", "register_parameter"})

Keywords = list[tuple[str | None, ast.expr]]
Argument = tuple[str | None, ast.expr, Value]


class Evaluator(Sinks):
    """Expressions. `env` holds the factor-carrying names and paths (`name['key']`, `name.attribute`) in scope."""

    def __init__(self, known: Known, function: Function) -> None:
        super().__init__(known, function)
        self.env: dict[str, Value] = {}
        self.calls: list[Call] = []

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
            for child in ast.iter_child_nodes(node):
                if isinstance(child, ast.comprehension):
                    self.eval(child.iter)
                    for name in walk(child.target):
                        if isinstance(name, ast.Name):
                            self.env.pop(name.id, None)
                    for test in child.ifs:
                        self.eval_test(test)
                        self.guards += (Guard(test, True, "if", self.function),)
            for child in ast.iter_child_nodes(node):
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
            held = self.env.get(path_text(node) or "") or self.known.alias_of(node, self.function)
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
        held = self.env.get(path_text(node) or "")
        if held is not None:
            return held.then(node, f"read of `{short(node)}`")
        return base

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
            return self._inverse(node, right)
        self.scale(node, right, node.left, -right.power, False, "/")
        return None

    def _power(self, node: ast.BinOp, value: Value) -> Value:
        """`factor ** -1` is its inverse, `factor ** test` the factor under a test; of numbers only the sign matters."""
        if isinstance(node.right, ast.UnaryOp) and isinstance(node.right.op, ast.USub):
            return self._inverse(node, value)
        return value if is_number(node.right) else value.under((Guard(node.right, True, "ternary", self.function),))

    def _inverse(self, node: ast.expr, value: Value) -> Value:
        self.scale(node, value, None, -value.power, False, "/")
        return Value(-value.power, (*value.trace, Step(node, f"`{short(node)}`")), value.guards)

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

    def _call(self, node: ast.Call) -> Value | None:
        name = terminal_name(node.func)
        real = self.real_name(node.func)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        received = self.eval(receiver) if receiver is not None else None
        if not name or isinstance(node.func, ast.Call):
            self.eval(node.func)
        keywords, carried = self._keywords(node)
        tainted: list[Argument] = []
        for argument in node.args:
            value = self.eval(argument)
            if value is None and name in _CONVERT and isinstance(argument, (ast.List, ast.Tuple)):
                value = next((held for held in map(self.eval, argument.elts) if held is not None), None)
            if value is not None:
                tainted.append((None, argument, value))
        for key, argument in keywords:
            value = self.eval(argument)
            if value is not None:
                tainted.append((key, argument, value))
        tainted += carried
        self.call_sinks(node, name, real, keywords)

        if name in _TALK:
            return None
        if name in _READ:
            read = self._read_by_name(node, name)
            if read is not None:
                return read
        callee = self.known.lookup.callee(node, self.function)
        if callee is not None:
            self.calls.append(Call(node, callee, self.function, self.guards))
        elif name in _STORE and tainted:
            self._store_by_name(node, name, tainted)
        elif name in _VIEW and received is not None and not tainted:
            return received
        elif name in _CONVERT:
            if tainted and not (name in _FULL and tainted[0][1] is not node.args[-1]):
                return tainted[0][2]
        elif real in _RECIPROCAL and (tainted or received is not None):
            return self._inverse(node, tainted[0][2] if tainted else received)  # type: ignore[arg-type]
        elif self._scaling_call(node, real, receiver, received, tainted):
            return None
        if tainted:
            self._hand_over(node, name, real or short(node.func), callee, tainted)
        if callee is None:
            return None
        returned = self.known.returns.get((callee.function, None))
        return returned.then(node, f"returned by `{name}`") if returned is not None else None

    def _keywords(self, node: ast.Call) -> tuple[Keywords, list[Argument]]:
        """The keyword arguments with `**{...}` and `**dict(...)` opened, and what `**name` is known to carry."""
        keywords: Keywords = []
        carried: list[Argument] = []
        for keyword in node.keywords:
            value = keyword.value
            if keyword.arg is not None:
                keywords.append((keyword.arg, value))
            elif isinstance(value, ast.Dict):
                keywords += [
                    (self.text(key) if key is not None else None, item)
                    for key, item in zip(value.keys, value.values, strict=True)
                ]
            elif isinstance(value, ast.Call) and terminal_name(value.func) == "dict":
                keywords += [(inner.arg, inner.value) for inner in value.keywords]
            else:
                keywords.append((None, value))
                if isinstance(value, ast.Name):
                    prefix = f"{value.id}["
                    carried += [
                        (path[len(prefix) + 1 : -2], value, held)
                        for path, held in self.env.items()
                        if path.startswith(prefix)
                    ]
        return keywords, carried

    def _read_by_name(self, node: ast.Call, name: str) -> Value | None:
        """`getattr(x, "factor")`, `x.get("factor")`."""
        if not node.args:
            return None
        holder, key_node = (
            (node.args[0], node.args[1]) if name == "getattr" and len(node.args) > 1 else (None, node.args[0])
        )
        key = self.text(key_node)
        if key in self.profile.factor:
            return Value(1, (Step(node, f"read of `{key}`"),))
        if key is None:
            return None
        if holder is not None:
            stand_in: ast.expr = ast.Attribute(holder, key, ast.Load())
        elif isinstance(node.func, ast.Attribute):
            stand_in = ast.Subscript(node.func.value, ast.Constant(key), ast.Load())
        else:
            return None
        return self.eval(ast.fix_missing_locations(ast.copy_location(stand_in, node)))

    def _store_by_name(self, node: ast.Call, name: str, tainted: list[Argument]) -> None:
        """`self.register_buffer("x", factor)`, `setattr(self, "x", factor)`."""
        key = next((text for text in map(self.text, node.args[:2]) if text is not None), None)
        cls = self.function.cls
        holder = node.args[0] if name in ("setattr", "__setattr__") else node.func.value  # type: ignore[attr-defined]
        if key is None or cls is None or not is_self(holder, self.function):
            return
        self.store(node, key, tainted[0][2])

    def store(self, node: ast.AST, attribute: str, value: Value) -> None:
        """Note that `self.attribute` now holds the factor."""
        assert self.function.cls is not None
        self.events.append(Stored(node, self.statement, self.function, self.guards, value.trace, attribute))
        if attribute not in self.profile.factor:
            stored = value.then(node, f"stored in `self.{attribute}`").under(self.guards)
            self.known.note_alias(self.function.cls, attribute, node, stored)

    def _scaling_call(
        self, node: ast.Call, name: str, receiver: ast.expr | None, received: Value | None, tainted: list[Argument]
    ) -> bool:
        """Whether the call multiplies or divides by the factor; it is recorded then."""
        if not tainted and received is None:
            return False
        positional = list(node.args)
        if name == "partial" and positional:
            name = self.real_name(positional.pop(0))
        if name in _MUL or name in _DIV:
            if tainted:
                value = tainted[0][2]
                given = {argument for _, argument, _ in tainted}
                scaled = self._operand(node, positional, receiver, given)
            elif received is not None and positional and not is_number(positional[0]):
                value, scaled = received, positional[0]
            else:
                return False
            power = value.power if name in _MUL else -value.power
            self.scale(node, value, scaled, power, name.endswith("_"), f"{name}()")
            return True
        if name in _ADD:
            for key, _, value in tainted:
                if key in _ADD_SCALES:
                    scaled = positional[-1] if positional else self._keyword(node, "other") or receiver
                    self.scale(node, value, scaled, value.power, name.endswith("_"), f"{name}({key}=)")
                    return True
        return False

    def _operand(
        self, node: ast.Call, positional: list[ast.expr], receiver: ast.expr | None, given: set[ast.expr]
    ) -> ast.expr | None:
        """What `torch.mul(x, factor)` or `x.mul(factor)` multiplies."""
        for argument in (*positional, self._keyword(node, "input"), self._keyword(node, "other")):
            if argument is not None and argument not in given:
                return argument
        return receiver

    @staticmethod
    def _keyword(node: ast.Call, name: str) -> ast.expr | None:
        return next((keyword.value for keyword in node.keywords if keyword.arg == name), None)

    def _hand_over(
        self, node: ast.Call, name: str, called: str, callee: Callee | None, tainted: list[Argument]
    ) -> None:
        sites = {keyword.value: keyword for keyword in node.keywords}
        built = self.known.lookup.built_class(node, self.function)
        for key, argument, value in tainted:
            choice = tuple(guard for guard in value.guards if guard not in self.guards)
            self.events.append(
                Handed(sites.get(argument, argument), self.statement, self.function, (*self.guards, *value.guards),
                       value.trace, node, called, key, value.power, choice,
                       callee is not None or built is not None)
            )  # fmt: skip
            if callee is not None:
                parameter = callee.parameter(node, argument, key)
                if parameter is not None and parameter not in self.profile.factor:
                    step = Step(argument, f"handed to `{name}` as `{parameter}`", crossing=True)
                    handed = Value(value.power, (*value.trace, step), value.guards)
                    self.known.note_parameter(callee.function, parameter, argument, handed)
            elif built is not None:
                self._fill_field(built, node, argument, key, value)

    def _fill_field(self, cls: Class, node: ast.Call, argument: ast.expr, key: str | None, value: Value) -> None:
        """An argument of a class that declares fields and no `__init__`."""
        names = fields(self.module, cls)
        if key is None and argument in node.args:
            position = node.args.index(argument)
            key = names[position] if position < len(names) else None
        if key in names and key not in self.profile.factor:
            assert key is not None
            step = Step(argument, f"handed to `{cls.name}` as `{key}`", crossing=True)
            self.known.note_alias(cls, key, argument, Value(value.power, (*value.trace, step), value.guards))


_KINDS: dict[type[ast.expr], Callable[[Evaluator, Any], Value | None]] = {
    ast.Attribute: Evaluator._attribute,
    ast.Await: Evaluator._wrapped,
    ast.BinOp: Evaluator._binary,
    ast.BoolOp: Evaluator._boolean,
    ast.Call: Evaluator._call,
    ast.Compare: Evaluator._compare,
    ast.IfExp: Evaluator._conditional,
    ast.NamedExpr: Evaluator._walrus,
    ast.Starred: Evaluator._wrapped,
    ast.Subscript: Evaluator._subscript,
    ast.UnaryOp: Evaluator._unary,
}
