"""Route tables on disk, valid as long as every file that the analysis read has the same contents."""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path

from moelint.linter.routes.driver import Knowledge
from moelint.linter.routes.table import RouteTable, pack, unpack


@lru_cache(maxsize=4)
def version(knowledge: Knowledge) -> str:
    """A fingerprint of everything besides the analysed tree that a table depends on."""
    digest = hashlib.blake2b(digest_size=16)
    package = Path(__file__).parent
    for source in [*sorted(package.glob("*.py")), package.parent / "diagram.py"]:
        digest.update(source.read_bytes())
    digest.update(
        json.dumps([asdict(knowledge.profile), asdict(knowledge.facts)], default=_plain, sort_keys=True).encode()
    )
    digest.update(knowledge.models.encode())
    return digest.hexdigest()


def _plain(value: object) -> object:
    """Sets in an order that does not change from process to process; patterns by their text."""
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=repr)
    if isinstance(value, re.Pattern):
        return [value.pattern, value.flags]
    raise TypeError(f"no stable form of {type(value).__name__}")


class Store:
    """One JSON file per block below `folder`. Unreadable or foreign entries count as missing; writing may fail."""

    def __init__(self, folder: str | None, root: str, knowledge: Knowledge) -> None:
        self.folder = folder
        self.root = root
        self.version = version(knowledge)
        self._digests: dict[str, str] = {}

    def load(self, path: str, block: str) -> RouteTable | None:
        """The table of a block, if nothing that it was made from has changed."""
        if self.folder is None:
            return None
        try:
            with open(self._file(path, block), encoding="utf-8") as file:
                entry = json.load(file)
            if entry["version"] != self.version:
                return None
            if any(self._digest(read) != digest for read, digest in entry["reads"].items()):
                return None
            return unpack(entry["table"])
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def save(self, table: RouteTable, reads: frozenset[str]) -> None:
        if self.folder is None:
            return
        entry = {
            "version": self.version,
            "reads": {read: self._digest(read) for read in sorted(reads)},
            "table": pack(table),
        }
        target = self._file(table.path, table.block)
        temporary = f"{target}.{os.getpid()}"
        try:
            os.makedirs(self.folder, exist_ok=True)
            with open(temporary, "w", encoding="utf-8") as file:
                json.dump(entry, file)
            os.replace(temporary, target)
        except OSError:
            return

    def _file(self, path: str, block: str) -> str:
        assert self.folder is not None
        name = hashlib.blake2b(f"{os.path.abspath(self.root)}\0{path}\0{block}".encode(), digest_size=16).hexdigest()
        return os.path.join(self.folder, f"{name}.json")

    def _digest(self, path: str) -> str:
        known = self._digests.get(path)
        if known is None:
            try:
                with open(os.path.join(self.root, path), "rb") as file:
                    known = hashlib.blake2b(file.read(), digest_size=16).hexdigest()
            except OSError:
                known = ""
            self._digests[path] = known
        return known
