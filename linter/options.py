"""The command line of `moelint check`, read from one table: importing argparse would cost more than a small run."""

from __future__ import annotations

from moelint.linter.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class Option:
    """One row of the table. `value` is the name of its argument, empty for a flag."""

    __slots__ = ("field", "help", "kind", "name", "short", "value")

    def __init__(self, name: str, kind: str, value: str, help: str, short: str = "") -> None:
        self.name = name
        self.kind = kind
        self.value = value
        self.help = help
        self.short = short
        self.field = name[2:].replace("-", "_")


SECTIONS: tuple[tuple[str, tuple[Option, ...]], ...] = (
    (
        "Rules",
        (
            Option("--select", "list", "RULES", "use only these: codes, names or families, separated by commas"),
            Option("--ignore", "list", "RULES", "leave these out"),
            Option("--extend-select", "list", "RULES", "use these in addition"),
            Option("--extend-ignore", "list", "RULES", "leave these out in addition"),
            Option(
                "--profile", "value", "NAME|FILE", "the framework profile of every file, instead of each file's own"
            ),
            Option("--routes", "flag", "", "analyse whole routes through MoE blocks too (minutes for a large tree)"),
        ),
    ),
    (
        "Reports",
        (
            Option("--output", "append", "FORMAT[:FILE]", "write this report; may be given several times", "-o"),
            Option("--notes", "flag", "", "show findings of severity note"),
            Option("--statistics", "flag", "", "count the findings of each rule"),
            Option("--show-suppressed", "flag", "", "put what is suppressed into sarif, marked as such"),
            Option("--no-progress", "flag", "", "draw no progress line"),
            Option("--exit-zero", "flag", "", "exit with 0 though there are findings"),
        ),
    ),
    (
        "What counts",
        (
            Option("--baseline", "value", "FILE", "only what is not in this baseline"),
            Option("--no-baseline", "flag", "", "everything, whatever baseline is configured"),
            Option("--diff-base", "value", "REF", "only what the changes since the branch left REF bring"),
            Option("--add-ignore", "value", "REASON", "write suppression comments for what is found"),
        ),
    ),
    (
        "Fixes",
        (
            Option("--fix", "flag", "", "repair in the files what can be repaired safely"),
            Option("--unsafe-fixes", "flag", "", "take fixes too that rest on what the file does not show"),
            Option("--diff", "flag", "", "write nothing, show what --fix would change"),
        ),
    ),
    (
        "Files",
        (
            Option("--exclude", "list", "PATTERNS", "leave out these files and folders instead of the default ones"),
            Option("--extend-exclude", "list", "PATTERNS", "leave out these files and folders in addition"),
            Option("--force-exclude", "flag", "", "leave them out even where the command line names them"),
            Option("--stdin-filename", "value", "FILE", "the name of the text that `-` reads from standard input"),
        ),
    ),
    (
        "Run",
        (
            Option("--config", "value", "FILE", "the configuration file; without it, the nearest one"),
            Option("--isolated", "flag", "", "use no configuration file"),
            Option("--cache-dir", "value", "FOLDER", "where results of unchanged files are kept"),
            Option("--no-cache", "flag", "", "neither read nor write such results"),
            Option("--jobs", "count", "N", "worker processes; 0 (the default): one for each processor", "-j"),
        ),
    ),
)


class Options:
    """What the command line says; the fields are the options' names."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.help = False
        self.output: list[str] = []
        self.select: list[str] = []
        self.ignore: list[str] = []
        self.extend_select: list[str] = []
        self.extend_ignore: list[str] = []
        self.exclude: list[str] = []
        self.extend_exclude: list[str] = []
        self.statistics = False
        self.notes = False
        self.show_suppressed = False
        self.exit_zero = False
        self.baseline: str | None = None
        self.no_baseline = False
        self.diff_base: str | None = None
        self.add_ignore: str | None = None
        self.fix = False
        self.unsafe_fixes = False
        self.diff = False
        self.jobs: int | None = None
        self.no_cache = False
        self.cache_dir: str | None = None
        self.config: str | None = None
        self.isolated = False
        self.profile: str | None = None
        self.force_exclude = False
        self.stdin_filename: str | None = None
        self.no_progress = False
        self.routes = False

    def says(self, field: str) -> bool:
        """Whether the command line gave the option of this field."""
        return getattr(self, field) not in (None, False, [])


def parse(argv: Sequence[str]) -> Options:
    """Read the arguments after `check`. Raises UsageError."""
    options = Options()
    table = _table()
    words = _expand(argv)
    for word in words:
        if word == "--":
            options.paths += words
        elif word == "-" or not word.startswith("-"):
            options.paths.append(word)
        elif word in ("-h", "--help"):
            options.help = True
        else:
            name, equals, value = word.partition("=")
            if len(name) > 2 and name[1] != "-":
                name, equals, value = word[:2], "=", word[2:].removeprefix("=")
            option = table.get(name)
            if option is None:
                raise UsageError(f"unknown option {name}{_hint(name, table)}")
            if option.kind == "flag":
                if equals:
                    raise UsageError(f"option {name} takes no value")
                setattr(options, option.field, True)
            else:
                _store(options, option, value if equals else next(words, ""))
    options.paths = options.paths or ["."]
    return options


def usage() -> str:
    """The text of `moelint check --help`."""
    lines = [
        "usage: moelint check [OPTIONS] [PATHS]",
        "",
        "Check Python files and all Python files below folders; without PATHS, the current folder. `-` reads standard",
        "input, `@FILE` takes arguments from FILE, one a line.",
    ]
    for title, options in SECTIONS:
        lines += ["", f"{title}:"]
        for option in options:
            names = f"{option.short}, {option.name}" if option.short else f"    {option.name}"
            lines.append(f"  {f'{names} {option.value}'.rstrip():34}{option.help}")
    lines += ["", "Exit code: 0 nothing found, 1 findings, 2 wrong usage or an internal error.", ""]
    return "\n".join(lines)


def _table() -> dict[str, Option]:
    options = [option for _, section in SECTIONS for option in section]
    return {spelling: option for option in options for spelling in (option.name, option.short) if spelling}


def _store(options: Options, option: Option, value: str) -> None:
    if not value:
        raise UsageError(f"option {option.name} needs a value: {option.name} {option.value}")
    if option.kind == "value":
        setattr(options, option.field, value)
    elif option.kind == "count":
        if not (value.isascii() and value.isdigit()):
            raise UsageError(f"option {option.name}: {value!r} is not a number of 0 or more")
        setattr(options, option.field, int(value))
    else:
        items = [value] if option.kind == "append" else [item.strip() for item in value.split(",") if item.strip()]
        getattr(options, option.field).extend(items)


def _expand(argv: Sequence[str]) -> Iterator[str]:
    words = iter(argv)
    for word in words:
        if word == "--":
            yield word
            yield from words
        elif word.startswith("@") and len(word) > 1:
            try:
                with open(word[1:], encoding="utf-8-sig", errors="surrogateescape") as stream:
                    lines = stream.read().split("\n")
            except OSError as error:
                raise UsageError(f"{word}: cannot read arguments: {error}") from None
            yield from (line for line in lines if line)
        else:
            yield word


def _hint(name: str, table: dict[str, Option]) -> str:
    from moelint.linter.suggest import did_you_mean

    return did_you_mean(name, [spelling for spelling in table if spelling.startswith("--")])
