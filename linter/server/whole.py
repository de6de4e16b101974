"""Everything in the workspace folders, checked as `moelint check` does it, cache included, in a child process."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import time
from collections.abc import Mapping
from typing import Any

from lsprotocol import types

from moelint.linter.model import Diagnostic, Finding, Place, Region
from moelint.linter.server.app import MoelintServer
from moelint.linter.server.children import ChildError, output_of
from moelint.linter.server.documents import uri_of

_log = logging.getLogger(__name__)
_OLD = 30.0
"""Seconds after which the disk is looked at again though no change was heard of."""
ByUri = Mapping[str, list[types.Diagnostic]]


class WholeWorkspace:
    """The diagnostics of all files on disk, kept until something changes."""

    def __init__(self, server: MoelintServer) -> None:
        self._server = server
        self._known: dict[str, tuple[float, ByUri]] = {}
        self._lock = asyncio.Lock()

    def outdated(self) -> None:
        """Something on disk changed."""
        self._known.clear()

    async def diagnostics(self) -> ByUri:
        """By address, of the files that have any."""
        found: dict[str, list[types.Diagnostic]] = {}
        async with self._lock:
            for root in self._server.projects.roots:
                known = self._known.get(root)
                if known is None or time.monotonic() - known[0] > _OLD:
                    known = self._known[root] = (time.monotonic(), await self._below(root))
                found.update(known[1])
        return found

    async def _below(self, root: str) -> ByUri:
        try:
            text = await output_of("cli", ["check", "--output", "json", "--notes", "--no-progress", root], root)
            report = json.loads(text)
        except (ChildError, ValueError) as error:
            self._server.complain(f"{root} could not be checked: {error}")
            return {}
        findings: dict[str, list[Finding]] = {}
        problems: dict[str, list[Diagnostic]] = {}
        for item in report["findings"]:
            finding = _finding(item, root)
            findings.setdefault(finding.path, []).append(finding)
        for item in report["diagnostics"]:
            path = os.path.join(root, item["path"])
            problem = Diagnostic(item["code"], path, item["line"], item["message"], item["internal"])
            problems.setdefault(problem.path, []).append(problem)
        presenter = self._server.presenter
        return {
            uri_of(path): presenter.diagnostics(findings.get(path, ()), problems.get(path, ()), presenter.lines(path))
            for path in findings.keys() | problems.keys()
        }


def _finding(item: Mapping[str, Any], root: str) -> Finding:
    return Finding(
        item["code"],
        item["name"],
        item["family"],
        item["severity"],
        os.path.join(root, item["path"]),
        _region(item["region"]),
        item["message"],
        item["help"],
        item["qualname"],
        tuple(
            Place(os.path.join(root, place["path"]), _region(place["region"]), place["message"])
            for place in item["related"]
        ),
        item["identity"],
    )


def _region(item: Mapping[str, int]) -> Region:
    return Region(item["line"], item["column"], item["end_line"], item["end_column"])
