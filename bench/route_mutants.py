"""Small semantic edits of blocks: who applies the factor, under which guard, with which answer."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

FACTOR = re.compile(r"(?<![A-Za-z])(routed_|router_)?(routed_scaling_factor|router_scaling_factor|scaling_factor)\b")
_ANSWER = re.compile(r"^is_\w*fused_in_topk$")
_SLOT = re.compile(r"^fused_\w*weight$")
_SUM = re.compile(r"all_reduce")
_FLAG = re.compile(r"^apply_routed_scaling\w*$")


@dataclass(frozen=True, slots=True)
class Mutant:
    """One edit: the source between two offsets is replaced."""

    kind: str
    path: str
    line: int
    start: int
    end: int
    text: str
    was: str

    def apply(self, source: str) -> str:
        return source[: self.start] + self.text + source[self.end :]

    def __str__(self) -> str:
        return f"{self.kind} {self.path}:{self.line}: {_short(self.was)} -> {_short(self.text)}"


def mutants(path: str, source: str, inside: Callable[[ast.AST], bool]) -> Iterator[Mutant]:
    """Every edit of the nodes that `inside` accepts (functions and classes of the top level), in source order."""
    tree = ast.parse(source)
    lines = [0]
    for line in source.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))

    def offset(line: int, column: int) -> int:
        text = source[lines[line - 1] : lines[line]]
        return lines[line - 1] + len(text.encode()[:column].decode())

    def edit(kind: str, node: ast.AST, text: str) -> Mutant:
        start = offset(node.lineno, node.col_offset)  # type: ignore[attr-defined]
        end = offset(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]
        return Mutant(kind, path, node.lineno, start, end, text, source[start:end])  # type: ignore[attr-defined]

    for top in tree.body:
        if inside(top):
            found = [mutant for node in ast.walk(top) for mutant in _edits(node, edit)]
            yield from sorted(found, key=lambda m: (m.start, m.end, m.kind, m.text))


Edit = Callable[[str, ast.AST, str], Mutant]


def _edits(node: ast.AST, edit: Edit) -> Iterator[Mutant]:
    if isinstance(node, (ast.If, ast.IfExp)) and _decides(node):
        yield from _guard(node.test, edit)
    elif isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Mult) and _has_factor(node.value):
        yield edit("drop a multiply", node, "pass")
        yield edit("multiply twice", node, f"{ast.unparse(node)}; {ast.unparse(node)}")
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _name(node.value.func)
        if name in ("mul_", "add_") and _has_factor(node.value) and name == "mul_":
            yield edit("drop a multiply", node, "pass")
            yield edit("multiply twice", node, f"{ast.unparse(node)}; {ast.unparse(node)}")
    elif isinstance(node, ast.Call):
        yield from _call(node, edit)
    elif isinstance(node, ast.keyword):
        yield from _keyword(node, edit)


def _guard(test: ast.expr, edit: Edit) -> Iterator[Mutant]:
    text = ast.unparse(test)
    yield edit("drop a guard", test, "True")
    yield edit("close a guard", test, "False")
    yield edit("negate a guard", test, f"(not ({text}))")
    if isinstance(test, ast.BoolOp):
        joiner = " or " if isinstance(test.op, ast.Or) else " and "
        other = " and " if isinstance(test.op, ast.Or) else " or "
        parts = [ast.unparse(value) for value in test.values]
        yield edit("and for or", test, f"({other.join(f'({part})' for part in parts)})")
        for position in range(len(parts)):
            kept = [f"({part})" for index, part in enumerate(parts) if index != position]
            yield edit("drop a condition", test, f"({joiner.join(kept)})")


def _call(node: ast.Call, edit: Edit) -> Iterator[Mutant]:
    name = _name(node.func)
    if _ANSWER.match(name):
        for text in ("_use_aiter", "False", "True"):
            yield edit("answer by a flag or a literal", node, text)
        if "topk" in ast.unparse(node):
            yield edit("answer by the wish", node, "self.experts.should_fuse_routed_scaling_factor_in_topk")
    elif _SLOT.match(name):
        factor = next((ast.unparse(k.value) for k in node.keywords if "factor" in (k.arg or "")), None)
        factor = factor or (ast.unparse(node.args[0]) if node.args else None)
        yield edit("slot weight by a literal", node, "1.0")
        if factor:
            yield edit("slot weight by the inverse", node, f"(1.0 / {factor})")
    elif _SUM.search(name) and len(node.args) == 1 and not node.keywords:
        yield edit("drop a sum", node, ast.unparse(node.args[0]))
        yield edit("sum twice", node, f"{ast.unparse(node.func)}({ast.unparse(node)})")


def _keyword(node: ast.keyword, edit: Edit) -> Iterator[Mutant]:
    name, text = node.arg or "", ast.unparse(node.value)
    if name == "alpha" and _has_factor(node.value):
        yield edit("change alpha", node, "alpha=1.0")
        yield edit("change alpha", node, f"alpha={text} * {text}")
    elif _FLAG.match(name):
        yield edit("drop the fold flag", node, f"{name}=False")
        yield edit("raise the fold flag", node, f"{name}=True")
    elif name == "routed_scaling_factor" and not (isinstance(node.value, ast.Constant)):
        yield edit("drop the factor", node, f"{name}=None")
    elif name == "reduce_results":
        yield edit(
            "switch a reduction", node, f"{name}={not (isinstance(node.value, ast.Constant) and node.value.value)}"
        )
    elif name in ("tp_size", "parallel_group") and isinstance(node.value, (ast.Constant, ast.IfExp)):
        yield edit("shard what is replicated", node, f"{name}=None")


def _decides(node: ast.If | ast.IfExp) -> bool:
    """Whether a branch scales, or picks a scale."""
    body = node.body if isinstance(node.body, list) else [node.body]
    test = ast.unparse(node.test)
    if re.fullmatch(r".*scaling_factor( is (not )?None| [!=]= 1\.0)?", test) and "not " not in test.split(" is ")[0]:
        return False
    return any(_scales(part) for part in body)


def _scales(node: ast.AST) -> bool:
    for part in ast.walk(node):
        if (
            isinstance(part, (ast.AugAssign, ast.BinOp))
            and isinstance(part.op, (ast.Mult, ast.Div))
            and _has_factor(part)
        ):
            return True
        if isinstance(part, ast.Call) and _name(part.func) in ("mul_", "add_", "add") and _has_factor(part):
            return True
        if isinstance(part, ast.If):
            return False
    return False


def _has_factor(node: ast.AST) -> bool:
    return FACTOR.search(ast.unparse(node)) is not None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 70 else f"{words[:67]}..."
