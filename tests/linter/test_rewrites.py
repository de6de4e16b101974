"""Rewritings of the fixtures: what changes nothing must change no finding, and what breaks the policy must make one.

The snippets are the twins of the policy rules. Refactorings keep the meaning; mutations drop a guard, turn it round,
replace the helper's answer, decide a slot's weight or repeat a multiply.
"""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from itertools import count
from pathlib import Path
from types import ModuleType

import pytest

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
HEADER = "# profile: sglang\n"
ASK = ("is_routed_scaling_factor_fused_in_topk", "routing_folds")
WEIGHT = "fused_shared_expert_weight"
FLAG = "apply_routed_scaling_factor_on_output"

SNIPPETS = [
    "epilogue-unguarded/wrong_form_multiply",
    "epilogue-unguarded/wrong_form_add",
    "epilogue-unguarded/wrong_source_attributes",
    "epilogue-unguarded/wrong_source_inherited",
    "epilogue-unguarded/wrong_source_locals",
    "epilogue-unguarded/right_helper_of_the_block",
    "guard-not-asking/wrong_platform_flag",
    "guard-not-asking/wrong_stored_elsewhere",
    "guard-not-asking/wrong_wish",
    "guard-not-asking/right_tests",
    "guard-not-asking/right_ways_out",
    "guard-not-asking/right_chosen_values",
    "guard-not-asking/right_local_answers",
    "guard-not-asking/right_asking_helpers",
    "guard-not-asking/right_stored_values",
    "guard-not-asking/right_stored_answers",
    "guard-not-equivalent/wrong_platform_beside_the_answer",
    "guard-not-equivalent/wrong_weakened",
    "guard-not-equivalent/right_equivalent",
    "factor-handed/wrong_kernel_call",
    "factor-handed/right_sanctioned_callees",
    "slot-weight-decided/wrong_columns",
    "sibling-routes-disagree/wrong_two_batch_overlap",
    "a2a-lists-disagree/wrong_lists",
]


def expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def name_of(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


class RenamedLocals(ast.NodeTransformer):
    """Every local whose name says nothing gets another one."""

    words = ("weight", "score", "prob", "gate", "logit", "fused_in_topk", "residual")

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        parts = list(ast.walk(node))
        given = {part.arg for part in parts if isinstance(part, ast.arg)}
        bound = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)} - given
        names = {name for name in bound if not any(word in name for word in self.words)}
        for part in parts:
            if isinstance(part, ast.Name) and part.id in names:
                part.id += "_renamed"
            elif isinstance(part, ast.Nonlocal):
                part.names = [f"{name}_renamed" if name in names else name for name in part.names]
        return node


class RenamedAttributes(ast.NodeTransformer):
    """Every own attribute whose name says nothing gets another one."""

    kept = ("routed_scaling_factor", "topk", "experts", "expert", "fused_in_topk", "weight", FLAG)

    def visit_Module(self, node: ast.Module) -> ast.Module:
        parts = list(ast.walk(node))
        stored = {
            part.attr
            for part in parts
            if isinstance(part, ast.Attribute) and isinstance(part.ctx, ast.Store) and name_of(part.value) == "self"
        }
        stored = {name for name in stored if not any(word in name for word in self.kept)}
        for part in parts:
            if isinstance(part, ast.Attribute) and part.attr in stored:
                part.attr += "_renamed"
        return node


class DeMorgan(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        node.test = self._turned(node.test)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        self.generic_visit(node)
        node.test = self._turned(node.test)
        return node

    def _turned(self, test: ast.expr) -> ast.expr:
        if isinstance(test, ast.BoolOp):
            other = ast.Or() if isinstance(test.op, ast.And) else ast.And()
            return ast.UnaryOp(ast.Not(), ast.BoolOp(other, [negated(part) for part in test.values]))
        return ast.UnaryOp(ast.Not(), negated(test))


class SwappedBranches(ast.NodeTransformer):
    def visit_If(self, node: ast.If) -> ast.If:
        self.generic_visit(node)
        return ast.If(ast.UnaryOp(ast.Not(), node.test), node.orelse or [ast.Pass()], node.body)

    def visit_IfExp(self, node: ast.IfExp) -> ast.IfExp:
        self.generic_visit(node)
        return ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.orelse, node.body)


class Blocks(ast.NodeTransformer):
    """A map over lists of statements."""

    def generic_visit(self, node: ast.AST) -> ast.AST:
        super().generic_visit(node)
        for name in ("body", "orelse"):
            block = getattr(node, name, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                setattr(node, name, self.block(block))
        return node

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        raise NotImplementedError


class LocalConditions(Blocks):
    def __init__(self) -> None:
        self.numbers = count()

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, ast.If) and not any(
                isinstance(n, ast.NamedExpr) for n in ast.walk(statement.test)
            ):
                name = f"test_{next(self.numbers)}"
                found.append(ast.Assign([ast.Name(name, ast.Store())], statement.test))
                statement.test = ast.Name(name, ast.Load())
            found.append(statement)
        return found


