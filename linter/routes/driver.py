"""Analyse one block: run its `__init__` once, then every route, in all configurations at the same time."""

from __future__ import annotations

import ast
import os
import time
import traceback
from collections.abc import Sequence as Arguments
from dataclasses import dataclass, field

from moelint.linter.diagram import FALSE, TRUE, Node
from moelint.linter.profile import Profile
from moelint.linter.routes import call, evaluate, exact, facts, resolve
from moelint.linter.routes.blocks import Block, find_blocks
from moelint.linter.routes.contracts import Contracts
from moelint.linter.routes.facts import RouteFacts
from moelint.linter.routes.frames import Frame, Scope
from moelint.linter.routes.intrinsics import RouteHook
from moelint.linter.routes.machine import ROUTE_ENDS, Event, Machine, OutOfBudget, UnknownCall
from moelint.linter.routes.project import Project, SourceModule
from moelint.linter.routes.units import ONE, Part
from moelint.linter.routes.values import (
    NONE,
    ClassValue,
    Const,
    FunctionValue,
    Guarded,
    Instance,
    Method,
    Sequence,
    Symbol,
    Value,
)

BUDGET = 600_000
_AFTER_INIT = "@after_init"


@dataclass(frozen=True, slots=True, eq=False)
class Knowledge:
    """What is known of one framework, ready for the analysis."""

    profile: Profile
    facts: RouteFacts
    models: str
    models_path: str


@dataclass(slots=True, eq=False)
class Route:
    """One way through a block: what comes out, in which worlds, and what happened on the way."""

    name: str
    output: Guarded
    pc: Node
    """Where control reaches its end, within `entry` and the deployment facts."""
    events: list[Event]
    unknown_calls: dict[str, UnknownCall]
    refusals: list[tuple[Node, str, int]]
    entry: Node = TRUE
    """The condition under which the route is entered."""
    line: int = 0
    path: str = ""
    wanted: exact.Wanted | None = None
    """What the route must end with, where the code itself says so."""


@dataclass(slots=True, eq=False)
class BlockAnalysis:
    """All routes of one block, or the reason why there are none."""

    block: Block
    machine: Machine
    contracts: Contracts
    routes: list[Route] = field(default_factory=list)
    failure: str = ""
    seconds: float = 0.0
    reads: frozenset[str] = frozenset()


def analyse(
    root: str, block: Block, knowledge: Knowledge, overlays: dict[str, str] | None = None, budget: int = BUDGET
) -> BlockAnalysis:
    """Analyse `block` of the tree at `root`. Never raises for what the code holds: the failure is in the result."""
    started = time.monotonic()
    project = Project(root, overlays)
    contracts = Contracts(knowledge.profile, knowledge.facts, knowledge.models, knowledge.models_path)
    machine = Machine(project, contracts, budget)
    result = BlockAnalysis(block, machine, contracts)
    try:
        module = project.load(block.module)
        if module is None:
            result.failure = f"{block.path} does not parse"
        elif isinstance(block.node, ast.FunctionDef):
            exact.run(result, module)
        else:
            _Run(result, module, knowledge).run()
    except OutOfBudget as problem:
        result.failure = f"gave up: {problem}"
    except RecursionError:
        result.failure = "gave up: nested too deeply"
    except Exception as problem:  # one block must not keep the others from being analysed
        result.routes.clear()
        result.failure = f"an error in moelint, please report it: {cause_of(problem)}"
    result.seconds = time.monotonic() - started
    result.reads = frozenset(project.reads)
    return result


def cause_of(problem: Exception) -> str:
    """`KeyError: 'x'; call.py:12`."""
    frame = traceback.extract_tb(problem.__traceback__)[-1]
    return f"{type(problem).__name__}: {problem}; {os.path.basename(frame.filename)}:{frame.lineno}"


