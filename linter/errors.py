"""The one tree of errors that a door turns into a line of text and an exit code."""

from __future__ import annotations


class MoelintError(Exception):
    """Base of everything a user can cause. A door prints it as one line and exits 2."""


class UsageError(MoelintError):
    """The command line asks for something that does not exist."""


class ConfigError(MoelintError):
    """A configuration or profile file is wrong. All problems are in `problems`, none is printed alone."""

    def __init__(self, path: str, problems: list[str]) -> None:
        super().__init__(path, problems)
        self.path = path
        self.problems = problems

    def __str__(self) -> str:
        return "\n".join(f"{self.path}: {problem}" for problem in self.problems)
