"""Code actions: repair a finding, excuse it, read about its rule; repair everything in a file."""

from __future__ import annotations

import asyncio
import logging
import tokenize
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from lsprotocol import types

from moelint.linter.add_ignore import with_comments
from moelint.linter.model import Finding, Fix
from moelint.linter.server.analyst import Checked
from moelint.linter.server.app import MoelintServer
from moelint.linter.server.edits import edits_to
from moelint.linter.server.positions import region_of, to_range

T = TypeVar("T")
_log = logging.getLogger(__name__)
FIX_ALL = "source.fixAll.moelint"
OPEN_RULE = "moelint.openRule"
REASON = "FILL IN why this is right"
_OWN_FAMILY = "suppression"
OPTIONS = types.CodeActionOptions([types.CodeActionKind.QuickFix, FIX_ALL], resolve_provider=True)


class Actions:
    """Offers code actions. Repairs need a parser that takes a second for a large file: they are worked out where the
    cursor is on a finding, once for each state of a document, and for whole files when one is chosen."""

    def __init__(self, server: MoelintServer) -> None:
        self._server = server
        self._fixes: dict[tuple[int, str], Fix | None] = {}

    def register(self) -> None:
        self._server.on(types.TEXT_DOCUMENT_CODE_ACTION, self.offer, OPTIONS)
        self._server.on(types.CODE_ACTION_RESOLVE, self.resolve)

        @self._server.command(OPEN_RULE)
        def open_rule(code: str) -> str:
            return self._server.show(self._server.pages.address(code))

    async def offer(self, params: types.CodeActionParams) -> list[types.CodeAction]:
        """What can be done about the findings in a range."""
        checked = await self._server.checked(params.text_document.uri)
        if checked is None:
            return []
        actions: list[types.CodeAction] = []
        only = params.context.only
        if _wanted(types.CodeActionKind.QuickFix, only):
            here = _within(checked, params.range, self._server.presenter.encoding)
            for finding in here:
                fix = await self._fix(checked, finding)
                if fix is not None:
                    actions.append(self._repair(checked, finding, fix))
            for finding in here:
                actions += self._others(checked, finding)
        if checked.findings and _wanted(FIX_ALL, only):
            data = {"uri": checked.document.uri, "serial": checked.document.serial}
            actions.append(types.CodeAction("moelint: repair all that can be repaired safely", FIX_ALL, data=data))
        return actions

    async def resolve(self, action: types.CodeAction) -> types.CodeAction:
        """Work out the edit of "repair all"."""
        data = action.data
        if action.kind != FIX_ALL or not isinstance(data, dict):
            return action
        checked = await self._server.checked(str(data.get("uri")))
        if checked is None or checked.document.serial != data.get("serial"):
            return action
        document = checked.document

        def work() -> bytes:
            from moelint.linter.fixing import repaired

            texts = {document.path: document.data}
            session = repaired(checked.findings, checked.project.plan, texts, unsafe=False)
            return session.new.get(document.path, document.data)

        edits = edits_to(document, await _in_thread(work), self._server.presenter.encoding)
        action.edit = types.WorkspaceEdit({document.uri: edits})
        return action

    async def _fix(self, checked: Checked, finding: Finding) -> Fix | None:
        """The fix of a finding, if it has one."""
        document = checked.document
        key = (document.serial, finding.identity)
        if key not in self._fixes:

            def work() -> Sequence[Fix]:
                from moelint.linter.fixing import fixes_for

                return fixes_for(document.path, document.data, [finding], checked.project.plan)

            found = await _in_thread(work)
            self._fixes = {known: fix for known, fix in self._fixes.items() if known[0] == document.serial}
            self._fixes[key] = found[0] if found else None
        return self._fixes[key]

    def _repair(self, checked: Checked, finding: Finding, fix: Fix) -> types.CodeAction:
        lines, encoding = checked.document.lines, self._server.presenter.encoding
        edits = [types.TextEdit(to_range(lines, edit.region, encoding), edit.text) for edit in fix.edits]
        title = fix.title if fix.safe else f"{fix.title} (unsafe: look at it)"
        return types.CodeAction(
            f"moelint: {title}",
            types.CodeActionKind.QuickFix,
            self._shown(checked, finding),
            is_preferred=fix.safe,
            edit=types.WorkspaceEdit({checked.document.uri: edits}),
        )

    def _others(self, checked: Checked, finding: Finding) -> Iterable[types.CodeAction]:
        """To excuse a finding, and to read about its rule."""
        shown = self._shown(checked, finding)
        if finding.family != _OWN_FAMILY:
            try:
                data = with_comments(checked.document.data, [finding], REASON)
            except (ValueError, SyntaxError, tokenize.TokenError) as error:
                _log.info("no comment for %s: %s", finding.identity, error)
            else:
                edits = edits_to(checked.document, data, self._server.presenter.encoding)
                yield types.CodeAction(
                    f"moelint: ignore {finding.name} here, with a reason to fill in",
                    types.CodeActionKind.QuickFix,
                    shown,
                    edit=types.WorkspaceEdit({checked.document.uri: edits}),
                )
        title = f"moelint: what {finding.name} wants, and why"
        command = types.Command(title, OPEN_RULE, arguments=[finding.code])
        yield types.CodeAction(title, types.CodeActionKind.QuickFix, shown, command=command)

    def _shown(self, checked: Checked, finding: Finding) -> list[types.Diagnostic]:
        return self._server.presenter.diagnostics([finding], (), checked.document.lines)


def _wanted(kind: str, only: Sequence[types.CodeActionKind | str] | None) -> bool:
    """Whether a client that restricts kinds to `only` wants `kind`."""
    if only is None:
        return True
    names = [str(getattr(item, "value", item)) for item in only]
    kind = str(getattr(kind, "value", kind))
    return any(not name or kind == name or kind.startswith(f"{name}.") for name in names)


def _within(checked: Checked, span: types.Range, encoding: str) -> list[Finding]:
    """The findings that a range touches."""
    asked = region_of(checked.document.lines, span, encoding)
    begin, end = (asked.line, asked.col), (asked.end_line, asked.end_col)
    return [
        finding
        for finding in checked.findings
        if (finding.region.line, finding.region.col) <= end
        and begin <= (finding.region.end_line, finding.region.end_col)
    ]


async def _in_thread(work: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(None, work)
