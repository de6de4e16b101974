"""What a SARIF report says of the rules: their documentation, and how far to trust them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from moelint.linter.registry import entries
from moelint.linter.rule_docs import rule_doc

if TYPE_CHECKING:
    from collections.abc import Collection

    from moelint.linter.registry import RuleEntry

LIMIT = 1024
"""Characters of a description that GitHub takes."""
_PRECISION = {"error": "high", "warning": "medium", "note": "low"}
_PROBLEM = {"error": "error", "warning": "warning", "note": "recommendation"}
_MARKUP = re.compile(r"^(#+ |```\w*$)", re.MULTILINE)


def descriptors(codes: Collection[str]) -> list[dict[str, Any]]:
    """The descriptors of the rules with these codes, by code."""
    return [_descriptor(entry) for entry in entries() if entry.code in codes]


def _descriptor(entry: RuleEntry) -> dict[str, Any]:
    doc = rule_doc(entry)
    markdown = doc.markdown()
    what = dict(doc.sections).get("What it does", doc.summary)
    return {
        "id": entry.code,
        "name": entry.name,
        "shortDescription": {"text": cut(doc.summary)},
        "fullDescription": {"text": cut(" ".join(what.split()))},
        "help": {"text": _MARKUP.sub("", markdown), "markdown": markdown},
        "defaultConfiguration": {"level": entry.severity},
        "properties": {
            "precision": _PRECISION[entry.severity],
            "problem.severity": _PROBLEM[entry.severity],
            "tags": ["correctness", "mixture-of-experts", entry.family],
        },
    }


def cut(text: str) -> str:
    """`text` in at most LIMIT characters, cut between words."""
    return text if len(text) <= LIMIT else text[: LIMIT - 4].rpartition(" ")[0] + " ..."
