"""Factor flow: one abstract walk per function that follows the routed scaling factor and notes what happens to it.

Per module the walk is repeated until no new attribute alias, tainted parameter or factor-returning function turns
up (three rounds at most); only functions whose source mentions a relevant name are walked.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from moelint.linter.analysis.events import (
    Compared,
    Event,
    FlagSet,
    Guard,
    GuardKind,
    Handed,
    Scale,
    SlotWrite,
    Step,
    Stored,
    Value,
)
from moelint.linter.analysis.module import Class, Function, Module, terminal_name

_ROUNDS = 3
_NEUTRAL = (None, 0, 1)
_PASS_THROUGH = frozenset({"float", "int", "tensor", "as_tensor", "to", "item", "cast", "abs", "Parameter", "full"})
_MUL = frozenset({"mul", "mul_", "multiply", "multiply_", "_foreach_mul_"})
_DIV = frozenset({"div", "div_", "divide", "divide_", "true_divide"})
_ADD = frozenset({"add", "add_", "sub", "sub_"})
_TALK = frozenset({"print", "debug", "info", "warning", "warn", "error", "warning_once", "info_once", "format", "repr"})


@dataclass(slots=True)
class Flow:
    """The events of a module, in source order, and the aliases that were found on the way."""

    events: list[Event] = field(default_factory=list)
    aliases: dict[str, dict[str, Value]] = field(default_factory=dict)
    """Class qualname -> attribute -> the factor stored there."""


def analyse(module: Module) -> Flow:
    """Run the walk over every relevant function of `module`."""
    return _Analysis(module).run()


class _Analysis:
    def __init__(self, module: Module) -> None:
        self.module = module
        self.profile = module.profile
        self.aliases: dict[str, dict[str, Value]] = {}
        self.parameters: dict[Function, dict[str, Value]] = {}
        self.returns: dict[Function, Value] = {}
        self.fresh_names: set[str] = set()
        self.fresh_functions: set[Function] = set()
        profile = self.profile
        self._words = _pattern(
            profile.factor | profile.flags | profile.runner_flags | profile.slot_weight | profile.wish
            | profile.topk_weights | frozenset(profile.slot_sinks)
        )  # fmt: skip

    def run(self) -> Flow:
        flow = Flow()
        events: dict[Function, list[Event]] = {}
        candidates = [f for f in self.module.functions if f.outer is None and not _is_kernel(f)]
        pending = [f for f in candidates if self._words.search(self.module.source.segment(f.node))]
        for _ in range(_ROUNDS):
            self.fresh_names, self.fresh_functions = set(), set()
            for function in pending:
                walk = _Walk(self, function)
                walk.run()
                events[function] = walk.events
            if not self.fresh_names and not self.fresh_functions:
                break
            pending = [f for f in candidates if self._affected(f)]
        seen: set[tuple[type, int, int, int, int]] = set()
        for function in self.module.functions:
            for event in events.get(function, ()):
                node = event.node
                key = (type(event), node.lineno, node.col_offset, node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
                if key not in seen:
                    seen.add(key)
                    flow.events.append(event)
        flow.aliases = self.aliases
        return flow

    def alias(self, cls: Class | None, attribute: str) -> Value | None:
        if cls is None:
            return None
        for ancestor in self.module.ancestry(cls):
            found = self.aliases.get(ancestor.qualname, {}).get(attribute)
            if found is not None:
                return found
        return None

    def note_alias(self, cls: Class, attribute: str, value: Value) -> None:
        known = self.aliases.setdefault(cls.qualname, {})
        if attribute not in known:
            known[attribute] = value
            self.fresh_names.add(attribute)

    def note_parameter(self, function: Function, name: str, value: Value) -> None:
        known = self.parameters.setdefault(function, {})
        if name not in known:
            known[name] = value
            self.fresh_functions.add(function)

    def note_return(self, function: Function, value: Value) -> None:
        if function not in self.returns:
            self.returns[function] = value
            self.fresh_names.add(function.name)

    def _affected(self, function: Function) -> bool:
        """Whether the last round found something that this function's walk did not know."""
        if function in self.fresh_functions:
            return True
        segment = self.module.source.segment(function.node)
        return any(name.encode() in segment for name in self.fresh_names)


