"""The JSON report, one object a line, for readers that take one line at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from moelint.linter.report.formats.json import report_as_dict

if TYPE_CHECKING:
    from moelint.linter.model import Report
    from moelint.linter.report.page import Page

_KINDS = (("findings", "finding"), ("suppressed", "suppressed"), ("diagnostics", "diagnostic"))


def render(report: Report, page: Page) -> str:
    """First a line of kind `run` with the tool and the counts, then one for each finding, suppressed finding and
    diagnostic. Each object is that of the `json` report with `kind` in front."""
    data = report_as_dict(report)
    run = {key: data[key] for key in ("version", "tool", "profiles", "summary")}
    lines = [_line("run", run), *(_line(kind, item) for key, kind in _KINDS for item in data[key])]
    return "".join(lines)


def _line(kind: str, item: dict[str, Any]) -> str:
    return json.dumps({"kind": kind, **item}, separators=(",", ":")) + "\n"
