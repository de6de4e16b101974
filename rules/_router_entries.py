"""Which functions of a module are worth a router walk, told from their bytes."""

from __future__ import annotations

import re

from moelint.linter.analysis.mentions import covers, mentioning_lines
from moelint.linter.analysis.module import Function, Module
from moelint.rules._calls import Calls

_PICK_WORDS = frozenset(
    {"topk(", "top_k(", ".gather(", "take_along_", "argsort(", "argpartition(", "descending", "approx_max_k("}
)
_PICK = re.compile(
    rb"(?<!self)\.top_?k\(|(?<![\w.])top_?k\(|approx_max_k\(|\.gather\(|take_along_(dim|axis)\(|argsort\(|argpartition\("
    rb"|sort\([^\n]*descending"
)
"""Something is chosen by its size, or taken by index; a router module called `self.topk` is not meant."""
_SCALE = re.compile(rb"scal|factor|rsf")
_SCORED = re.compile(rb"scal|factor|rsf|softmax|sigmoid|softplus|scor|bias|statics|correction")


def entries_of(module: Module, calls: Calls) -> list[Function]:
    """The functions that pick or sum, and those that call them."""
    entries: dict[Function, None] = {}
    helpers: dict[Function, None] = {}
    picking = [line for line, text in mentioning_lines(module.source, _PICK_WORDS) if _PICK.search(text)]
    if not picking and not _sums(module.source.data):
        return []
    for function in module.functions:
        if function.outer is None:
            segment = module.source.segment(function.node)
            picks, sums = covers(function.node, picking), _sums(segment)
            if picks or sums:
                helpers[function] = None
            if picks or (sums and _SCALE.search(segment)):
                entries[function] = None
    for function in helpers:
        for site in calls.of(function):
            caller = site.function
            while caller is not None and caller.outer is not None:
                caller = caller.outer
            if caller is not None and caller not in entries and _SCORED.search(module.source.segment(caller.node)):
                entries[caller] = None
    return list(entries)


def _sums(text: bytes) -> bool:
    """Whether something may be normalised."""
    return (b"sum(" in text or b"normalize(" in text) and b"norm" in text