class _Walk:
    """The walk over one outermost function and the functions nested in it."""

    def __init__(self, analysis: _Analysis, function: Function) -> None:
        self.analysis = analysis
        self.module = analysis.module
        self.profile = analysis.profile
        self.function = function
        self.events: list[Event] = []
        self.guards: tuple[Guard, ...] = ()
        self.env: dict[str, Value] = {}
        self.statement: ast.stmt = function.node
        self._nested = {f.node: f for f in self.module.functions if f.outer is not None}

    def run(self) -> None:
        self._enter(self.function)

    def _enter(self, function: Function) -> None:
        outer, env = self.function, self.env
        self.function, self.env = function, dict(env)
        tainted = self.analysis.parameters.get(function, {})
        for parameter in function.parameters():
            name = parameter.arg
            if name in self.profile.factor:
                self.env[name] = Value(1, (Step(parameter, f"parameter `{name}`"),))
            elif name in tainted:
                self.env[name] = tainted[name]
            else:
                self.env.pop(name, None)
        for parameter, default in function.defaults():
            if parameter.arg in self.profile.flags | self.profile.runner_flags:
                continue
            if parameter.arg in self.profile.slot_weight and not _is_none(default):
                self._slot(parameter, default, "name", parameter.arg)
        self._block(function.node.body)
        self.function, self.env = outer, env

    def _block(self, body: list[ast.stmt]) -> None:
        kept = self.guards
        for statement in body:
            self._visit(statement)
        self.guards = kept

    def _visit(self, statement: ast.stmt) -> None:
        self.statement = statement
        if isinstance(statement, ast.Expr):
            self.eval(statement.value)
        elif isinstance(statement, ast.Assign):
            self._assign(statement.targets, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self._assign([statement.target], statement.value)
        elif isinstance(statement, ast.AugAssign):
            self._augmented(statement)
        elif isinstance(statement, ast.If):
            self._if(statement)
        elif isinstance(statement, ast.Return):
            if statement.value is not None:
                value = self.eval(statement.value)
                if value is not None:
                    self.analysis.note_return(
                        self.function, value.then(statement, f"returned by `{self.function.name}`")
                    )
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self.eval(statement.iter)
            self._guarded(statement.iter, True, statement.body, "loop")
            self._block(statement.orelse)
        elif isinstance(statement, ast.While):
            self.eval(statement.test)
            self._guarded(statement.test, True, statement.body, "loop")
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                self.eval(item.context_expr)
            self._block(statement.body)
        elif isinstance(statement, ast.Try):
            self._block(statement.body)
            for handler in statement.handlers:
                self._guarded(handler.type or ast.Constant(True), True, handler.body, "handler")
            self._block(statement.orelse)
            self._block(statement.finalbody)
        elif isinstance(statement, ast.Assert):
            self.eval_test(statement.test)
            self.guards += (Guard(statement.test, True, "assert", self.function),)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self._enter_nested(statement)
        elif isinstance(statement, ast.Match):
            self.eval(statement.subject)
            for case in statement.cases:
                self._block(case.body)

    def _enter_nested(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        nested = self._nested.get(node)
        if nested is not None:
            self._enter(nested)

    def _guarded(
        self, test: ast.expr, positive: bool, body: list[ast.stmt], kind: GuardKind = "if", origin: ast.If | None = None
    ) -> None:
        kept = self.guards
        self.guards += (Guard(test, positive, kind, self.function, origin),)
        self._block(body)
        self.guards = kept

    def _if(self, statement: ast.If) -> None:
        self.eval_test(statement.test)
        before = self.env
        self.env = dict(before)
        self._guarded(statement.test, True, statement.body, "if", statement)
        after_then = self.env
        self.env = dict(before)
        self._guarded(statement.test, False, statement.orelse, "if", statement)
        then_ends, else_ends = _ends(statement.body), bool(statement.orelse) and _ends(statement.orelse)
        if then_ends and not else_ends:
            self.guards += (Guard(statement.test, False, "if", self.function, statement),)
        elif else_ends and not then_ends:
            self.env = after_then
            self.guards += (Guard(statement.test, True, "if", self.function, statement),)
        else:
            for name, value in after_then.items():
                if value is not before.get(name) or name not in self.env:
                    self.env[name] = value

    def _assign(self, targets: list[ast.expr], value_node: ast.expr) -> None:
        if isinstance(value_node, ast.Tuple):
            for target in targets:
                if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(value_node.elts):
                    for part, element in zip(target.elts, value_node.elts, strict=True):
                        self._bind(part, element, self.eval(element))
                    return
        value = self.eval(value_node)
        for target in targets:
            self._bind(target, value_node, value)

    def _bind(self, target: ast.expr, value_node: ast.expr, value: Value | None) -> None:
        profile = self.profile
        if isinstance(target, ast.Name):
            name = target.id
            if value is not None:
                relative = tuple(g for g in self.guards if g not in value.guards)
                self.env[name] = Value(value.power, (*value.trace, Step(target, f"bound to `{name}`")), value.guards)
                if not _is_neutral_merge(value_node):
                    self.env[name] = Value(value.power, self.env[name].trace, (*relative, *value.guards))
            elif name in self.env and _is_neutral(value_node) and self.guards:
                carried = self.env[name]
                inner = self.guards[-1]
                otherwise = Guard(inner.test, not inner.positive, inner.kind, inner.function)
                self.env[name] = Value(carried.power, carried.trace, (*carried.guards, otherwise))
            else:
                self.env.pop(name, None)
            if name in profile.slot_weight:
                self._slot(target, value_node, "name", name)
        elif isinstance(target, ast.Attribute):
            if value is not None and _is_self(target.value, self.function) and self.function.cls is not None:
                self._emit(Stored(target, self.statement, self.function, self.guards, value.trace, target.attr))
                if target.attr not in profile.factor:
                    self.analysis.note_alias(
                        self.function.cls, target.attr, value.then(target, f"stored in `self.{target.attr}`")
                    )
            if target.attr in profile.flags or target.attr in profile.runner_flags:
                self._emit(
                    FlagSet(target, self.statement, self.function, self.guards, (), value_node, target.attr, None)
                )
            if target.attr in profile.slot_weight:
                self._slot(target, value_node, "name", target.attr)
        elif isinstance(target, ast.Subscript):
            if self._is_weights(target.value) and _last_columns(target.slice):
                self._slot(target, value_node, "column", ast.unparse(target))
            elif isinstance(target.slice, ast.Constant) and target.slice.value in profile.flags:
                self._emit(
                    FlagSet(
                        target,
                        self.statement,
                        self.function,
                        self.guards,
                        (),
                        value_node,
                        str(target.slice.value),
                        None,
                    )
                )
        elif isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                self._bind(part, value_node, None)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value_node, None)

    def _augmented(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        target = statement.target
        if value is not None and isinstance(statement.op, (ast.Mult, ast.Div)):
            power = value.power if isinstance(statement.op, ast.Mult) else -value.power
            if isinstance(target, ast.Subscript) and self._is_weights(target.value) and _last_columns(target.slice):
                self._slot(target, statement.value, "column", ast.unparse(target))
            else:
                self._scale(statement, value, target, power, True, "*=" if power > 0 else "/=")
        elif (
            isinstance(target, ast.Subscript)
            and isinstance(statement.op, (ast.Mult, ast.Div))
            and self._is_weights(target.value)
            and _last_columns(target.slice)
        ):
            self._slot(target, statement.value, "column", ast.unparse(target))

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
        """The factor content of an expression; emits the events of everything inside it."""
        if isinstance(node, ast.Name):
            return self.env.get(node.id)
        if isinstance(node, ast.Constant):
            return None
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.IfExp):
            return self._conditional(node)
        if isinstance(node, ast.BoolOp):
            values = [self.eval(part) for part in node.values]
            return next((value for value in values if value is not None), None)
        if isinstance(node, ast.UnaryOp):
            value = self.eval(node.operand)
            return None if isinstance(node.op, ast.Not) else value
        if isinstance(node, ast.Compare):
            self._compare(node)
            return None
        if isinstance(node, ast.Subscript):
            self.eval(node.slice)
            base = self.eval(node.value)
            if isinstance(node.slice, ast.Constant) and node.slice.value in self.profile.factor:
                return Value(1, (Step(node, f"read as key `{node.slice.value}`"),))
            return base
        if isinstance(node, ast.NamedExpr):
            value = self.eval(node.value)
            self._bind(node.target, node.value, value)
            return value
        if isinstance(node, ast.Lambda):
            self.eval(node.body)
            return None
        if isinstance(node, ast.Dict):
            for key, item in zip(node.keys, node.values, strict=True):
                if key is not None:
                    self._dictionary_entry(key, item)
                self.eval(item)
            return None
        if isinstance(node, ast.JoinedStr):
            return None
        if isinstance(node, ast.Await):
            return self.eval(node.value)
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.expr):
                self.eval(child)
            elif isinstance(child, ast.comprehension):
                self.eval(child.iter)
                for test in child.ifs:
                    self.eval_test(test)
        return None

    def _attribute(self, node: ast.Attribute) -> Value | None:
        base = self.eval(node.value)
        if node.attr in self.profile.factor:
            return Value(1, (Step(node, f"read of `{_text(node)}`"),))
        if _is_self(node.value, self.function):
            alias = self.analysis.alias(self.function.cls, node.attr)
            if alias is not None:
                return alias.then(node, f"read of `self.{node.attr}`")
            if self.function.cls is not None and self.function.cls.has_property(node.attr):
                returned = self.analysis.returns.get(self.function.cls.methods[node.attr])
                if returned is not None:
                    return returned.then(node, f"property `self.{node.attr}`")
        return base if node.attr in ("data", "T") else None

    def _binary(self, node: ast.BinOp) -> Value | None:
        left, right = self.eval(node.left), self.eval(node.right)
        if left is None and right is None:
            return None
        if isinstance(node.op, ast.Mult):
            if left is not None and right is not None:
                return Value(left.power + right.power, (*left.trace, *right.trace), (*left.guards, *right.guards))
            value, other = (left, node.right) if left is not None else (right, node.left)
            assert value is not None
            if _is_number(other):
                return value
            self._scale(node, value, other, value.power, False, "*")
            return None
        if isinstance(node.op, ast.Div):
            if left is not None and right is None:
                if not _is_number(node.right) and not _is_scalar_call(node.right):
                    self._scale(node, left, node.right, left.power, False, "factor / x")
                    return None
                return left
            if right is not None and left is None:
                scaled = None if _is_number(node.left) else node.left
                self._scale(node, right, scaled, -right.power, False, "/")
                return (
                    Value(-right.power, (*right.trace, Step(node, f"`{_text(node)}`")), right.guards)
                    if scaled is None
                    else None
                )
            assert left is not None and right is not None
            return Value(left.power - right.power, (*left.trace, *right.trace), (*left.guards, *right.guards))
        if isinstance(node.op, ast.Pow):
            return None
        value = left or right
        assert value is not None
        self._scale(node, value, node.left if left is None else node.right, value.power, False, "arithmetic")
        return None

    def _conditional(self, node: ast.IfExp) -> Value | None:
        self.eval_test(node.test)
        kept = self.guards
        self.guards = (*kept, Guard(node.test, True, "ternary", self.function))
        then = self.eval(node.body)
        self.guards = (*kept, Guard(node.test, False, "ternary", self.function))
        other = self.eval(node.orelse)
        self.guards = kept
        if then is not None and other is None:
            return Value(then.power, then.trace, (*then.guards, Guard(node.test, True, "ternary", self.function)))
        if other is not None and then is None:
            return Value(other.power, other.trace, (*other.guards, Guard(node.test, False, "ternary", self.function)))
        return then

    def _compare(self, node: ast.Compare) -> None:
        operands = [node.left, *node.comparators]
        values = [self.eval(operand) for operand in operands]
        found = next((value for value in values if value is not None), None)
        if found is None:
            return
        others = [operand for operand, value in zip(operands, values, strict=True) if value is None]
        if all(_is_neutral(other) or _is_neutral_group(other) for other in others) and all(
            isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for op in node.ops
        ):
            return
        self._emit(Compared(node, self.statement, self.function, self.guards, found.trace))

    def _call(self, node: ast.Call) -> Value | None:
        profile = self.profile
        name = terminal_name(node.func)
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        received = self.eval(receiver) if receiver is not None else None
        if isinstance(node.func, ast.Call):
            self.eval(node.func)
        arguments = [(None, a.value if isinstance(a, ast.Starred) else a) for a in node.args]
        keywords = [(k.arg, k.value) for k in node.keywords]
        sites: dict[ast.expr, ast.AST] = {k.value: k for k in node.keywords}
        values = [(key, argument, self.eval(argument)) for key, argument in [*arguments, *keywords]]

        self._call_sinks(node, name, receiver)
        key = node.args[1] if name == "getattr" and len(node.args) > 1 else node.args[0] if node.args else None
        if name in ("getattr", "get", "pop") and isinstance(key, ast.Constant) and key.value in profile.factor:
            return Value(1, (Step(node, f"read of `{key.value}`"),))
        if name in _TALK:
            return None
        tainted = [(k, a, v) for k, a, v in values if v is not None]
        if name in _PASS_THROUGH:
            if tainted and not (name == "full" and len(node.args) > 1 and tainted[0][1] is not node.args[-1]):
                return tainted[0][2]
            return received
        if self._scaling_call(node, name, receiver, tainted):
            return None
        callee = self._resolve(node)
        for key_name, argument, value in tainted:
            self._emit(
                Handed(sites.get(argument, argument), self.statement, self.function, (*self.guards, *value.guards), value.trace,
                       node, self._real_name(name) or _text(node.func), key_name, value.power,
                       tuple(guard for guard in value.guards if guard not in self.guards))
            )  # fmt: skip
            if callee is not None:
                parameter = _parameter_for(callee, node, key_name, argument)
                if parameter is not None and parameter not in profile.factor:
                    step = Step(argument, f"handed to `{name}` as `{parameter}`", crossing=True)
                    self.analysis.note_parameter(
                        callee, parameter, Value(value.power, (*value.trace, step), value.guards)
                    )
        if callee is not None and callee in self.analysis.returns:
            returned = self.analysis.returns[callee]
            return returned.then(node, f"returned by `{name}`")
        return None

    def _call_sinks(self, node: ast.Call, name: str, receiver: ast.expr | None) -> None:
        profile = self.profile
        for keyword in node.keywords:
            if keyword.arg in profile.flags or keyword.arg in profile.runner_flags:
                self._emit(
                    FlagSet(keyword.value, self.statement, self.function, self.guards, (), keyword.value,
                            str(keyword.arg), node)
                )  # fmt: skip
            if keyword.arg in profile.slot_weight:
                self._slot(keyword, keyword.value, "argument", f"{name}({keyword.arg}=)")
        sink = self._real_name(name) if isinstance(node.func, ast.Name) else name
        for argument in profile.slot_sinks.get(sink, ()):
            for keyword in node.keywords:
                if keyword.arg == argument and argument not in profile.slot_weight:
                    self._slot(keyword, keyword.value, "argument", f"{name}({argument}=)")
            if argument.isdecimal() and int(argument) < len(node.args):
                positional = node.args[int(argument)]
                self._slot(positional, positional, "argument", f"{name}()")
        if name == "fill_" and isinstance(receiver, ast.Subscript) and node.args:
            if self._is_weights(receiver.value) and _last_columns(receiver.slice):
                self._slot(node, node.args[0], "column", ast.unparse(receiver))
        elif name in ("cat", "concat", "concatenate") and node.args and isinstance(node.args[0], (ast.List, ast.Tuple)):
            parts = node.args[0].elts
            if len(parts) > 1 and self._is_weights(parts[0]):
                for part in parts[1:]:
                    filler = self._filler(part)
                    if filler is not None:
                        self._slot(part, filler, "column", f"{name}({ast.unparse(parts[0])}, ...)")
        elif name == "pad" and node.args and self._is_weights(node.args[0]):
            for keyword in node.keywords:
                if keyword.arg == "value":
                    self._slot(keyword.value, keyword.value, "column", f"pad({ast.unparse(node.args[0])})")

    def _real_name(self, name: str) -> str:
        """What a callee is called where it is defined: through a local alias and `import ... as`."""
        if name not in self.module.imports:
            for bound in self.module.definitions(self.function).get(name, ()):
                if terminal_name(bound) not in ("", name):
                    return terminal_name(bound)
        return self.module.imports.get(name, name).rsplit(".", 1)[-1]

    def _filler(self, node: ast.expr) -> ast.expr | None:
        """The value that `new_full`, `full`, `ones` ... puts into a column, through one local name."""
        if isinstance(node, ast.Name):
            bound = self.module.definitions(self.function).get(node.id, [])
            return self._filler(bound[-1]) if bound and not isinstance(bound[-1], ast.Name) else None
        if isinstance(node, ast.Call):
            name = terminal_name(node.func)
            if name in ("new_full", "full", "full_like") and len(node.args) > 1:
                return node.args[1]
            if name in ("ones", "ones_like", "new_ones"):
                return ast.copy_location(ast.Constant(1.0), node)
        return None

    def _scaling_call(
        self, node: ast.Call, name: str, receiver: ast.expr | None,
        tainted: list[tuple[str | None, ast.expr, Value]],
    ) -> bool:  # fmt: skip
        if not tainted:
            return False
        key, argument, value = tainted[0]
        if name in _MUL or name in _DIV:
            power = value.power if name in _MUL else -value.power
            operands = [a for a in node.args if a is not argument]
            torch_function = isinstance(receiver, ast.Name) and receiver.id in self.module.imports
            scaled = operands[0] if torch_function and operands else receiver
            self._scale(node, value, scaled, power, name.endswith("_"), f"{name}()")
            return True
        if name in _ADD and key == "alpha":
            others = [a for a in node.args if a is not argument]
            self._scale(
                node, value, others[-1] if others else receiver, value.power, name.endswith("_"), f"{name}(alpha=)"
            )
            return True
        return False

    def _dictionary_entry(self, key: ast.expr, item: ast.expr) -> None:
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value in self.profile.flags:
            self._emit(FlagSet(item, self.statement, self.function, self.guards, (), item, key.value, None))

    def _resolve(self, node: ast.Call) -> Function | None:
        if isinstance(node.func, ast.Name):
            return self.module.function(node.func.id)
        if isinstance(node.func, ast.Attribute) and _is_self(node.func.value, self.function):
            return self.module.function(node.func.attr, self.function.cls)
        return None

    def _is_weights(self, node: ast.expr) -> bool:
        return terminal_name(node) in self.profile.topk_weights

    def _scale(
        self, node: ast.AST, value: Value, scaled: ast.expr | None, power: int, in_place: bool, form: str
    ) -> None:
        self._emit(
            Scale(node, self.statement, self.function, (*self.guards, *value.guards), value.trace,
                  scaled, power, in_place, form)
        )  # fmt: skip

    def _slot(self, node: ast.AST, value: ast.expr, how: str, target: str) -> None:
        power, trace = self._content(value)
        self._emit(
            SlotWrite(node, self.statement, self.function, self.guards, trace, value, how, target, power)  # type: ignore[arg-type]
        )

    def _content(self, node: ast.expr) -> tuple[int | None, tuple[Step, ...]]:
        """The factor's exponent in `node`, looking through products and quotients, without events."""
        count = len(self.events)
        value = self.eval(node)
        scales = [e for e in self.events[count:] if isinstance(e, Scale)]
        del self.events[count:]
        if value is not None:
            return value.power, value.trace
        return (scales[-1].power, scales[-1].trace) if scales else (None, ())

    def _emit(self, event: Event) -> None:
        self.events.append(event)


