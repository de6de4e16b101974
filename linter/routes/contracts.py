"""Where framework knowledge enters: model functions, facts, and the policy of what to follow."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence as Arguments
from functools import cached_property
from typing import TYPE_CHECKING

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.routes import call, evaluate, facts, intrinsics, natives, resolve
from moelint.linter.routes.exact import Judged, number
from moelint.linter.routes.facts import RouteFacts
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.summary import Summaries
from moelint.linter.routes.units import ONE, RSF, Units
from moelint.linter.routes.values import (
    ABSENT,
    FALSE_VALUE,
    NONE,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Member,
    Method,
    Scalar,
    Sequence,
    Symbol,
    Value,
)

if TYPE_CHECKING:
    from moelint.linter.profile import Profile
    from moelint.linter.routes.machine import Machine

MODELS = "moelint_models"
OPAQUE = "@Opaque"
SHARED = "@SharedExpert"
_PLACEMENT = ("parallel_group", "tp_size", "tp_rank", "reduce_results")

Keywords = dict[str, Guarded]


class Contracts:
    """The contracts of one profile, applied to one block."""

    def __init__(self, profile: Profile, route_facts: RouteFacts, models: str, models_path: str) -> None:
        self.profile = profile
        self.facts = route_facts
        self._models_text = models
        self._models_path = models_path
        self.target_module = ""
        self.target_text = ""
        self.target_classes: frozenset[str] = frozenset()
        self.models: dict[str, FunctionValue] = {}
        self.summaries = Summaries(route_facts)
        self.judged: list[Judged] = []
        self.route_hook: intrinsics.RouteHook | None = None
        self._tail_call: ast.expr | None = None

    def aim(self, module: str, text: str, classes: frozenset[str]) -> None:
        """Say which block is analysed: its module is followed, and its text decides which back ends it knows."""
        self.target_module, self.target_text, self.target_classes = module, text, classes

    # declarations

    def declare(self, machine: Machine) -> None:
        """Fix the order of atoms and register the model functions."""
        for name in self.facts.order:
            machine.diagrams.variable(name)
        module = machine.project.add_text(MODELS, self._models_path, self._models_text)
        for statement in module.tree.body:
            if not isinstance(statement, ast.FunctionDef):
                continue
            for decorator in statement.decorator_list:
                if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name):
                    function = FunctionValue(statement, module, f"{MODELS}.{statement.name}")
                    for argument in decorator.args:
                        if isinstance(argument, ast.Constant):
                            self.models[str(argument.value)] = function

    def assume_facts(self, machine: Machine) -> None:
        """Conjoin the deployment facts that hold for the block aimed at."""
        for group, pattern in self.facts.named_only.items():
            named = ["none"]
            for value in self._members(machine, group):
                also = self.facts.named_also.get(f"{group}.{value}", "(?!)")
                if re.search(f"{pattern.format(value=value)}|{also}", self.target_text):
                    named.append(value)
            machine.assume(machine.is_value(group, *named))
        for fact in self.facts.facts:
            when = facts.condition(machine, fact.when, self.target_text)
            then = facts.condition(machine, fact.then, self.target_text)
            machine.assume(machine.diagrams.disj(machine.diagrams.neg(when), then))
        for derived in self.facts.derived:
            self._derive(machine, derived)

    def _derive(self, machine: Machine, derived: facts.Derived) -> None:
        """Equate an atom with what the tree's own function says, interpreted from its source."""
        module_name, _, name = derived.function.rpartition(".")
        module = machine.project.load(module_name)
        found = resolve.global_name(machine, module, name) if module is not None else None
        function = found[0][1] if found else None
        if not isinstance(function, FunctionValue) or module is None:
            return
        arguments: list[Guarded] = []
        for argument in derived.arguments[: len(function.node.args.args)]:
            arguments.append([(TRUE, Symbol(argument, self._enumeration(machine, argument)))])
        frame = Frame(module, Scope(), TRUE, derived.function)
        result = machine.truth(call.function(machine, function, arguments, {}, frame, function.node), TRUE)
        atom, diagrams = machine.atom(derived.atom), machine.diagrams
        machine.assume(diagrams.disj(diagrams.conj(atom, result), diagrams.neg(diagrams.disj(atom, result))))

    def _enumeration(self, machine: Machine, symbol: str) -> ClassValue | None:
        qualified = self.facts.groups.get(symbol)
        if qualified is None:
            return None
        module_name, _, name = qualified.rpartition(".")
        module = machine.project.load(module_name)
        found = resolve.global_name(machine, module, name) if module is not None else None
        cls = found[0][1] if found else None
        return cls if isinstance(cls, ClassValue) else None

    def _members(self, machine: Machine, group: str) -> list[str]:
        cls = self._enumeration(machine, group)
        if cls is None:
            return []
        return [
            str(statement.value.value).lower()
            for statement in cls.node.body
            if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        ]

    def enumeration_symbol(self, machine: Machine, group: str) -> Guarded:
        """The symbol of a group of exclusive back ends, with its enumeration class where the tree has one."""
        return [(TRUE, Symbol(group, self._enumeration(machine, group)))]

    # atoms

    def structured_atom(self, machine: Machine, name: str) -> Node | None:
        text = self.facts.structured.get(name)
        return facts.condition(machine, text, self.target_text) if text is not None else None

    def dimension(self, symbol: str) -> str | None:
        return next((d for suffix, d in self.facts.dimensions.items() if symbol.endswith(suffix)), None)

    def equals_constant(self, machine: Machine, symbol: Symbol, value: object) -> Node:
        group = symbol.name.removesuffix(".value").removesuffix(".name")
        if group in self.facts.groups:
            return machine.is_value(group, str(value).lower())
        return machine.is_value(symbol.name, repr(value))

    def equals_member(self, machine: Machine, symbol: Symbol, member: Member) -> Node:
        if symbol.name in self.facts.groups:
            return machine.is_value(symbol.name, str(member.value).lower())
        return machine.is_value(symbol.name, member.name.lower())

    def type_atom(self, machine: Machine, symbol: Symbol, name: str) -> Node:
        return machine.is_value(f"type({symbol.name})", name)

    @cached_property
    def _keep(self) -> re.Pattern[str]:
        return re.compile(self.facts.keep)

    @cached_property
    def _hidden(self) -> re.Pattern[str]:
        return re.compile(self.facts.hidden)

    @cached_property
    def _reducing(self) -> re.Pattern[str]:
        return re.compile(self.facts.reducing)

    @cached_property
    def _harmless(self) -> re.Pattern[str]:
        return re.compile(self.facts.harmless)

    @cached_property
    def _shared(self) -> re.Pattern[str]:
        return re.compile(self.facts.shared_attributes)

    def kept(self, variable: str) -> bool:
        return bool(self._keep.search(variable))

    def is_hidden(self, variable: str) -> bool:
        return bool(self._hidden.search(variable))

    def only_reduces(self, variable: str) -> bool:
        """Whether an atom decides about sums alone."""
        return bool(self._reducing.search(variable))

    def harmless(self, name: str) -> bool:
        return bool(self._harmless.search(name))

    def coarse(self, machine: Machine, condition: Node) -> Node:
        """A condition seen from outside: only configuration atoms."""
        return machine.diagrams.exists(condition, lambda variable: not self.kept(variable))

    # names and attributes

    def number(self, value: object) -> Units | None:
        """The units of a constant: none, unless numbers count."""
        if not self.facts.exact:
            return ONE
        return number(float(value)) if isinstance(value, (int, float)) else None

    def global_value(self, machine: Machine, qualified: str) -> Guarded | None:
        if qualified in self.facts.globals:
            symbol = self.facts.globals[qualified]
            if not isinstance(symbol, str):
                return [(TRUE, Const(symbol))]
            dimension = self.dimension(symbol)
            return [(TRUE, Scalar(((dimension, 1),)) if dimension else Symbol(symbol))]
        if qualified in self.models:
            return [(TRUE, self.models[qualified])]
        return None

    def attribute(self, machine: Machine, value: Value, name: str, frame: Frame) -> Guarded | None:
        if isinstance(value, Symbol):
            if name in self.profile.factor:
                return [(TRUE, Scalar(((RSF, 1),)))]
            if f"{value.name}.{name}".startswith(self.facts.false_symbols or ("\0",)):
                return [(TRUE, Symbol(f"{value.name}.{name}"))]
        if isinstance(value, Instance):
            if isinstance(value.cls, str) and f"{value.cls}.{name}" in self.models:
                return [(TRUE, Method(self.models[f"{value.cls}.{name}"], value))]
            if name == self.facts.config_field and self._is_router(value) and name not in machine.heap[value.key]:
                frame.pc = FALSE
                return []
        return None

    def _is_router(self, value: Value) -> bool:
        return (
            isinstance(value, Instance)
            and isinstance(value.cls, ClassValue)
            and value.cls.qualname in self.facts.routers
        )

    def stored(self, machine: Machine, attribute: str, value: Guarded) -> Guarded:
        """A separate shared expert is known by the attribute it is stored in."""
        if not self._shared.search(attribute):
            return value
        return [
            (guard, Instance(item.key, SHARED, item.name))
            if isinstance(item, Instance) and item.cls == OPAQUE
            else (guard, item)
            for guard, item in value
        ]

    # calls

    def follows(
        self, machine: Machine, callee: FunctionValue, arguments: Arguments[Guarded], keywords: Keywords, frame: Frame
    ) -> bool:
        qualified = callee.qualname
        if qualified.startswith(f"{MODELS}."):
            return True
        if qualified.rsplit(".", 1)[-1].startswith(self.facts.never or ("\0",)):
            return False
        if qualified.startswith((*self.facts.follow, f"{self.target_module}.")):
            return True
        return qualified.startswith(self.facts.follow_tracked or ("\0",)) and any(
            machine.tracked(argument, frame.pc) for argument in [*arguments, *keywords.values()]
        )

    def follows_class(self, machine: Machine, cls: ClassValue) -> bool:
        if cls.qualname.startswith(self.facts.classes or ("\0",)) or cls.qualname in self.target_classes:
            return True
        here = cls.module.name == self.target_module
        return here and re.search(self.facts.classes_here, cls.node.name) is not None

    def opaque_instance(
        self,
        machine: Machine,
        cls: ClassValue,
        init: FunctionValue,
        arguments: Arguments[Guarded],
        keywords: Keywords,
        label: str,
    ) -> Guarded:
        """An object that is not looked into; what it was told about its parallel group is kept."""
        result = machine.instance(OPAQUE, label)
        declared = init.node.args
        names = [parameter.arg for parameter in declared.args][1:]
        defaults: dict[str, ast.expr] = dict(
            zip(
                [p.arg for p in declared.args][len(declared.args) - len(declared.defaults) :],
                declared.defaults,
                strict=True,
            )
        )
        for parameter, default in zip(declared.kwonlyargs, declared.kw_defaults, strict=True):
            if default is not None:
                defaults[parameter.arg] = default
        given = dict(zip(names, arguments, strict=False)) | keywords
        for name in _PLACEMENT:
            default_node = defaults.get(name)

            def fallback(default_node: ast.expr | None = default_node) -> Guarded:
                if default_node is None:
                    return [(TRUE, NONE)]
                return evaluate.expression(machine, default_node, Frame(cls.module, Scope(), TRUE))

            machine.heap[result.key][name] = call.without_absent(machine, given.get(name, [(TRUE, ABSENT)]), fallback)
        return [(TRUE, result)]

    def returning(self, machine: Machine, node: ast.Return) -> None:
        """Remember the tail call of the dispatcher: a route starts there."""
        if len(machine.stack) == 1:
            self._tail_call = node.value

    def call(
        self,
        machine: Machine,
        callee: Value,
        arguments: Arguments[Guarded],
        keywords: Keywords,
        frame: Frame,
        node: ast.AST,
    ) -> Guarded | None:
        """What the profile knows of a callee; None to let the interpreter go on."""
        if self.route_hook is not None and len(machine.stack) == 1 and node is self._tail_call:
            routed = self.route_hook(callee, arguments, keywords, frame, node)
            if routed is not None:
                return routed
        qualified, given = self._qualified(callee, arguments)
        if self._is_router(callee):
            assert isinstance(callee, Instance)
            return self.summaries.call(machine, callee, given, keywords, frame, node)
        if isinstance(callee, Instance) and callee.cls in (OPAQUE, SHARED):
            layer = self._layer(machine, callee, arguments, frame)
            if layer is not None:
                return layer
        model = self.models.get(qualified)
        if model is None and isinstance(callee, Symbol):
            by_method = self.models.get(f"?.{callee.name.rsplit('.', 1)[-1]}")
            if by_method is not None and any(machine.tracked(argument, frame.pc) for argument in arguments):
                model = by_method
        if model is not None and not (isinstance(callee, (FunctionValue, Method)) and qualified.startswith(MODELS)):
            return call.function(machine, model, given, keywords, frame, node)
        if isinstance(callee, Symbol):
            return self._symbol_call(machine, callee, arguments, keywords, frame, node)
        return None

    def _qualified(self, callee: Value, arguments: Arguments[Guarded]) -> tuple[str, list[Guarded]]:
        """The name under which models know a callee, and the arguments with its receiver."""
        given = list(arguments)
        if isinstance(callee, FunctionValue):
            return callee.qualname, given
        if isinstance(callee, Method):
            if not isinstance(callee.receiver, ClassValue):
                given.insert(0, [(TRUE, callee.receiver)])
            return callee.function.qualname, given
        if isinstance(callee, ClassValue):
            return callee.qualname, given
        if isinstance(callee, Symbol):
            return callee.name, given
        if isinstance(callee, Instance):
            given.insert(0, [(TRUE, callee)])
            name = callee.cls if isinstance(callee.cls, str) else callee.cls.qualname
            return f"{name}.__call__", given
        return "", given

    def _layer(self, machine: Machine, layer: Instance, arguments: Arguments[Guarded], frame: Frame) -> Guarded | None:
        if not any(machine.tracked(argument, frame.pc) for argument in arguments):
            return None
        if re.search(self.facts.norms, layer.name):
            return natives.norm(machine, arguments[0], frame.pc)
        if re.search(self.facts.linear, layer.name):
            mapped = list(arguments[0])
            return [(TRUE, Sequence((mapped, [(TRUE, NONE)])))]
        return None

    def _symbol_call(
        self,
        machine: Machine,
        callee: Symbol,
        arguments: Arguments[Guarded],
        keywords: Keywords,
        frame: Frame,
        node: ast.AST,
    ) -> Guarded | None:
        name = callee.name
        intrinsic = intrinsics.TABLE.get(name)
        if intrinsic is not None and frame.module.name == MODELS:
            return intrinsic(self, machine, arguments, keywords, frame, node)
        builtin = natives.BUILTINS.get(name)
        if builtin is not None:
            return builtin(machine, arguments, keywords, frame, node)
        if name.startswith(self.facts.false_symbols or ("\0",)):
            return [(TRUE, FALSE_VALUE)]
        last = name.rsplit(".", 1)[-1]
        if last == "Parameter" and name.startswith("torch."):
            return [(TRUE, machine.tensor((), last))]
        if name.startswith("torch."):
            found = natives.torch_function(machine, last, arguments, keywords, frame, node)
            if found is not None:
                return found
        return natives.symbol_method(machine, name, arguments)


def constant(argument: Guarded) -> object:
    """The Python constant that an intrinsic was handed."""
    value = argument[0][1]
    return value.value if isinstance(value, Const) else None
