"""Guards as boolean functions: who is asked before a scale is applied.

Every test becomes a function over variables named `kind` or `kind:detail`. Kinds: `platform` and the profile's back
end groups (exclusive values), `answer` (a central helper, or where its answer is stored), `wish` (the experts'),
`flag` (the router's own), `quant` (type of a quantisation method), `other` (all that does not decide a scale).
Tests of the factor's neutral values are taken to be true for a factor worth the name.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from moelint.linter.analysis.events import Guard
from moelint.linter.analysis.module import Function, Module, terminal_name
from moelint.linter.diagram import FALSE, TRUE, Diagrams, Node

_DEPTH = 8
ANSWER = "answer"
WISH = "wish"
FLAG = "flag"
QUANT = "quant"
OTHER = "other"


def kind(variable: str) -> str:
    """The kind of a variable."""
    return variable.split(":", 1)[0]


class Guards:
    """Turns tests of one module into functions of one universe."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.profile = module.profile
        self.diagrams = Diagrams()
        self.origins: list[tuple[ast.AST, str]] = []
        """Where the attributes and locals that the last condition looked into are set."""

    def condition(self, guards: Iterable[Guard]) -> Node:
        """The conjunction of a stack of guards. Loops and handlers do not narrow it."""
        result = TRUE
        self.origins = []
        for guard in guards:
            if guard.kind in ("loop", "handler"):
                continue
            node = self.formula(guard.test, guard.function)
            result = self.diagrams.conj(result, node if guard.positive else self.diagrams.neg(node))
        return result

    def decisive(self, node: Node) -> Node:
        """`node` without the variables that do not decide a scale."""
        return self.diagrams.exists(node, lambda variable: kind(variable) == OTHER)

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
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            return diagrams.neg(self.formula(test.operand, function, depth))
        if isinstance(test, ast.IfExp):
            return diagrams.ite(
                self.formula(test.test, function, depth),
                self.formula(test.body, function, depth),
                self.formula(test.orelse, function, depth),
            )
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
        name = node.id
        if name in self.profile.platform:
            return self._platform(name)
        if self._is_factor(node):
            return TRUE
        if depth > 0:
            bound = self._local(name, function)
            if bound is not None:
                definitions, owner = bound
                if len(definitions) == 1:
                    self.origins.append((definitions[0], f"`{name}` is decided here"))
                    expanded = self.formula(definitions[0], owner, depth - 1)
                    if OTHER not in self.kinds(expanded) or self.kinds(expanded) - {OTHER}:
                        return expanded
                elif name in self.profile.answer_names and all(
                    self._is_answer(d, owner, depth - 1) for d in definitions
                ):
                    return self.answer()
                return self._other(node)
            if name in self.module.constants and not self._is_parameter(name, function):
                return self.formula(self.module.constants[name], None, depth - 1)
        if name in self.profile.answer_names:
            return self.answer()
        if name in self.profile.wish:
            return self.diagrams.literal(WISH)
        if name in self.profile.flags or name in self.profile.runner_flags:
            return self.diagrams.literal(FLAG)
        return self._other(node)

    def _attribute(self, node: ast.Attribute, function: Function | None, depth: int) -> Node:
        name = node.attr
        if name in self.profile.wish:
            return self.diagrams.literal(WISH)
        if self._is_factor(node):
            return TRUE
        written = self._attribute_values(node, function)
        self.origins += [(place, f"`{ast.unparse(node)}` is decided here") for place in self._assignments(node, function)]
        if name in self.profile.answer_names:
            if written and not all(self._is_answer(value, owner, depth - 1) for value, owner in written):
                return self._union(written, depth) if depth > 0 else self._other(node)
            return self.answer()
        if name in self.profile.flags or name in self.profile.runner_flags:
            return self.diagrams.literal(FLAG)
        if written and depth > 0:
            if len(written) == 1:
                expanded = self.formula(written[0][0], written[0][1], depth - 1)
                if self.kinds(expanded) - {OTHER}:
                    return expanded
            elif function is not None and function.cls is not None and function.cls.has_property(name):
                return self._union(written, depth)
        if name in self.profile.platform:
            return self._platform(name)
        return self._other(node)

    def _call(self, node: ast.Call, function: Function | None, depth: int) -> Node:
        name = terminal_name(node.func)
        if name in self.profile.answer_calls:
            return self.answer()
        if name == "bool" and len(node.args) == 1:
            return self.formula(node.args[0], function, depth)
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            stand_in = ast.Attribute(node.args[0], str(node.args[1].value), ast.Load())
            return self._attribute(ast.copy_location(stand_in, node), function, depth)
        if name == "isinstance" and len(node.args) == 2:
            subject = self._resolve_alias(node.args[0], function)
            if terminal_name(subject) in self.profile.quant_attributes:
                return self.diagrams.literal(f"{QUANT}:{ast.unparse(node.args[1])}")
        if name in self.profile.platform:
            return self._platform(name)
        if name in self.profile.backend_predicates:
            return self.diagrams.literal(f"{self.profile.backend_predicates[name]}", (name,))
        if isinstance(node.func, ast.Attribute) and name.startswith("is_"):
            source = terminal_name(self._resolve_alias(node.func.value, function))
            group = self.profile.backend_sources.get(source)
            if group is not None:
                return self.diagrams.literal(group, (name.removeprefix("is_"),))
        if depth > 0 and not node.args and not node.keywords:
            returned = self._single_return(node, function)
            if returned is not None:
                return self.formula(returned[0], returned[1], depth - 1)
        return self._other(node)

    def _compare(self, node: ast.Compare, function: Function | None, depth: int) -> Node:
        operands = [node.left, *node.comparators]
        if any(self._is_factor(self._resolve_alias(operand, function)) for operand in operands) and len(node.ops) == 1:
            return FALSE if isinstance(node.ops[0], (ast.Is, ast.Eq, ast.In)) else TRUE
        if len(node.ops) == 1 and isinstance(node.ops[0], (ast.Eq, ast.In, ast.NotEq, ast.NotIn)):
            group = self.profile.backend_sources.get(terminal_name(self._resolve_alias(node.left, function)))
            values = _constant_names(node.comparators[0])
            if group is not None and values:
                literal = self.diagrams.literal(group, values)
                return literal if isinstance(node.ops[0], (ast.Eq, ast.In)) else self.diagrams.neg(literal)
        return self._other(node)

    def _is_answer(self, value: ast.expr, owner: Function | None, depth: int) -> bool:
        """Whether a stored value is a helper's answer, or a router's own flag, which for that router is one."""
        node = self.formula(value, owner, depth)
        return self.kinds(node) <= {ANSWER, FLAG} and node not in (TRUE, FALSE)

    def _union(self, written: list[tuple[ast.expr, Function | None]], depth: int) -> Node:
        result = FALSE
        for value, owner in written:
            result = self.diagrams.disj(result, self.formula(value, owner, depth - 1))
        return result

    def _attribute_values(
        self, node: ast.Attribute, function: Function | None
    ) -> list[tuple[ast.expr, Function | None]]:
        cls = function.cls if function is not None else None
        if cls is None or not isinstance(node.value, ast.Name) or node.value.id not in ("self", "cls"):
            return []
        for ancestor in self.module.ancestry(cls):
            if ancestor.has_property(node.attr):
                method = ancestor.methods[node.attr]
                return [(value, method) for value in _returns(method)]
            if node.attr in ancestor.attributes:
                init = ancestor.methods.get("__init__")
                return [(value, init) for value in ancestor.attributes[node.attr]]
        return []

    def _assignments(self, node: ast.Attribute, function: Function | None) -> list[ast.stmt]:
        if function is None or function.cls is None or not isinstance(node.value, ast.Name):
            return []
        if node.value.id not in ("self", "cls"):
            return []
        for ancestor in self.module.ancestry(function.cls):
            if node.attr in ancestor.assignments:
                return ancestor.assignments[node.attr]
        return []

    def _single_return(self, node: ast.Call, function: Function | None) -> tuple[ast.expr, Function | None] | None:
        target: Function | None = None
        if isinstance(node.func, ast.Name):
            target = self.module.function(node.func.id)
        elif (
            isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
            and node.func.value.id == "self"
            and function is not None
            and function.cls is not None
        ):
            target = self.module.function(node.func.attr, function.cls)
        values = _returns(target) if target is not None else []
        return (values[0], target) if len(values) == 1 else None

    def _local(self, name: str, function: Function | None) -> tuple[list[ast.expr], Function] | None:
        while function is not None:
            found = self.module.definitions(function).get(name)
            if found:
                return found, function
            if self._is_parameter(name, function):
                return None
            function = function.outer
        return None

    def _resolve_alias(self, node: ast.expr, function: Function | None) -> ast.expr:
        for _ in range(_DEPTH):
            if isinstance(node, ast.Name):
                bound = self._local(node.id, function)
                if bound is None or len(bound[0]) != 1:
                    return node
                node = bound[0][0]
            elif isinstance(node, ast.Attribute):
                if node.attr in self.profile.backend_sources or node.attr in self.profile.quant_attributes:
                    return node
                written = self._attribute_values(node, function)
                if len(written) != 1:
                    return node
                node = written[0][0]
            else:
                return node
        return node

    def _is_factor(self, node: ast.expr) -> bool:
        return terminal_name(node) in self.profile.factor and not isinstance(node, ast.Call)

    @staticmethod
    def _is_parameter(name: str, function: Function | None) -> bool:
        return function is not None and any(parameter.arg == name for parameter in function.parameters())

    def _platform(self, name: str) -> Node:
        return self.diagrams.literal("platform", self.profile.platform[name])

    def _other(self, node: ast.expr) -> Node:
        return self.diagrams.literal(f"{OTHER}:{ast.unparse(node)}")


def _returns(function: Function) -> list[ast.expr]:
    return [node.value for node in ast.walk(function.node) if isinstance(node, ast.Return) and node.value is not None]


def _constant_names(node: ast.expr) -> tuple[str, ...]:
    """The last names or strings of a constant, an enum member or a collection of them."""
    items = node.elts if isinstance(node, (ast.Tuple, ast.List, ast.Set)) else [node]
    names = [
        item.value if isinstance(item, ast.Constant) and isinstance(item.value, str) else terminal_name(item)
        for item in items
    ]
    return tuple(name.lower() for name in names) if all(names) else ()
