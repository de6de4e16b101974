"""Repairs written into a file with libcst, which keeps what they do not touch."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from moelint.linter.decoding import to_utf8
from moelint.linter.fixing.changes import CannotWrite, Changes
from moelint.linter.fixing.imports import WIDTH, with_name
from moelint.linter.fixing.text import Text
from moelint.linter.model import Fix
from moelint.linter.repair import GiveKeyword, Guard, InsertAfter, NeedName, Remove, Replace
from moelint.linter.source import Source

if TYPE_CHECKING:
    from moelint.linter.model import Finding
    from moelint.linter.repair import Repair, Step

    Span = tuple[int, int]

_STATEMENTS = (cst.BaseSmallStatement, cst.BaseCompoundStatement)


class Rewriter:
    """Writes repairs into one file. Raises SyntaxError, UnicodeError or LookupError for one that cannot be read."""

    def __init__(self, data: bytes) -> None:
        self._text = Text(data)
        self._source = Source("", to_utf8(data))
        try:
            module = cst.parse_module(self._text.plain)
        except cst.ParserSyntaxError as error:
            raise SyntaxError(error.message) from None
        self._module = module
        self._written: dict[cst.CSTNode, str] = {}
        """The code of the top-level statements: most of a file stays as it is."""
        if self._code(module) != self._text.plain:
            raise SyntaxError("the file cannot be written again as it is")
        self._spans: dict[cst.CSTNode, Span] = {}
        self._expressions: dict[Span, cst.BaseExpression] = {}
        self._statements: dict[Span, cst.CSTNode] = {}
        """Simple and compound statements; of a line with one statement, the line."""
        self._index()

    def fix(self, finding: Finding, repair: Repair) -> Fix | None:
        """`repair` as edits of this file; None if it cannot be written or changes nothing."""
        changes = Changes(self._spans)
        try:
            for step in repair.steps:
                self._plan(step, changes)
            module = changes.made_in(self._module)
            for step in repair.steps:
                if isinstance(step, NeedName):
                    module = with_name(module, step)
            changes.check()
        except (CannotWrite, cst.CSTValidationError):
            return None
        edits = self._text.edits_to(self._code(module))
        return Fix(finding.code, finding.identity, repair.title, edits, repair.safe) if edits else None

    def _code(self, module: cst.Module) -> str:
        """The code of a module that shares most of its statements with the file's."""
        parts = [self._module.code_for_node(line) for line in module.header]
        for statement in module.body:
            if statement in self._written:
                parts.append(self._written[statement])
            else:
                parts.append(self._module.code_for_node(statement))
                if module is self._module:
                    self._written[statement] = parts[-1]
        parts += [self._module.code_for_node(line) for line in module.footer]
        text = "".join(parts)
        return text if module.has_trailing_newline else text.removesuffix("\n")

    def _plan(self, step: Step, changes: Changes) -> None:
        if isinstance(step, Replace):
            changes.replace(self._expression(step.node), self._fitted(step))
        elif isinstance(step, GiveKeyword):
            changes.give_keyword(self._expression(step.call), step.name, step.text)
        elif isinstance(step, InsertAfter):
            changes.insert_after(self._statement(step.statement), self._statement_text(step))
        elif isinstance(step, Remove):
            changes.remove(self._statement(step.statement))
        elif isinstance(step, Guard):
            changes.guard(self._statement(step.statement), step.test)

    def _fitted(self, step: Replace) -> str:
        """The new expression; a call that would make its line too long gets a line for each argument."""
        start, end = self._span(step.node)
        line_start = self._text.plain.rfind("\n", 0, start) + 1
        line = self._text.plain[line_start:].split("\n", 1)[0]
        rest = self._text.plain[end:].split("\n", 1)[0].split("  #")[0]
        indent = line[: len(line) - len(line.lstrip())]
        return step.text if start - line_start + len(step.text) + len(rest) <= WIDTH else broken(step.text, indent)

    def _statement_text(self, step: InsertAfter) -> str:
        column = self._source.region(step.statement).col - 1
        target, equals, value = step.text.partition(" = ")
        if column + len(step.text) <= WIDTH or not equals:
            return step.text
        return f"{target} = (\n{self._module.default_indent}{value}\n)"

    def _expression(self, node: ast.AST) -> cst.BaseExpression:
        found = self._expressions.get(self._span(node))
        if found is None:
            raise CannotWrite
        return found

    def _statement(self, node: ast.AST) -> cst.CSTNode:
        found = self._statements.get(self._span(node))
        if found is None:
            raise CannotWrite
        return found

    def _span(self, node: ast.AST) -> Span:
        region = self._source.region(node)
        return self._text.offset(region.line, region.col), self._text.offset(region.end_line, region.end_col)

    def _index(self) -> None:
        wrapper = MetadataWrapper(self._module, unsafe_skip_copy=True)
        starts = [0, 0]
        for line in self._text.plain.split("\n"):
            starts.append(starts[-1] + len(line) + 1)
        for node, place in wrapper.resolve(PositionProvider).items():
            span = starts[place.start.line] + place.start.column, starts[place.end.line] + place.end.column
            self._spans[node] = span
            if isinstance(node, cst.BaseExpression):
                self._expressions.setdefault(span, node)
            elif isinstance(node, _STATEMENTS):
                self._statements.setdefault(span, node)
        for node in self._spans:
            if isinstance(node, cst.SimpleStatementLine) and len(node.body) == 1:
                self._statements[self._spans[node.body[0]]] = node


def broken(text: str, indent: str) -> str:
    """A call of several arguments with a line for each of them, for a line that is indented so; other text as it is."""
    call = ast.parse(text, mode="eval").body
    if not isinstance(call, ast.Call) or len(call.args) + len(call.keywords) < 2:
        return text
    parts = [ast.unparse(argument) for argument in call.args]
    parts += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in call.keywords]
    lines = "".join(f"{indent}    {part},\n" for part in parts)
    return f"{ast.unparse(call.func)}(\n{lines}{indent})"