class _Run:
    def __init__(self, result: BlockAnalysis, module: SourceModule, knowledge: Knowledge) -> None:
        assert isinstance(result.block.node, ast.ClassDef)
        self.result = result
        self.machine = result.machine
        self.contracts = result.contracts
        self.facts = knowledge.facts
        self.module = module
        node = next(
            (n for n in module.tree.body if isinstance(n, ast.ClassDef) and n.name == result.block.name),
            result.block.node,
        )
        self.cls = ClassValue(node, module)

    def run(self) -> None:
        machine = self.machine
        blocks = find_blocks(self.module, self.facts, self.result.block.path)
        classes = frozenset(
            [
                *(f"{self.module.name}.{block.name}" for block in blocks),
                *(ancestor.qualname for ancestor in resolve.ancestry(machine, self.cls)),
            ]
        )
        self.contracts.aim(self.module.name, self._family_text(), classes)
        self.contracts.assume_facts(machine)
        self._assume_provenance()
        block = machine.instance(self.cls, "self")
        init = resolve.find_method(machine, self.cls, "__init__")
        frame = Frame(self.module, Scope(), TRUE, "entry")
        if init is not None:
            parameters = [*init.node.args.args[1:], *init.node.args.kwonlyargs]
            keywords: dict[str, Guarded] = {
                p.arg: [(TRUE, Const("") if p.arg == "prefix" else Symbol(p.arg))] for p in parameters
            }
            call.function(machine, init, [[(TRUE, block)]], keywords, frame, self.cls.node)
        self._after_init(frame)
        ready = self.contracts.coarse(machine, machine.alive(frame.pc))
        self._forward(block, ready)
        for pipeline in self.facts.pipelines:
            if all(resolve.find_method(machine, self.cls, name) for name in pipeline.operations[-1:]):
                self._pipeline(block, pipeline, ready)

    def _family_text(self) -> str:
        """The module's text with those of its bases' modules: what the block's code can mention."""
        texts = {ancestor.module.name: ancestor.module.text for ancestor in resolve.ancestry(self.machine, self.cls)}
        return "\n".join(texts.values())

    def _assume_provenance(self) -> None:
        """`stream = Stream() if condition else None` in the module: the argument is None unless a condition holds."""
        machine = self.machine
        for name in self.facts.provenance:
            conditions = []
            for node in ast.walk(self.module.tree):
                if not (isinstance(node, ast.Assign) and isinstance(node.value, ast.IfExp)):
                    continue
                target = node.targets[0]
                bound = target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", "")
                other = node.value.orelse
                if bound.endswith(name) and isinstance(other, ast.Constant) and other.value is None:
                    frame = Frame(self.module, Scope(), TRUE, "provenance")
                    conditions.append(machine.truth(evaluate.expression(machine, node.value.test, frame), TRUE))
            if conditions:
                machine.assume(machine.diagrams.any_of([machine.is_none(Symbol(name)), *conditions]))

    def _after_init(self, frame: Frame) -> None:
        """The engine's own set-up that changes routers after construction, as the profile models it."""
        model = self.contracts.models.get(_AFTER_INIT)
        if model is None:
            return
        routers: list[Guarded] = []
        for key, slots in list(self.machine.heap.items()):
            for entry in slots.values():
                for _, value in entry:
                    if (
                        isinstance(value, Instance)
                        and isinstance(value.cls, ClassValue)
                        and value.cls.qualname in self.facts.routers
                        and [(TRUE, value)] not in routers
                        and key != value.key
                    ):
                        routers.append([(TRUE, value)])
        if routers:
            pc, dead = frame.pc, self.machine.dead
            call.function(self.machine, model, [[(TRUE, Sequence(tuple(routers)))]], {}, frame, self.cls.node)
            frame.pc, self.machine.dead = pc, dead

    def _forward(self, block: Instance, ready: Node) -> None:
        machine = self.machine
        forward = resolve.find_method(machine, self.cls, "forward")
        if forward is None:
            return
        saved = machine.snapshot()
        machine.unknown_calls, machine.refusals = {}, []
        taken: list[Route] = []
        self.contracts.route_hook = self._hook(block, ready, taken, saved[3])
        frame = Frame(self.module, Scope(), TRUE, "forward")
        keywords = {p.arg: self._argument(p.arg) for p in [*forward.node.args.args[1:], *forward.node.args.kwonlyargs]}
        machine.route = forward.qualname
        with machine.inside(ready):
            output = call.function(machine, forward, [[(TRUE, block)]], keywords, frame, forward.node)
            frame.pc = machine.alive(frame.pc)
        machine.route = ""
        self.contracts.route_hook = None
        self.result.routes += taken
        own = [(guard, value) for guard, value in output if not _is_route_mark(value)]
        reached = machine.diagrams.any_of(machine.diagrams.conj(guard, frame.pc) for guard, _ in own)
        if machine.diagrams.intersects(reached, machine.diagrams.conj(ready, machine.facts)):
            self.result.routes.append(
                Route(
                    "forward",
                    own,
                    frame.pc,
                    list(machine.events[saved[3] :]),
                    dict(machine.unknown_calls),
                    list(machine.refusals),
                    ready,
                    forward.node.lineno,
                    machine.project.relative(forward.module.path),
                )
            )
        machine.restore(saved)

    def _argument(self, name: str) -> Guarded:
        """A parameter of `forward`: a shared output that is handed in may be there or not."""
        if "shared" in name and "skip" not in name:
            machine = self.machine
            absent = machine.atom(f"{name} is None")
            given = machine.tensor((Part("shared", ONE, "any"),), name)
            return [(absent, NONE), (machine.diagrams.neg(absent), given)]
        return [(TRUE, Symbol(name))]

    def _hook(self, block: Instance, ready: Node, taken: list[Route], start: int) -> RouteHook:
        machine = self.machine

        def hook(
            callee: Value, arguments: Arguments[Guarded], keywords: dict[str, Guarded], frame: Frame, node: ast.AST
        ) -> Guarded | None:
            function = callee.function if isinstance(callee, Method) else callee
            if not isinstance(function, FunctionValue) or isinstance(function.node, ast.Lambda):
                return None
            name = function.node.name
            own = isinstance(callee, Method) and callee.receiver is block
            handed = bool(arguments) and len(arguments[0]) == 1 and arguments[0][0][1] is block
            if not name.lstrip("_").startswith("forward_") or not (own or handed):
                return None
            inner = Frame(frame.module, frame.scope, TRUE, frame.qualname)
            entry = machine.diagrams.conj(self.contracts.coarse(machine, machine.alive(frame.pc)), ready)
            heap = {key: dict(slots) for key, slots in machine.heap.items()}
            refused = len(machine.refusals)
            unknown, machine.unknown_calls = machine.unknown_calls, {}
            receiver: list[Guarded] = [[(TRUE, block)]]
            given = [*receiver, *arguments] if own else list(arguments)
            outer, machine.route = machine.route, function.qualname
            with machine.inside(entry):
                output = call.function(machine, function, given, keywords, inner, node)
                inner.pc = machine.alive(inner.pc)
            machine.route = outer
            machine.heap.update(heap)
            taken.append(
                Route(
                    name,
                    output,
                    inner.pc,
                    machine.events[start:],
                    machine.unknown_calls,
                    machine.refusals[refused:],
                    entry,
                    function.node.lineno,
                    machine.project.relative(function.module.path),
                )
            )
            machine.unknown_calls = unknown
            return [(TRUE, Symbol(f"{_ROUTE_MARK}{name}"))]

        return hook

    def _pipeline(self, block: Instance, pipeline: facts.Pipeline, ready: Node) -> None:
        machine = self.machine
        saved = machine.snapshot()
        machine.unknown_calls, machine.refusals = {}, []
        state = machine.instance("dict", "state")
        for name in pipeline.inputs:
            machine.heap[state.key][name] = [(TRUE, Symbol(name))]
        allowed = facts.condition(machine, pipeline.when, self.contracts.target_text)
        frame = Frame(self.module, Scope(), TRUE, pipeline.name)
        entry, line, path = machine.diagrams.conj(ready, allowed), 0, ""
        with machine.inside(entry):
            for operation in pipeline.operations:
                method = resolve.find_method(machine, self.cls, operation)
                if method is not None:
                    call.function(machine, method, [[(TRUE, block)], [(TRUE, state)]], {}, frame, method.node)
                    line, path = method.node.lineno, machine.project.relative(method.module.path)
                    if operation == pipeline.operations[-1] and not isinstance(method.node, ast.Lambda):
                        last = Frame(method.module, Scope(), frame.pc)
                        machine.note(frame.pc, method.node.body[-1], last, ROUTE_ENDS, True, "end")
            frame.pc = machine.alive(frame.pc)
        output = machine.heap[state.key].get(pipeline.output, [])
        self.result.routes.append(
            Route(
                pipeline.name,
                list(output),
                frame.pc,
                list(machine.events[saved[3] :]),
                dict(machine.unknown_calls),
                list(machine.refusals),
                entry,
                line,
                path,
            )
        )
        machine.restore(saved)


