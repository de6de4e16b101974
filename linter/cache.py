"""Results of unchanged files, kept in one file for each project and set of options. On the start-up path.

An entry holds for a file whose stamp is the one that was noted, and, where that differs, for one with the same bytes.
The cache is never needed: one that is missing, damaged, of another version or not writable costs time only.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from moelint.linter.reading import Stamp
    from moelint.linter.records import Record

    Entry = tuple[Stamp | None, bytes, str, Record | None]
    """Stamp (None: do not trust it), hash of the bytes (empty for files that no rule looks at), profile, result."""

try:
    from _blake2 import blake2b
except ImportError:  # an interpreter with another set of built-in modules
    from hashlib import blake2b

_MAGIC = b"moelint cache 1\n"
_HASH = 16
_KEPT = 4
"""Files of other options that stay beside the current one."""
_TAG = """Signature: 8a477f597d28d172789f06886806bc55
# This folder holds results of moelint and may be deleted at any time.
"""


def digest(data: bytes) -> bytes:
    """The hash that stands for the bytes of a file."""
    return blake2b(data, digest_size=_HASH).digest()


class Cache:
    """The entries of the project in the folder `root`, by project path, for one set of options."""

    def __init__(self, folder: str, root: str, key: bytes) -> None:
        self._folder = folder
        self._root = root
        self._file = os.path.join(folder, f"results-{digest(key).hex()}")
        self._key = key
        self._entries: dict[str, Entry] | None = None
        self._asked: set[str] = set()
        self._changed = False

    def by_stamp(self, path: str, stamp: Stamp) -> Entry | None:
        """The entry of a file if nothing has touched the file since."""
        self._asked.add(path)
        entry = self._load().get(path)
        return entry if entry is not None and entry[0] == stamp else None

    def by_content(self, path: str, hashed: bytes) -> Entry | None:
        """The entry of a file if its bytes are the same."""
        entry = self._load().get(path)
        return entry if entry is not None and entry[1] and entry[1] == hashed else None

    def store(self, path: str, entry: Entry) -> None:
        """Note the result of a file."""
        entries = self._load()
        if entries.get(path) != entry:
            entries[path] = entry
            self._changed = True

    def save(self) -> None:
        """Write what has changed, in one step, so that a reader sees the old file or the new one."""
        if not self._changed:
            return
        import marshal

        entries = self._load()
        for path in entries.keys() - self._asked:
            if not os.path.lexists(os.path.join(self._root, path)):
                del entries[path]
        body = marshal.dumps((self._key, entries), 2)
        new = f"{self._file}.{os.getpid()}"
        try:
            self._make_folder()
            with open(new, "wb") as stream:
                stream.write(_MAGIC + digest(body) + body)
            os.replace(new, self._file)
            self._drop_oldest()
        except OSError:
            _unlink(new)

    def _load(self) -> dict[str, Entry]:
        if self._entries is None:
            self._entries = _read(self._file, self._key)
        return self._entries

    def _make_folder(self) -> None:
        os.makedirs(self._folder, exist_ok=True)
        for name, text in (("CACHEDIR.TAG", _TAG), (".gitignore", "*\n")):
            path = os.path.join(self._folder, name)
            if not os.path.exists(path):
                with open(path, "x", encoding="ascii") as stream:
                    stream.write(text)

    def _drop_oldest(self) -> None:
        with os.scandir(self._folder) as found:
            others = [entry for entry in found if entry.name.startswith("results-") and entry.path != self._file]
        others.sort(key=lambda entry: entry.stat().st_mtime_ns, reverse=True)
        for entry in others[_KEPT:]:
            _unlink(entry.path)


def _read(file: str, key: bytes) -> dict[str, Entry]:
    try:
        with open(file, "rb") as stream:
            content = stream.read()
    except OSError:
        return {}
    start = len(_MAGIC) + _HASH
    body = content[start:]
    if not content.startswith(_MAGIC) or digest(body) != content[len(_MAGIC) : start]:
        return {}
    import marshal

    try:
        found, entries = marshal.loads(body)
    except (EOFError, ValueError, TypeError):
        return {}
    return entries if found == key and isinstance(entries, dict) else {}


def _unlink(path: str) -> None:
    from contextlib import suppress

    with suppress(OSError):
        os.unlink(path)


def key_of(fingerprint: str) -> bytes:
    """What must be equal for two runs to share results. `fingerprint` stands for their options and configuration."""
    import sys

    return f"{fingerprint}\0{sys.version_info[:2]}\0{sys.implementation.name}\0".encode() + code_hash()


def code_hash() -> bytes:
    """A hash of the sources of the rules and of the linter, which together with its input decide what is found."""
    from moelint import rules

    found = blake2b(digest_size=_HASH)
    for package in (os.path.dirname(__file__), *rules.__path__):
        for folder, folders, names in os.walk(package):
            folders.sort()
            for name in sorted(names):
                if name.endswith(".py"):
                    with open(os.path.join(folder, name), "rb") as stream:
                        found.update(stream.read())
    return found.digest()
