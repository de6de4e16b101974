"""Guards as boolean functions: who is asked before a scale is applied.

Every test becomes a function over variables named `kind` or `kind:detail`. Kinds: `platform` and the profile's back
end groups (exclusive values), `answer` (a central helper, or where its answer is stored), `wish` (the experts'),
`flag` (the router's own), `quant` (type of a quantisation method), `other` (all that does not decide a scale).
Tests of the factor's neutral values are taken to be true for a factor worth the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.branches import result_of
from moelint.linter.analysis.events import Guard
from moelint.linter.analysis.holders import Holders
from moelint.linter.analysis.lookup import Callee
from moelint.linter.analysis.module import Function, Module, source_text, terminal_name
from moelint.linter.analysis.walk import walk
from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node

_DEPTH = 8
ANSWER = "answer"
WISH = "wish"
FLAG = "flag"
TOLD = "flag:told"
"""A router's flag that the function is told by its caller: it orders the fold, so it also says whether it happens."""
QUANT = "quant"
OTHER = "other"
_NONE = " is None"


def kind(variable: str) -> str:
    """The kind of a variable."""
    return variable.split(":", 1)[0]


class Guards:
    """Turns tests of one module into functions of one universe."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.profile = module.profile
        self.diagrams = Diagrams()
        self.holders = Holders(module)
        self._tests: dict[tuple[ast.expr, Function | None], tuple[Node, list[tuple[ast.AST, str]]]] = {}
        self._choices: dict[tuple[ast.IfExp, Function | None, int], Node] = {}
        """Choices that occur in several places of one expression, for the calls that are being looked into."""
        self._asked: set[str] = set()
        """What the central helpers are asked about, as source text."""
        self._alternatives: dict[Guard, Node] = {}
        self._calls: dict[Function, tuple[Callee, ast.Call, Function | None]] = {}
        self.origins: list[tuple[ast.AST, str]] = []
        """Where the attributes and locals that the last condition looked into are set."""

    def condition(self, guards: Iterable[Guard]) -> Node:
        """The conjunction of a stack of guards. Loops and handlers do not narrow it."""
        self.origins = []
        return self._conjunction(guards)

    def possible(self, guards: tuple[Guard, ...]) -> bool:
        """Whether control can come where the guards hold: they do not contradict each other.

        A single test that is never true says nothing of the kind: somebody decided by a literal.
        """
        if len(guards) < 2:
            return True
        return self._conjunction(guards) != FALSE or any(self._guard(guard) == FALSE for guard in guards)

    def _conjunction(self, guards: Iterable[Guard]) -> Node:
        result = TRUE
        for guard in guards:
            if guard.kind not in ("loop", "handler"):
                result = self.diagrams.conj(result, self._guard(guard))
        return result

    def _guard(self, guard: Guard) -> Node:
        if not guard.alternatives:
            node, origins = self._looked_into(guard.test, guard.function)
            self.origins += origins
            return node if guard.positive else self.diagrams.neg(node)
        if guard not in self._alternatives:
            node = FALSE
            for alternative in guard.alternatives:
                node = self.diagrams.disj(node, self._conjunction(alternative))
            self._alternatives[guard] = self._called(node, guard.function) if guard.kind == "callers" else node
        return self._alternatives[guard]

    def truth(self, test: ast.expr, function: Function | None) -> Node:
        """The boolean function of a whole test, worked out once."""
        return self._looked_into(test, function)[0]

    def _looked_into(self, test: ast.expr, function: Function | None) -> tuple[Node, list[tuple[ast.AST, str]]]:
        """The boolean function of a test, and where what it asks is set."""
        key = test, function
        if key not in self._tests:
            count = len(self.origins)
            self._tests[key] = self.formula(test, function), self.origins[count:]
            del self.origins[count:]
        return self._tests[key]

    def _called(self, node: Node, function: Function | None) -> Node:
        """The condition under which a function is called, without the choice of a back end, which picks a route.

        A function that others may call too is judged by it only if whoever calls it here asks.
        """
        groups = {*self.profile.backend_sources.values(), *self.profile.backend_predicates.values()}
        node = self.diagrams.exists(node, lambda variable: kind(variable) in groups)
        private = function is not None and (function.outer is not None or function.name.startswith("_"))
        return node if private or self.kinds(node) & {ANSWER, WISH, FLAG} else TRUE

    def decisive(self, node: Node) -> tuple[Node, bool]:
        """`node` without the variables that do not decide a scale, and whether one of them weakens it.

        Such a variable may narrow the condition (`enabled and not folded`): it is left out. Where leaving it out would
        leave nothing that decides (`enabled or not folded`), it weakens the condition, which is then taken where the
        variable does not help. That an object is None is no weakening: who has no router has nobody to ask.
        """
        weakened = False
        for variable in sorted(v for v in self.diagrams.support(node) if kind(v) == OTHER):
            narrowed = self.diagrams.exists(node, variable.__eq__)
            if self._decided(node) and not self._decided(narrowed):
                narrowed = self.diagrams.neg(self.diagrams.exists(self.diagrams.neg(node), variable.__eq__))
                weakened = weakened or not self._nobody_to_ask(variable)
            node = narrowed
        return node, weakened

    def _nobody_to_ask(self, variable: str) -> bool:
        """Whether a variable says that the object whose answer is asked for is None."""
        subject = variable.removeprefix(f"{OTHER}:").removesuffix(_NONE)
        return variable.endswith(_NONE) and any(subject in asked for asked in self._asked)

    def _decided(self, node: Node) -> bool:
        """Whether something occurs that decides a scale."""
        return bool(self.kinds(node) - {OTHER})

    def kinds(self, node: Node) -> set[str]:
        """The kinds of the variables that `node` depends on."""
        return {kind(variable) for variable in self.diagrams.support(node)}

    def answer(self) -> Node:
        """The function "routing folded the factor"."""
        return self.diagrams.literal(ANSWER)

    def formula(self, test: ast.expr, function: Function | None, depth: int = _DEPTH) -> Node:
        """The boolean function of an expression, with local aliases, attributes and properties expanded."""
        diagrams = self.diagrams
        if isinstance(test, ast.BoolOp):
            parts = [self.formula(part, function, depth) for part in test.values]
            result = parts[0]
            for part in parts[1:]:
                result = diagrams.conj(result, part) if isinstance(test.op, ast.And) else diagrams.disj(result, part)
            return result
        if isinstance(test, ast.BinOp) and isinstance(test.op, (ast.BitAnd, ast.BitOr)):
            left, right = self.formula(test.left, function, depth), self.formula(test.right, function, depth)
            return diagrams.conj(left, right) if isinstance(test.op, ast.BitAnd) else diagrams.disj(left, right)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return diagrams.neg(self.formula(test.operand, function, depth))
        if isinstance(test, ast.IfExp):
            key = (test, function, depth)
            if key not in self._choices:
                self._choices[key] = diagrams.ite(
                    self.formula(test.test, function, depth),
                    self.formula(test.body, function, depth),
                    self.formula(test.orelse, function, depth),
                )
            return self._choices[key]
        if isinstance(test, ast.Constant):
            return TRUE if test.value else FALSE
        if isinstance(test, ast.NamedExpr):
            return self.formula(test.value, function, depth)
        if isinstance(test, ast.Compare):
            return self._compare(test, function, depth)
        if isinstance(test, ast.Name):
            return self._name(test, function, depth)
        if isinstance(test, ast.Attribute):
            return self._attribute(test, function, depth)
        if isinstance(test, ast.Call):
            return self._call(test, function, depth)
        return self._other(test)

    def _name(self, node: ast.Name, function: Function | None, depth: int) -> Node:
        name = self.module.real_name(node)
        if name in self.profile.platform:
            return self._platform(name)
        if self._is_factor(node):
            return TRUE
        if depth > 0:
            binder = self.holders.binder(node.id, function)
            if binder is not None:
                return self._local(node, binder, function, depth)
            parameter = self._parameter(node.id, function, depth)
            if parameter is not None:
                return parameter
            if name in self.profile.flags and self.holders.takes(name, function):
                return self.diagrams.literal(TOLD)
            if name in self.module.constants and not self.holders.is_parameter(name, function):
                return self.formula(self.module.constants[name], None, depth - 1)
        return self._by_name(node, name)

    def _by_name(self, node: ast.expr, name: str) -> Node:
        """What a name says of itself."""
        if name in self.profile.answer_names:
            return self.answer()
        if name in self.profile.wish:
            return self.diagrams.literal(WISH)
        if name in self.profile.flags or name in self.profile.runner_flags:
            return self.diagrams.literal(FLAG)
        return self._other(node)

    def _local(self, node: ast.Name, binder: Function, function: Function | None, depth: int) -> Node:
        """A local name: what it holds at this place, over the branches that lead here."""
        held = self.holders.local(node, binder, function)
        definitions = self.module.definitions(binder)[node.id]
        if held is not None:
            self.origins += [(value, f"`{node.id}` is decided here") for value in definitions]
            expanded = self.formula(held, binder, depth - 1)
            if self._decides(expanded):
                return expanded
        elif node.id in self.profile.answer_names and all(
            self._is_answer(value, binder, depth - 1) for value in definitions
        ):
            return self.answer()
        return self._other(node)

    def _parameter(self, name: str, function: Function | None, depth: int) -> Node | None:
        """A parameter: what the call that is being looked into hands over, else what all calls in this module do."""
        while function is not None and not self.holders.is_parameter(name, function):
            function = function.outer
        if function is None:
            return None
        if function in self._calls:
            calls = [self._calls[function]]
        else:
            calls = [(call.callee, call.node, call.function) for call in self.module.flow.callers.get(function, ())]
        found: set[Node] = set()
        for callee, call, caller in calls:
            argument = callee.argument(call, name)
            if argument is None:
                return None
            found.add(self.formula(argument, caller, depth - 1))
        if len(found) != 1:
            return None
        node = found.pop()
        return node if self._decides(node) else None

    def _decides(self, node: Node) -> bool:
        """Whether a function depends on something that decides a scale, or on nothing at all."""
        kinds = self.kinds(node)
        return not kinds or bool(kinds - {OTHER})

    def _attribute(self, node: ast.Attribute, function: Function | None, depth: int) -> Node:
        name = node.attr
        if name in self.profile.wish:
            return self.diagrams.literal(WISH)
        if self._is_factor(node):
            return TRUE
        values = self.holders.attribute_values(node, function)
        self.origins += [
            (place, f"`{ast.unparse(node)}` is decided here") for place in self.holders.assignments(node, function)
        ]
        if name in self.profile.flags or name in self.profile.runner_flags:
            return self.diagrams.literal(FLAG)
        if depth > 0 and values:
            if name in self.profile.answer_names and all(self._is_answer(*value, depth - 1) for value in values):
                return self.answer()
            held = self.holders.held(node, function)
            if held is not None:
                expanded = self.formula(held[0], held[1], depth - 1)
                if self._decides(expanded):
                    return expanded
            if name in self.profile.answer_names:
                union = self._union(values, depth)
                return union if self._decides(union) else self._other(node)
        if name in self.profile.platform:
            return self._platform(name)
        return self._by_name(node, name) if not values else self._other(node)

    def _call(self, node: ast.Call, function: Function | None, depth: int) -> Node:
        name = self.module.real_name(node.func)
        if name in self.profile.answer_calls:
            self._asked.update(map(ast.unparse, node.args))
            return self.answer()
        if name == "bool" and len(node.args) == 1:
            return self.formula(node.args[0], function, depth)
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            stand_in = ast.Attribute(node.args[0], str(node.args[1].value), ast.Load())
            return self._attribute(ast.copy_location(stand_in, node), function, depth)
        if name == "isinstance" and len(node.args) == 2 and self._is_quant_method(node.args[0], function):
            return self.diagrams.literal(f"{QUANT}:{ast.unparse(node.args[1])}")
        if name in ("any", "all") and len(node.args) == 1 and isinstance(node.args[0], (ast.List, ast.Tuple)):
            combined = ast.BoolOp(ast.Or() if name == "any" else ast.And(), node.args[0].elts)
            return self.formula(combined, function, depth) if node.args[0].elts else self._other(node)
        if name in self.profile.platform:
            return self._platform(name)
        if name in self.profile.backend_predicates:
            return self.diagrams.literal(f"{self.profile.backend_predicates[name]}", (name,))
        if isinstance(node.func, ast.Attribute) and name.startswith("is_"):
            source = terminal_name(self.holders.resolve(node.func.value, function))
            group = self.profile.backend_sources.get(source)
            if group is not None:
                return self.diagrams.literal(group, (name.removeprefix("is_"),))
        callee = self.holders.lookup.callee(node, function) if depth > 0 else None
        if callee is not None and callee.function not in self._calls:
            result = result_of(callee.function.node)
            if result is not None:
                choices, self._choices = self._choices, {}
                self._calls[callee.function] = (callee, node, function)
                expanded = self.formula(result, callee.function, depth - 1)
                del self._calls[callee.function]
                self._choices = choices
                if self._decides(expanded):
                    return expanded
        return self._other(node)

    def _is_quant_method(self, node: ast.expr, function: Function | None) -> bool:
        """Whether an expression is a quantisation method, its type or the name of its type."""
        node = self.holders.resolve(node, function)
        while isinstance(node, ast.Attribute) and node.attr in ("__class__", "__name__", "__qualname__"):
            node = node.value
        if isinstance(node, ast.Call) and terminal_name(node.func) == "type" and node.args:
            node = self.holders.resolve(node.args[0], function)
        return terminal_name(node) in self.profile.quant_attributes and not isinstance(node, ast.Call)

    def _compare(self, node: ast.Compare, function: Function | None, depth: int) -> Node:
        operands = [node.left, *node.comparators]
        if any(self._is_factor(self.holders.resolve(operand, function)) for operand in operands) and len(node.ops) == 1:
            return FALSE if isinstance(node.ops[0], (ast.Is, ast.Eq, ast.In)) else TRUE
        if len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant):
            value = node.comparators[0].value
            if isinstance(value, bool) and isinstance(node.ops[0], (ast.Is, ast.Eq, ast.IsNot, ast.NotEq)):
                formula = self.formula(node.left, function, depth)
                same = value == isinstance(node.ops[0], (ast.Is, ast.Eq))
                return formula if same else self.diagrams.neg(formula)
        if len(node.ops) == 1 and self._is_quant_method(node.left, function) and _names_type(node.left):
            literal = self.diagrams.literal(f"{QUANT}:{ast.unparse(node.comparators[0])}")
            return literal if isinstance(node.ops[0], (ast.Is, ast.Eq, ast.In)) else self.diagrams.neg(literal)
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.In, ast.NotEq, ast.NotIn)):
            group = self.profile.backend_sources.get(terminal_name(self.holders.resolve(node.left, function)))
            values = _constant_names(node.comparators[0])
            if group is not None and values:
                literal = self.diagrams.literal(group, values)
                return literal if isinstance(node.ops[0], (ast.Eq, ast.In)) else self.diagrams.neg(literal)
        if len(node.ops) == 1 and isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None:
            is_none = self.diagrams.literal(f"{OTHER}:{source_text(node.left)}{_NONE}")
            return is_none if isinstance(node.ops[0], (ast.Is, ast.Eq)) else self.diagrams.neg(is_none)
        return self._other(node)

    def _is_answer(self, value: ast.expr, owner: Function | None, depth: int) -> bool:
        """Whether a stored value is a helper's answer, or a router's own flag, which for that router is one."""
        return self.says_folded(self.formula(value, owner, depth))

    def says_folded(self, node: Node) -> bool:
        """Whether a function is an answer, a router's own flag, or made of such without a change of sign."""
        yes = self.diagrams.restrict(node, dict.fromkeys((ANSWER, FLAG, TOLD), True))
        no = self.diagrams.restrict(node, dict.fromkeys((ANSWER, FLAG, TOLD), False))
        return yes == TRUE and no == FALSE

    def _union(self, written: list[tuple[ast.expr, Function | None]], depth: int) -> Node:
        result = FALSE
        for value, owner in written:
            result = self.diagrams.disj(result, self.formula(value, owner, depth - 1))
        return result

    def literal(self, node: ast.expr, function: Function | None) -> str | None:
        """The literal that an expression comes down to, as text; None where anything but literals decides it.

        A test of the factor's neutral values is no literal, although it is taken to be true.
        """
        node = self.holders.resolve(node, function)
        if isinstance(node, ast.Constant):
            return repr(node.value)
        truth = self.formula(node, function)
        if truth not in (TRUE, FALSE) or any(
            isinstance(part, ast.expr) and self._is_factor(part) for part in walk(node)
        ):
            return None
        return repr(truth == TRUE)

    def _is_factor(self, node: ast.expr) -> bool:
        return terminal_name(node) in self.profile.factor and not isinstance(node, ast.Call)

    def _platform(self, name: str) -> Node:
        return self.diagrams.literal("platform", self.profile.platform[name])

    def _other(self, node: ast.expr) -> Node:
        return self.diagrams.literal(f"{OTHER}:{source_text(node)}")


def _constant_names(node: ast.expr) -> tuple[str, ...]:
    """The last names or strings of a constant, an enum member or a collection of them."""
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    names = [
        item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else terminal_name(item)
        for item in items
    ]
    return tuple(name.lower() for name in names) if all(names) else ()


def _names_type(node: ast.expr) -> bool:
    """`type(x)`, `x.__class__` or the name of one of them; not `x` itself, which may be compared with None."""
    return any(
        isinstance(part, ast.expr) and (getattr(part, "attr", None) == "__class__" or terminal_name(part) == "type")
        for part in walk(node)
    )