class ElseAfterReturn(Blocks):
    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        for position, statement in enumerate(body):
            rest = body[position + 1 :]
            if isinstance(statement, ast.If) and not statement.orelse and isinstance(statement.body[-1], ast.Return):
                if rest:
                    statement.orelse = self.block(rest)
                return body[: position + 1]
        return body


class MethodConditions(ast.NodeTransformer):
    """`if test:` becomes `if self.asks():`, where the test needs nothing but the object."""

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        numbers = count()
        for method in [m for m in node.body if isinstance(m, ast.FunctionDef) and m.name != "__init__"]:
            own = {n.id for n in ast.walk(method) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            own |= {n.arg for n in ast.walk(method) if isinstance(n, ast.arg)} - {"self"}
            for statement in ast.walk(method):
                if isinstance(statement, ast.If) and not own & {name_of(n) for n in ast.walk(statement.test)}:
                    name = f"asks_{next(numbers)}"
                    function = ast.parse(f"def {name}(self): return 0").body[0]
                    assert isinstance(function, ast.FunctionDef)
                    function.body = [ast.Return(statement.test)]
                    node.body.append(function)
                    statement.test = expression(f"self.{name}()")
        return node


class MultiplyCalls(ast.NodeTransformer):
    """`a * b` and `a *= b` become `torch.mul(a, b)`."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        self.generic_visit(node)
        if isinstance(node.op, ast.Mult) and not isinstance(node.left, ast.Constant):
            return ast.Call(expression("torch.mul"), [node.left, node.right], [])
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if isinstance(node.op, ast.Mult) and isinstance(node.target, ast.Name):
            product = ast.Call(expression("torch.mul"), [ast.Name(node.target.id, ast.Load()), node.value], [])
            return ast.Assign([node.target], product)
        return node


class MultiplyMethods(ast.NodeTransformer):
    def visit_AugAssign(self, node: ast.AugAssign) -> ast.stmt:
        if isinstance(node.op, ast.Mult) and isinstance(node.target, ast.Name):
            return ast.Expr(ast.Call(expression(f"{node.target.id}.mul_"), [node.value], []))
        return node


class AlphaAsProduct(ast.NodeTransformer):
    """`torch.add(a, b, alpha=c)` becomes `a + b * c`."""

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        if name_of(node.func) == "add" and len(node.args) == 2 and [k.arg for k in node.keywords] == ["alpha"]:
            return ast.BinOp(node.args[0], ast.Add(), ast.BinOp(node.args[1], ast.Mult(), node.keywords[0].value))
        return node


class InAContext(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        self.generic_visit(node)
        node.body = [ast.With([ast.withitem(expression("torch.no_grad()"))], node.body)]
        return node


class InANestedFunction(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs) if a.arg != "self"]
        if node.name == "__init__" or node.args.kwarg or any(name_of(d) == "staticmethod" for d in node.decorator_list):
            return node
        if any(isinstance(part, ast.Nonlocal) for part in ast.walk(node)):
            return node
        listed = ", ".join(names)
        inner, call = ast.parse(f"def inner({listed}): return 0\nreturn_value = inner({listed})").body
        assert isinstance(inner, ast.FunctionDef) and isinstance(call, ast.Assign)
        inner.body = node.body
        node.body = [inner, ast.Return(call.value)]
        return node


class FactorInALocal(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        text = ast.unparse(node)
        if node.name == "__init__" or "self.routed_scaling_factor" not in text or node.decorator_list:
            return node
        changed = ast.parse(text.replace("self.routed_scaling_factor", "amount")).body[0]
        assert isinstance(changed, ast.FunctionDef)
        changed.body.insert(0, ast.parse("amount = self.routed_scaling_factor").body[0])
        return changed


REFACTORINGS: list[type[ast.NodeTransformer]] = [
    RenamedLocals, RenamedAttributes, DeMorgan, SwappedBranches, LocalConditions, MethodConditions, ElseAfterReturn,
    MultiplyCalls, MultiplyMethods, AlphaAsProduct, InAContext, InANestedFunction, FactorInALocal,
]  # fmt: skip


@cache
def policy_rules(support: ModuleType) -> tuple[type, ...]:
    """The rules for frameworks with central helpers, and the one about repeated multiplies."""
    return tuple(rule for rule in support.all_rules() if rule.needs_helpers or rule.name() == "factor-applied-twice")


def fired(support: ModuleType, text: str) -> Counter[tuple[str, str]]:
    """How often each rule fires in each top-level class or function."""
    found = support.run(policy_rules(support), HEADER + text)
    return Counter((name, draft.qualname.split(".")[0]) for _, name, draft in found)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_a_refactoring_changes_no_finding(snippet: str, rule_support: ModuleType) -> None:
    text = (FIXTURES / f"{snippet}.py").read_text()
    before = fired(rule_support, text)
    changed = {}
    for refactoring in REFACTORINGS:
        after = fired(rule_support, ast.unparse(ast.fix_missing_locations(refactoring().visit(ast.parse(text)))))
        if after != before:
            changed[refactoring.__name__] = (before - after, after - before)
    assert changed == {}


Pick = Callable[[ast.AST], bool]
Make = Callable[[ast.AST], "ast.AST | list[ast.stmt]"]


def is_asking(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) in ASK


def is_weight(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and name_of(node.func) == WEIGHT


def is_multiply(node: ast.AST) -> bool:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return name_of(node.value.func) == "mul_"
    return isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult)


def is_guard(node: ast.AST) -> bool:
    """An `if` that asks, and that does nothing but multiply."""
    return isinstance(node, ast.If) and not node.orelse and is_multiply(node.body[0]) and "folded" in ast.unparse(node)


def is_flag(node: ast.AST) -> bool:
    return isinstance(node, ast.keyword) and node.arg == FLAG


def instead(text: str) -> Make:
    """Replace by an expression in which HERE stands for what was there."""

    def make(node: ast.AST) -> ast.AST:
        if isinstance(node, ast.keyword):
            return ast.keyword(node.arg, expression(text))
        return expression(text.replace("HERE", f"({ast.unparse(node)})"))

    return make


MUTATIONS: dict[str, tuple[Pick, Make]] = {
    "ask the wish": (is_asking, instead("self.experts.should_fuse_routed_scaling_factor_in_topk")),
    "ask the platform": (is_asking, instead("_use_aiter")),
    "answer no": (is_asking, instead("False")),
    "answer yes": (is_asking, instead("True")),
    "turn the answer round": (is_asking, instead("not HERE")),
    "widen the answer by a platform": (is_asking, instead("HERE or is_npu()")),
    "narrow the answer to a platform": (is_asking, instead("HERE and is_npu()")),
    "narrow the answer by something else": (is_asking, instead("HERE and x.shape[0] > 4")),
    "drop the guard": (is_guard, lambda node: node.body),  # type: ignore[attr-defined]
    "multiply twice": (is_multiply, lambda node: [node, copy.deepcopy(node)]),  # type: ignore[list-item]
    "put 1 into the slot": (is_weight, instead("1.0")),
    "put 1/factor into the slot": (is_weight, instead("1.0 / config.routed_scaling_factor")),
    "always fold": (is_flag, instead("True")),
    "fold by platform": (is_flag, instead("not is_cuda()")),
}

MUTATED = [
    "epilogue-unguarded/right_helper_of_the_block",
    "factor-handed/right_sanctioned_callees",
    "fold-flag-decided/right_platform_chooses_other_things",
    "guard-not-asking/right_tests",
    "guard-not-asking/right_ways_out",
    "guard-not-asking/right_chosen_values",
    "guard-not-asking/right_local_answers",
    "guard-not-asking/right_asking_helpers",
    "guard-not-asking/right_stored_values",
    "guard-not-asking/right_stored_answers",
    "guard-not-equivalent/right_equivalent",
    "literal-fold-flag/right_handed_on",
    "sibling-routes-disagree/right_the_same_question",
    "slot-weight-decided/right_from_the_helper",
    "slot-weight-decided/right_inverse_with_a_later_multiply",
]


class Mutant(ast.NodeTransformer):
    """Replaces the node number `target` among those that `pick` accepts."""

    def __init__(self, pick: Pick, make: Make, target: int) -> None:
        self.pick, self.make, self.target = pick, make, target
        self.seen = 0
        self.line = 0

    def visit(self, node: ast.AST) -> ast.AST | list[ast.stmt]:
        if self.pick(node):
            self.seen += 1
            if self.seen - 1 == self.target:
                self.line = node.lineno  # type: ignore[attr-defined]
                return self.make(node)
        found: ast.AST = self.generic_visit(node)
        return found


def mutants(text: str, pick: Pick, make: Make) -> Iterator[tuple[int, str]]:
    """The line that is changed and the whole text of each mutant."""
    for target in count():
        mutant = Mutant(pick, make, target)
        changed = mutant.visit(ast.parse(text))
        if not mutant.line:
            return
        assert isinstance(changed, ast.Module)
        yield mutant.line, ast.unparse(ast.fix_missing_locations(changed))


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_mutation_makes_a_finding(mutation: str, rule_support: ModuleType) -> None:
    tried, survivors = 0, []
    for snippet in MUTATED:
        for line, text in mutants((FIXTURES / f"{snippet}.py").read_text(), *MUTATIONS[mutation]):
            tried += 1
            found = rule_support.run(policy_rules(rule_support), HEADER + text)
            if not any(draft.severity != "note" for _, _, draft in found):
                survivors.append(f"{snippet}:{line}")
    assert tried > 0
    assert survivors == []