_ROUTE_MARK = "route:"


def _is_route_mark(value: Value) -> bool:
    return isinstance(value, Symbol) and value.name.lstrip("⊔").startswith(_ROUTE_MARK)


def outputs(analysis: BlockAnalysis, route: Route) -> list[tuple[Node, Value]]:
    """The tensors a route returns, each with its condition within the worlds that reach the end: the first of a tuple,
    the merged result of a record that merges itself."""
    machine = analysis.machine
    pending = list(route.output)
    found: list[tuple[Node, Value]] = []
    while pending:
        guard, value = pending.pop()
        if guard == FALSE:
            continue
        if isinstance(value, Sequence) and value.items:
            pending += [(machine.diagrams.conj(guard, inner), item) for inner, item in value.items[0]]
            continue
        if isinstance(value, Instance) and isinstance(value.cls, ClassValue):
            merge = resolve.find_method(machine, value.cls, "get_merged")
            if merge is not None:
                frame = Frame(value.cls.module, Scope(), TRUE, "merge")
                with machine.inside(route.entry):
                    merged = call.function(machine, merge, [[(TRUE, value)]], {}, frame, merge.node)
                pending += [(machine.diagrams.conj(guard, inner), item) for inner, item in merged]
                continue
        found.append((guard, value))
    return found
