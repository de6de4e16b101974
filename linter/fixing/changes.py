"""The changes of one repair, as one walk over the syntax tree of libcst."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import libcst as cst

_FITS_ANYWHERE = (cst.Name, cst.Attribute, cst.Call, cst.Subscript, cst.BaseNumber, cst.BaseString)
_TAKES_TESTS = (cst.UnaryOperation, cst.BooleanOperation, cst.IfExp)
"""Where one of these stands without parentheses, a `not` may stand too."""


class CannotWrite(Exception):
    """A repair has no safe form in this file."""


class Changes(cst.CSTTransformer):
    """Planned first, then made by visiting the module; nodes are those of the module, by identity.

    `spans` says where each of them is, so that only the ways to the changes are visited.
    """

    def __init__(self, spans: Mapping[cst.CSTNode, tuple[int, int]]) -> None:
        super().__init__()
        self._spans = spans
        self._expressions: dict[cst.CSTNode, cst.BaseExpression] = {}
        self._keywords: dict[cst.CSTNode, tuple[str, cst.BaseExpression]] = {}
        self._inserted: dict[cst.CSTNode, cst.BaseStatement] = {}
        self._removed: set[cst.CSTNode] = set()
        self._guarded: dict[cst.CSTNode, cst.BaseExpression] = {}
        self._targets: list[tuple[int, int]] = []
        self._open = 0
        """Changes that are planned and not made."""

    def replace(self, node: cst.BaseExpression, text: str) -> None:
        """Put the expression `text` in place of `node`, in its parentheses."""
        new = cst.parse_expression(text).visit(_Absolute())
        if not isinstance(new, cst.BaseExpression):
            raise CannotWrite
        if not isinstance(new, _FITS_ANYWHERE) and not isinstance(node, _TAKES_TESTS) and not node.lpar:
            new = new.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
        self._expressions[node] = new
        self._open += 1

    def give_keyword(self, node: cst.BaseExpression, name: str, text: str) -> None:
        """Give a call one more keyword argument, in the layout of those that it has."""
        self._keywords[node] = name, cst.parse_expression(text)
        self._open += 1

    def insert_after(self, node: cst.CSTNode, text: str) -> None:
        """Put a statement on a line of its own after one that has its own line."""
        if not isinstance(node, cst.SimpleStatementLine):
            raise CannotWrite
        new = cst.parse_statement(text)
        self._inserted[node] = new
        self._open += 1

    def remove(self, node: cst.CSTNode) -> None:
        """Take out a statement that has its own line; comment lines above it stay."""
        if not isinstance(node, cst.SimpleStatementLine):
            raise CannotWrite
        self._removed.add(node)
        self._open += 1

    def guard(self, node: cst.CSTNode, test: str) -> None:
        """Put a statement that has its own line below a test."""
        if not isinstance(node, cst.SimpleStatementLine):
            raise CannotWrite
        self._guarded[node] = cst.parse_expression(test)
        self._open += 1

    def made_in(self, module: cst.Module) -> cst.Module:
        """The module with the changes."""
        nodes = (*self._expressions, *self._keywords, *self._inserted, *self._removed, *self._guarded)
        self._targets = [self._spans[node] for node in nodes]
        return module.visit(self)

    def on_visit(self, node: cst.CSTNode) -> bool:
        """Whether there is anything to change below a node."""
        span = self._spans.get(node)
        return span is None or any(span[0] <= first and last <= span[1] for first, last in self._targets)

    def check(self) -> None:
        """Raises CannotWrite unless all that was planned has been made: one change may have swallowed another."""
        if self._open:
            raise CannotWrite

    def on_leave(  # type: ignore[override]
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> cst.CSTNode | cst.FlattenSentinel[cst.BaseStatement]:
        """Make what is planned for a node."""
        if original_node in self._expressions:
            self._open -= 1
            return _in_place(self._expressions[original_node], updated_node)
        if original_node in self._keywords and isinstance(updated_node, cst.Call):
            self._open -= 1
            return _with_keyword(updated_node, *self._keywords[original_node])
        if original_node in self._inserted:
            self._open -= 1
            return cst.FlattenSentinel([updated_node, self._inserted[original_node]])  # type: ignore[list-item]
        if original_node in self._guarded and isinstance(updated_node, cst.SimpleStatementLine):
            self._open -= 1
            body = cst.IndentedBlock([updated_node.with_changes(leading_lines=[])])
            return cst.If(self._guarded[original_node], body, leading_lines=updated_node.leading_lines)
        if isinstance(original_node, cst.IndentedBlock) and isinstance(updated_node, cst.IndentedBlock):
            gone = [number for number, line in enumerate(original_node.body) if line in self._removed]
            self._open -= len(gone)
            return _without(updated_node, gone) if gone else updated_node
        return updated_node


class _Absolute(cst.CSTTransformer):
    """Lines inside of parentheses are indented as they say, wherever they are put."""

    def leave_ParenthesizedWhitespace(
        self, original_node: cst.ParenthesizedWhitespace, updated_node: cst.ParenthesizedWhitespace
    ) -> cst.ParenthesizedWhitespace:
        return updated_node.with_changes(indent=False)


def _in_place(new: cst.BaseExpression, old: cst.CSTNode) -> cst.BaseExpression:
    if isinstance(old, cst.BaseExpression) and old.lpar:
        return new.with_changes(lpar=old.lpar, rpar=old.rpar)
    return new


def _with_keyword(call: cst.Call, name: str, value: cst.BaseExpression) -> cst.Call:
    new = cst.Arg(
        value,
        cst.Name(name),
        equal=cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace("")),
    )
    if not call.args:
        return call.with_changes(args=[new])
    *rest, last = call.args
    closing = last.comma
    if isinstance(closing, cst.Comma):
        separator = closing.with_changes(whitespace_after=_inner(call, closing.whitespace_after))
        new = new.with_changes(comma=cst.Comma(whitespace_after=_bare(closing.whitespace_after)))
        last = last.with_changes(comma=separator)
    else:
        new = new.with_changes(whitespace_after_arg=last.whitespace_after_arg)
        separator = cst.Comma(whitespace_after=cst.SimpleWhitespace(" "))
        if rest and isinstance(rest[-1].comma, cst.Comma):
            separator = rest[-1].comma.with_changes(whitespace_after=_bare(rest[-1].comma.whitespace_after))
        last = last.with_changes(comma=separator, whitespace_after_arg=cst.SimpleWhitespace(""))
    return call.with_changes(args=[*rest, last, new])


def _inner(call: cst.Call, closing: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The space after a comma that was the last one, when another argument follows: its comment stays."""
    before = call.whitespace_before_args
    if isinstance(closing, cst.ParenthesizedWhitespace) and isinstance(before, cst.ParenthesizedWhitespace):
        return closing.with_changes(indent=before.indent, last_line=before.last_line)
    if isinstance(closing, cst.ParenthesizedWhitespace):
        raise CannotWrite
    return cst.SimpleWhitespace(" ")


def _bare(space: cst.BaseParenthesizableWhitespace) -> cst.BaseParenthesizableWhitespace:
    """The same line break and indentation without comments and empty lines."""
    if isinstance(space, cst.ParenthesizedWhitespace):
        return space.with_changes(first_line=cst.TrailingWhitespace(), empty_lines=[])
    return space


def _without(block: cst.IndentedBlock, gone: Sequence[int]) -> cst.IndentedBlock:
    body: list[cst.BaseStatement] = []
    waiting: list[cst.EmptyLine] = []
    for number, line in enumerate(block.body):
        if number in gone and isinstance(line, cst.SimpleStatementLine):
            waiting += line.leading_lines
        else:
            if waiting and isinstance(line, (cst.SimpleStatementLine, cst.BaseCompoundStatement)):
                line = line.with_changes(leading_lines=[*waiting, *line.leading_lines])
                waiting = []
            body.append(line)
    if not body:
        return block.with_changes(body=[cst.SimpleStatementLine([cst.Pass()], leading_lines=waiting)])
    return block.with_changes(body=body, footer=[*waiting, *block.footer])