@lru_cache(maxsize=16)
def _pattern(words: frozenset[str]) -> re.Pattern[bytes]:
    """One search for all words; shorter ones stand for the longer that contain them."""
    stems = [word for word in words if not any(other != word and other in word for other in words)]
    return re.compile("|".join(sorted(map(re.escape, stems))).encode() or b"(?!)")


def _is_kernel(function: Function) -> bool:
    """A device function: it computes what its caller orders."""
    return any(terminal_name(decorator) in ("jit", "kernel") for decorator in function.node.decorator_list)


def _is_self(node: ast.expr, function: Function) -> bool:
    while function.outer is not None:
        function = function.outer
    args = function.node.args.args
    return function.cls is not None and bool(args) and isinstance(node, ast.Name) and node.id == args[0].arg


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _is_number(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp):
        node = node.operand
    return isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)


def _is_scalar_call(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("float", "int", "len")


def _is_neutral(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, (bool, str)) and node.value in _NEUTRAL


def _is_neutral_group(node: ast.expr) -> bool:
    return isinstance(node, (ast.Tuple, ast.Set, ast.List)) and all(_is_neutral(item) for item in node.elts)


def _is_neutral_merge(node: ast.expr) -> bool:
    """`x if c else 1.0`, `x or 1.0`: the value says its own guards."""
    return isinstance(node, (ast.IfExp, ast.BoolOp))


def _last_columns(index: ast.expr) -> bool:
    """`[:, -1]`, `[:, -n:]`, `[..., k:]`, `[:, k]`: the trailing columns of a two-dimensional tensor."""
    if not isinstance(index, ast.Tuple) or len(index.elts) < 2:
        return False
    last = index.elts[-1]
    if isinstance(last, ast.Slice):
        return last.lower is not None and last.upper is None and not isinstance(last.lower, ast.Constant)
    return isinstance(last, (ast.UnaryOp, ast.Name, ast.Attribute, ast.BinOp))


def _ends(body: Iterable[ast.stmt]) -> bool:
    """Whether control never leaves `body` at its end."""
    last: ast.stmt | None = None
    for last in body:
        pass
    if isinstance(last, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
        return True
    if isinstance(last, ast.If):
        return bool(last.orelse) and _ends(last.body) and _ends(last.orelse)
    if isinstance(last, (ast.With, ast.AsyncWith)):
        return _ends(last.body)
    return False


def _parameter_for(callee: Function, call: ast.Call, keyword: str | None, argument: ast.expr) -> str | None:
    parameters = [parameter.arg for parameter in callee.parameters()]
    if keyword is not None:
        return keyword if keyword in parameters else None
    position = next((i for i, a in enumerate(call.args) if a is argument), None)
    if position is None or any(isinstance(a, ast.Starred) for a in call.args):
        return None
    bound = callee.cls is not None and isinstance(call.func, ast.Attribute)
    position += 1 if bound and parameters and parameters[0] in ("self", "cls") else 0
    return parameters[position] if position < len(parameters) else None


def _text(node: ast.AST) -> str:
    text = ast.unparse(node)
    return text if len(text) <= 60 else text[:57] + "..."
