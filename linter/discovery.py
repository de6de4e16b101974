"""Which files a run checks: files, never packages, so that folders without `__init__.py` count. On the start-up path.

Links to folders are not followed, so there are no loops and no file is found twice.
"""

from __future__ import annotations

import os

from moelint.linter.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

_SUFFIXES = (".py", ".pyi")
_PATTERN = frozenset("*?[!/")


class Excludes:
    """Path patterns, split into names of files and folders, which cost nothing, and the rest."""

    def __init__(self, patterns: Iterable[str], root: str) -> None:
        patterns = tuple(patterns)
        self.names = frozenset(pattern for pattern in patterns if _PATTERN.isdisjoint(pattern))
        self._patterns = tuple(pattern for pattern in patterns if pattern not in self.names)
        self._root = root
        self.has_patterns = bool(self._patterns)

    def below(self, folder: str) -> Excludes:
        """The excludes that hold for a walk of `folder`: a pattern that covers the very folder that was asked for is
        left out, or nothing would be found."""
        if not self.has_patterns:
            return self
        kept = (pattern for pattern in self._patterns if not _covers((pattern,), self._relative(folder)))
        return Excludes((*self.names, *kept), self._root)

    def covers(self, path: str) -> bool:
        """Whether some pattern that is no mere name covers `path`."""
        return self.has_patterns and _covers(self._patterns, self._relative(path))

    def covers_asked(self, path: str) -> bool:
        """Whether `path` or a folder above it, up to the root, is left out."""
        relative = self._relative(path)
        return not self.names.isdisjoint(relative.split("/")) or _covers(self._patterns, relative)

    def _relative(self, path: str) -> str:
        full = os.path.abspath(path)
        start = os.path.join(self._root, "")
        return (full[len(start) :] if full.startswith(start) else full.lstrip(os.sep)).replace(os.sep, "/")


def _covers(patterns: tuple[str, ...], path: str) -> bool:
    from moelint.linter.globs import globs

    return globs(patterns).matches(path)


class Found:
    """The files of a run, in order, as the user will see them."""

    def __init__(self) -> None:
        self.files: list[str] = []
        self.may_be_gone: set[str] = set()
        """Files that git lists and that may be deleted in the work tree."""
        self.unreadable: list[tuple[str, str]] = []
        """Folders that could not be listed, and why."""


def discover(
    paths: Sequence[str], excludes: Excludes, *, force_exclude: bool = False, texts: Collection[str] = ()
) -> Found:
    """The files that `paths` stand for. `texts` are absolute paths that need not exist on disk. Raises UsageError for
    any other path that does not exist."""
    found = Found()
    for path in paths:
        if force_exclude and excludes.covers_asked(path):
            continue
        if texts and os.path.abspath(path) in texts:
            found.files.append(path)
        elif os.path.isdir(path):
            files, listed_by_git = _files_below(path, excludes.below(path), found.unreadable)
            files = sorted(set(files))
            found.files += files
            if listed_by_git:
                found.may_be_gone.update(files)
        elif os.path.lexists(path):
            found.files.append(os.path.normpath(path))
        else:
            raise UsageError(f"{path}: no such file or folder")
    if len(paths) > 1:
        found.files = _distinct(found.files)
    return found


def _distinct(files: list[str]) -> list[str]:
    """`files` without those that an earlier path names in another way."""
    by_place: dict[str, str] = {}
    for path in files:
        by_place.setdefault(os.path.abspath(path), path)
    return list(by_place.values())


def _files_below(folder: str, excludes: Excludes, unreadable: list[tuple[str, str]]) -> tuple[list[str], bool]:
    """The Python files below `folder`, and whether git named them. A folder of which git knows nothing, because it is
    ignored as a whole, was asked for all the same and is walked."""
    from moelint.linter import git

    if git.in_work_tree(folder):
        names = git.listed(folder)
        if names:
            return _tracked(folder, names, excludes, unreadable), True
        return _walk(folder, excludes, unreadable, use_ignore_files=names is None), False
    return _walk(folder, excludes, unreadable, use_ignore_files=True), False


def _tracked(folder: str, names: list[str], excludes: Excludes, unreadable: list[tuple[str, str]]) -> list[str]:
    prefix = "" if os.path.normpath(folder) == "." else os.path.join(os.path.normpath(folder), "")
    submodules = os.path.exists(os.path.join(folder, ".gitmodules"))
    files: list[str] = []
    for name in names:
        if not excludes.names.isdisjoint(name.split("/")) or excludes.covers(prefix + name):
            continue
        if name.endswith(_SUFFIXES):
            files.append(prefix + name)
        elif name.endswith("/") or (submodules and os.path.isdir(prefix + name)):
            files += _files_below(prefix + name, excludes, unreadable)[0]
    return files


def _walk(folder: str, excludes: Excludes, unreadable: list[tuple[str, str]], *, use_ignore_files: bool) -> list[str]:
    found: list[str] = []
    ignore_files: list[str] = []
    stack = [os.path.normpath(folder)]
    while stack:
        current = stack.pop()
        prefix = "" if current == "." else os.path.join(current, "")
        try:
            with os.scandir(current) as entries:
                for entry in entries:
                    name = entry.name
                    if name in excludes.names or (excludes.has_patterns and excludes.covers(prefix + name)):
                        continue
                    if name.endswith(_SUFFIXES) and _is_to_be_read(entry):
                        found.append(prefix + name)
                    elif entry.is_dir(follow_symlinks=False):
                        stack.append(prefix + name)
                    elif name == ".gitignore":
                        ignore_files.append(prefix)
        except OSError as error:
            unreadable.append((current, error.strerror or str(error)))
    if use_ignore_files and any(path.startswith(folder) for folder in ignore_files for path in found):
        from moelint.linter.gitignore import not_ignored

        return not_ignored(found, ignore_files)
    return found


def _is_to_be_read(entry: os.DirEntry[str]) -> bool:
    """Whether it is a file, or a link that leads nowhere or in a circle, which is worth a word. Pipes and devices,
    which could block, are passed over."""
    try:
        return entry.is_file() or (entry.is_symlink() and not os.path.exists(entry.path))
    except OSError:
        return True
