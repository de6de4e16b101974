"""What a tree holds, and the parts of it that the slow and the small contests run on."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pattern import ATTRIBUTE

VOCABULARY = (b"routed", b"expert", b"moe", b"topk", b"router", b"scaling")


def python_files(tree: Path) -> Iterator[Path]:
    for folder, inner, names in os.walk(tree):
        inner[:] = [name for name in inner if name != "__pycache__" and not name.startswith(".")]
        yield from (Path(folder, name) for name in sorted(names) if name.endswith(".py"))


@dataclass(frozen=True, slots=True)
class Corpus:
    """`part` is the folder with the most files that name the attribute; `hit` the largest of those files;
    `miss` the file of middling size that uses no word of the field."""

    tree: Path
    files: int
    size: int
    part: Path
    part_files: int
    hit: Path
    miss: Path


def survey(tree: Path) -> Corpus:
    """Read the tree once. Raises ValueError where it has no file of one of the two kinds."""
    sizes: dict[Path, int] = {}
    hits: list[Path] = []
    misses: list[Path] = []
    token = ATTRIBUTE.encode()
    for path in python_files(tree):
        data = path.read_bytes()
        sizes[path] = len(data)
        if token in data:
            hits.append(path)
        elif data and not any(word in data.lower() for word in VOCABULARY):
            misses.append(path)
    if not hits or not misses:
        raise ValueError(f"{tree} needs a file that names {ATTRIBUTE} and one that uses no word of the field")
    part = Counter(path.parent for path in hits).most_common(1)[0][0]
    return Corpus(
        tree=tree,
        files=len(sizes),
        size=sum(sizes.values()),
        part=part,
        part_files=sum(1 for path in sizes if path.is_relative_to(part)),
        hit=max((path for path in hits if path.parent == part), key=lambda path: sizes[path]),
        miss=sorted(misses, key=lambda path: (sizes[path], path))[len(misses) // 2],
    )
