"""Paths as tools that know the repository want them: from its root, whatever folder the run was started in."""

from __future__ import annotations

import os

from moelint.linter import git


class Places:
    """Names files from the root of the repository around the current folder, else from the current folder."""

    def __init__(self) -> None:
        here = os.getcwd()
        self._root = git.work_tree(here) or here
        self._prefix = os.path.join(self._root, "")
        self._real_prefix = os.path.join(os.path.realpath(self._root), "")
        self._known: dict[str, str] = {}

    def path(self, path: str) -> str:
        """`path` from the root, with `/` between the parts; absolute for a file outside.

        A link is named by what it leads to, because that is what a hosting service shows; unless that lies outside.
        """
        found = self._known.get(path)
        if found is None:
            found = self._known[path] = self._named(os.path.abspath(path))
        return found

    def _named(self, full: str) -> str:
        real = os.path.realpath(full)
        if real.startswith(self._real_prefix):
            full = real[len(self._real_prefix) :]
        elif full.startswith(self._prefix):
            full = full[len(self._prefix) :]
        return full.replace(os.sep, "/")
