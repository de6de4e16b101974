"""The statements of a function, walked once with what is known so far: names, branches, guards."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from moelint.linter.analysis.evaluate import Evaluator
from moelint.linter.analysis.events import Guard, GuardKind, Step, Value, either, one_of
from moelint.linter.analysis.module import TRIES, Function, terminal_name
from moelint.linter.analysis.shapes import case_test, ends, is_none, is_self, path_text
from moelint.linter.analysis.walk import walk


class FunctionWalk(Evaluator):
    """The walk over the statements of one outermost function and of the functions nested in it."""

    def enter(self, function: Function) -> None:
        """Walk the body of a function, with what is known of its parameters."""
        profile = self.profile
        defaults = [(parameter.arg, parameter, value, self.eval(value)) for parameter, value in function.defaults()]
        outer, env = self.function, self.env
        self.function, self.env = function, dict(env)
        for parameter in function.parameters():
            name = parameter.arg
            self.env.pop(name, None)
            if name in profile.factor:
                self.env[name] = Value(1, (Step(parameter, f"parameter `{name}`"),))
        for name, parameter, default, value in defaults:
            if value is not None and name not in profile.factor:
                self.env[name] = value.then(parameter, f"default of `{name}`")
            if name in profile.slot_weight and not is_none(default):
                self.slot(parameter, default, "name", name)
        self.env.update(self.known.parameters.get(function, {}))
        self._block(function.node.body)
        self.function, self.env = outer, env

    def _block(self, body: Sequence[ast.stmt]) -> None:
        kept = self.guards
        self._sequence(body)
        self.guards = kept

    def _sequence(self, body: Sequence[ast.stmt]) -> None:
        """Statements of which the last is reached if the first is: what narrows stays narrowed."""
        for statement in body:
            self.statement = statement
            self._visit(statement)
            if isinstance(statement, (ast.Return, ast.Raise, ast.Continue, ast.Break)):
                break

    def _visit(self, statement: ast.stmt) -> None:
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
            self._return(statement)
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            self.eval(statement.iter)
            for node in walk(statement.target):
                if isinstance(node, ast.Name):
                    self._forget(node.id)
            self._guarded(statement.iter, statement.body, "loop")
            self._block(statement.orelse)
        elif isinstance(statement, ast.While):
            self.eval_test(statement.test)
            self._guarded(statement.test, statement.body, "loop")
            self._block(statement.orelse)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                self.eval(item.context_expr)
            self._sequence(statement.body)
        elif isinstance(statement, TRIES):
            self._try(statement)
        elif isinstance(statement, ast.Assert):
            self.eval_test(statement.test)
            self.guards += (Guard(statement.test, True, "assert", self.function),)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            self.enter(self.known.by_node[statement])
        elif isinstance(statement, ast.ClassDef):
            self._block([inner for inner in statement.body if isinstance(inner, ast.FunctionDef)])
        elif isinstance(statement, ast.Match):
            self._match(statement)

    def _match(self, statement: ast.Match) -> None:
        self.eval(statement.subject)
        kept = self.guards
        before: tuple[Guard, ...] = ()
        for case in statement.cases:
            test = case_test(statement.subject, case.pattern)
            here = () if test is None else (Guard(test, True, "if", self.function),)
            asked = () if case.guard is None else (Guard(case.guard, True, "if", self.function),)
            self.guards = (*kept, *before, *here, *asked)
            self._block(case.body)
            if test is not None and case.guard is None:
                before = (*before, Guard(test, False, "if", self.function))
        self.guards = kept

    def _try(self, statement: ast.Try) -> None:
        if statement.handlers:
            self._block(statement.body)
        else:
            self._sequence(statement.body)
        for handler in statement.handlers:
            caught = handler.type or ast.copy_location(ast.Constant(True), handler)
            self._guarded(caught, handler.body, "handler")
        self._block(statement.orelse)
        self._sequence(statement.finalbody)

    def _return(self, statement: ast.Return) -> None:
        if statement.value is None:
            return
        parts: list[tuple[int | None, ast.expr]] = [(None, statement.value)]
        if isinstance(statement.value, ast.Tuple):
            parts = list(enumerate(statement.value.elts))
        for position, part in parts:
            self._note_return(statement, position, part, self.eval(part))
        if isinstance(statement.value, ast.Call):
            callee = self.known.lookup.callee(statement.value, self.function)
            for position in self.known.positions.get(callee.function, ()) if callee is not None else ():
                returned = self.known.returns[callee.function, position]  # type: ignore[union-attr]
                self._note_return(statement, position, statement.value, returned)

    def _note_return(self, statement: ast.Return, position: int | None, part: ast.expr, value: Value | None) -> None:
        if value is not None:
            returned = value.then(statement, f"returned by `{self.function.name}`").under(self.guards)
            self.known.note_return(self.function, position, part, returned)

    def _guarded(self, test: ast.expr, body: Sequence[ast.stmt], kind: GuardKind) -> None:
        kept = self.guards
        self.guards += (Guard(test, True, kind, self.function),)
        self._block(body)
        self.guards = kept

    def _branch(self, statement: ast.If, positive: bool) -> tuple[Guard, ...]:
        """Walk one branch; the result is what holds at its end."""
        kept = self.guards
        self.guards += (Guard(statement.test, positive, "if", self.function, statement),)
        self._sequence(statement.body if positive else statement.orelse)
        held = self.guards[len(kept) :]
        self.guards = kept
        return held

    def _if(self, statement: ast.If) -> None:
        self.eval_test(statement.test)
        before = self.env
        self.env = dict(before)
        then_held = self._branch(statement, True)
        then_env = self.env
        self.env = dict(before)
        else_held = self._branch(statement, False)
        then_ends, else_ends = ends(statement.body), ends(statement.orelse)
        if then_ends and not else_ends:
            self.guards += else_held
        elif else_ends and not then_ends:
            self.env = then_env
            self.guards += then_held
        else:
            self._merge(then_env, then_held, else_held)
            if len(then_held) > 1 or len(else_held) > 1:
                self.guards += one_of([then_held, else_held])

    def _merge(self, then_env: dict[str, Value], then_held: tuple[Guard, ...], else_held: tuple[Guard, ...]) -> None:
        """Join the names of two branches, the second of which is current."""
        else_env = self.env
        self.env = {}
        for name in (*then_env, *(name for name in else_env if name not in then_env)):
            then, other = then_env.get(name), else_env.get(name)
            if then is other and then is not None:
                self.env[name] = then
            else:
                held = [value.under(guards) for value, guards in ((then, then_held), (other, else_held)) if value]
                self.env[name] = either(held)

    def _assign(self, targets: list[ast.expr], value_node: ast.expr) -> None:
        if isinstance(value_node, ast.Tuple):
            for target in targets:
                if isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) == len(value_node.elts):
                    values = [self.eval(element) for element in value_node.elts]
                    for part, element, value in zip(target.elts, value_node.elts, values, strict=True):
                        self.bind(part, element, value)
                    return
        value = self.eval(value_node)
        for target in targets:
            self.bind(target, value_node, value)

    def bind(self, target: ast.expr, value_node: ast.expr, value: Value | None) -> None:
        profile = self.profile
        if isinstance(target, ast.Name):
            self._forget(target.id)
            if value is not None:
                self.env[target.id] = value.then(target, f"bound to `{target.id}`")
            if isinstance(value_node, (ast.Dict, ast.Call)):
                for key, held in self._entries(value_node):
                    self.env[f"{target.id}[{key!r}]"] = held
            if target.id in profile.slot_weight:
                self.slot(target, value_node, "name", target.id)
        elif isinstance(target, ast.Attribute):
            if is_self(target.value, self.function) and self.function.cls is not None:
                if value is not None:
                    self.store(target, target.attr, value)
            else:
                self._bind_path(target, value)
                owner = self.known.lookup.owner_class(target.value, self.function) if value is not None else None
                if owner is not None and value is not None:
                    stored = value.then(target, f"stored in `{ast.unparse(target)}`").under(self.guards)
                    self.known.note_alias(owner, target.attr, target, stored)
            self.named_sinks(target, target.attr, value_node)
        elif isinstance(target, ast.Subscript):
            if self.is_slot_column(target):
                self.slot(target, self.filler(value_node) or value_node, "column", ast.unparse(target))
            else:
                self.named_sinks(target, self.text(target.slice), value_node)
                self._bind_path(target, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            callee = self.known.lookup.callee(value_node, self.function) if isinstance(value_node, ast.Call) else None
            for position, part in enumerate(target.elts):
                returned = self.known.returns.get((callee.function, position)) if callee is not None else None
                self.bind(part, value_node, returned)
        elif isinstance(target, ast.Starred):
            self.bind(target.value, value_node, None)

    def _bind_path(self, target: ast.expr, value: Value | None) -> None:
        path = path_text(target) if self.env or value is not None else None
        if path is not None:
            self.env.pop(path, None)
            if value is not None:
                self.env[path] = value.then(target, f"stored in `{path}`")

    def _entries(self, node: ast.expr) -> list[tuple[str, Value]]:
        """The entries of a dictionary display, or of `dict(...)`, that carry the factor."""
        pairs: list[tuple[str | None, ast.expr]] = []
        if isinstance(node, ast.Dict):
            pairs = [(self.text(key), item) for key, item in zip(node.keys, node.values, strict=True) if key]
        elif isinstance(node, ast.Call) and terminal_name(node.func) == "dict":
            pairs = [(keyword.arg, keyword.value) for keyword in node.keywords]
        count = len(self.events)
        held = [(key, self.eval(item)) for key, item in pairs if key is not None]
        del self.events[count:]
        return [(key, value) for key, value in held if value is not None]

    def _forget(self, name: str) -> None:
        """A name is bound anew: what it and its parts held is gone."""
        if self.env:
            self.env.pop(name, None)
            for path in [path for path in self.env if path.startswith((f"{name}[", f"{name}."))]:
                del self.env[path]

    def _augmented(self, statement: ast.AugAssign) -> None:
        value = self.eval(statement.value)
        target = statement.target
        if not isinstance(statement.op, (ast.Mult, ast.Div)):
            return
        if self.is_slot_column(target):
            self.slot(target, statement.value, "column", ast.unparse(target))
        elif value is not None:
            power = value.power if isinstance(statement.op, ast.Mult) else -value.power
            self.scale(statement, value, target, power, True, "*=" if power > 0 else "/=")
