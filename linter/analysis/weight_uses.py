"""Where the top-k weights are used as a tensor, told from lines: files name them most often to load a checkpoint."""

from __future__ import annotations

import re
from functools import lru_cache

from moelint.linter.source import Source

_USED = (
    rb"(?<!\w)(?:%(weights)s)(?:[\[(]|\s*\.(?:narrow|select|where|masked_fill|index_fill|scatter)|\s*(?:#.*)?$)"
    rb"|(?:^|[(\[,)\]])\s*[\w.]*(?<!\w)(?:%(weights)s)\s*,|,\s*[\w.]*(?<!\w)(?:%(weights)s)\s*\)"
    rb"|(?:cat|concat|concatenate|hstack|column_stack|pad|where)\s*\(.*(?<!\w)(?:%(weights)s)(?!\w)"
)
"""A line on which the top-k weights are indexed, given another name, or handed on as one of several values: all but a
loop over them, their declaration and a call that takes nothing else, which is how checkpoints are loaded."""


def weight_uses(source: Source, names: frozenset[str]) -> list[int]:
    """The numbers of the lines on which a column of the weights called by one of `names` may be given a value."""
    used = _used(names)
    return [line for line in source.lines_naming(names) if used.search(source.lines[line - 1])]


@lru_cache(maxsize=8)
def _used(names: frozenset[str]) -> re.Pattern[bytes]:
    return re.compile(_USED % {b"weights": "|".join(map(re.escape, sorted(names))).encode()})
