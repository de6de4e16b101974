"""The command line of `moelint check`, read without argparse, whose import would double the start-up time."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_FLAG, _VALUE, _LIST = "flag", "value", "list"

OPTIONS: tuple[tuple[str, str, str, str], ...] = (
    ("output", _LIST, "FORMAT[:FILE]", "write a report; may be given several times"),
    ("select", _LIST, "RULES", "use only these rules (codes, names or families, separated by commas)"),
    ("ignore", _LIST, "RULES", "leave these rules out"),
    ("extend-select", _LIST, "RULES", "use these rules too"),
    ("extend-ignore", _LIST, "RULES", "leave these rules out too"),
    ("statistics", _FLAG, "", "count the findings of each rule"),
    ("notes", _FLAG, "", "show findings of severity note"),
    ("exit-zero", _FLAG, "", "exit 0 even with findings"),
    ("jobs", _VALUE, "N", "number of processes (default: as many as there are processors)"),
    ("no-cache", _FLAG, "", "neither read nor write the cache"),
    ("cache-dir", _VALUE, "FOLDER", "where the cache is kept"),
    ("config", _VALUE, "FILE", "use this configuration file"),
    ("profile", _VALUE, "NAME|FILE", "the framework profile of all files"),
    ("force-exclude", _FLAG, "", "apply the excludes to files named on the command line too"),
    ("stdin-filename", _VALUE, "FILE", "the name of the text read from standard input by `-`"),
    ("no-progress", _FLAG, "", "no progress line"),
)


class Options:
    """What the command line says."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.output: list[str] = []
        self.select: list[str] = []
        self.ignore: list[str] = []
        self.extend_select: list[str] = []
        self.extend_ignore: list[str] = []
        self.statistics = False
        self.notes = False
        self.exit_zero = False
        self.jobs: str | None = None
        self.no_cache = False
        self.cache_dir: str | None = None
        self.config: str | None = None
        self.profile: str | None = None
        self.force_exclude = False
        self.stdin_filename: str | None = None
        self.no_progress = False


def parse(argv: Sequence[str]) -> Options:
    """Read the arguments after `check`. Raises UsageError."""
    from moelint.linter.errors import UsageError

    options = Options()
    kinds = {name: kind for name, kind, _, _ in OPTIONS}
    words = iter(argv)
    for word in words:
        if word == "--":
            options.paths += words
        elif word == "-" or not word.startswith("-"):
            options.paths.append(word)
        else:
            name, equals, value = word[2:].partition("=")
            kind = kinds.get(name) if word.startswith("--") else None
            if kind is None:
                raise UsageError(f"unknown option {word}")
            field = name.replace("-", "_")
            if kind == _FLAG:
                setattr(options, field, True)
                continue
            if not equals:
                value = next(words, "")
            if not value:
                raise UsageError(f"option --{name} needs a value")
            if kind == _LIST:
                getattr(options, field).extend([value] if name == "output" else value.split(","))
            else:
                setattr(options, field, value)
    options.paths = options.paths or ["."]
    return options
