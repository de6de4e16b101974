"""What a call does with the routed scaling factor: reads it, stores it, multiplies by it, hands it on."""

from __future__ import annotations

import ast

from moelint.linter.analysis.events import Handed, Step, Stored, Value
from moelint.linter.analysis.known import Call, Known
from moelint.linter.analysis.lookup import Callee, fields
from moelint.linter.analysis.module import Class, Function, terminal_name
from moelint.linter.analysis.shapes import is_number, is_self, short
from moelint.linter.analysis.sinks import Sinks

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


class Calls(Sinks):
    """Calls. `env` holds the factor-carrying names and paths (`name['key']`, `name.attribute`) in scope."""

    def __init__(self, known: Known, function: Function) -> None:
        super().__init__(known, function)
        self.env: dict[str, Value] = {}
        self.calls: list[Call] = []

    def call(self, node: ast.Call) -> Value | None:
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
            return self.inverse(node, tainted[0][2] if tainted else received)  # type: ignore[arg-type]
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

    def inverse(self, node: ast.expr, value: Value) -> Value:
        """Record `1 / factor`, and what carries it."""
        self.scale(node, value, None, -value.power, False, "/")
        return Value(-value.power, (*value.trace, Step(node, f"`{short(node)}`")), value.guards)
