"""Every key of `[tool.moelint]`: the one table that validation, the JSON schema and the documentation read."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

from moelint.linter.defaults import CACHE, EXCLUDE

Kind = Literal["selectors", "globs", "ignores", "severities", "profile", "path", "count", "outputs", "flag"]

SEVERITIES = ("error", "warning", "note")
KIND_WORDS: dict[Kind, str] = {
    "selectors": "list of rule codes, rule names, families or `all`",
    "globs": "list of path patterns",
    "ignores": "table: path pattern = list of rule codes, rule names, families or `all`",
    "severities": "table: rule code, rule name or family = `error`, `warning` or `note`",
    "profile": "name of a profile, path of a profile file, or a table",
    "path": "path, relative to the configuration file",
    "count": "integer, 0 or more",
    "outputs": "`FORMAT` or `FORMAT:FILE`, or a list of these",
    "flag": "`true` or `false`",
}


class Key(NamedTuple):
    """One key: its kind, its default as plain data (None: nothing), what it does, and a TOML line that shows it."""

    name: str
    kind: Kind
    default: Any
    doc: str
    example: str


KEYS = (
    Key(
        "select",
        "selectors",
        ["all"],
        "The rules to use. Everything else is off unless `extend-select` adds it.",
        'select = ["factor-flow", "guards"]',
    ),
    Key(
        "ignore",
        "selectors",
        [],
        "Rules not to use. The more particular selector wins: a code or a name over a family, a family over `all`; "
        "of two equals the one that ignores.",
        'ignore = ["factor-stored-unread"]',
    ),
    Key(
        "extend-select",
        "selectors",
        [],
        "Rules to use in addition to `select`.",
        'extend-select = ["MOE701"]',
    ),
    Key(
        "extend-ignore",
        "selectors",
        [],
        "Rules not to use, in addition to `ignore`.",
        'extend-ignore = ["routes"]',
    ),
    Key(
        "exclude",
        "globs",
        list(EXCLUDE),
        "Files and folders that are never looked at. Replaces the default list.",
        'exclude = ["build", "third_party/**"]',
    ),
    Key(
        "extend-exclude",
        "globs",
        [],
        "Files and folders that are never looked at, in addition to `exclude`.",
        'extend-exclude = ["test/**/generated"]',
    ),
    Key(
        "per-file-ignores",
        "ignores",
        {},
        "Rules that are off in some files. Every pattern that covers a file counts.",
        'per-file-ignores = { "benchmark/**" = ["all"], "test_*.py" = ["literals"] }',
    ),
    Key(
        "severity",
        "severities",
        {},
        "Another severity for a rule or a family. `error` and `warning` make the run fail, `note` does not.",
        'severity = { dead-factor = "note", MOE402 = "warning" }',
    ),
    Key(
        "profile",
        "profile",
        "auto",
        "What is known of the framework: `auto` chooses a profile for each file, a name or a file fixes one, a table "
        "adds to a built-in profile or declares a new one (see profiles.md).",
        'profile = "sglang"',
    ),
    Key(
        "cache-dir",
        "path",
        CACHE,
        "Where results of unchanged files are kept.",
        'cache-dir = ".cache/moelint"',
    ),
    Key(
        "jobs",
        "count",
        0,
        "The number of worker processes. 0 lets moelint choose.",
        "jobs = 4",
    ),
    Key(
        "output",
        "outputs",
        [],
        "The reports to write: a format for standard output, `FORMAT:FILE` for a file. Without any: `full` on a "
        "terminal, `concise` elsewhere.",
        'output = ["concise", "json:moelint.json"]',
    ),
    Key(
        "baseline",
        "path",
        None,
        "The file of findings that were there before and do not count; `moelint baseline` writes it (see baseline.md).",
        'baseline = "moelint-baseline.jsonl"',
    ),
    Key(
        "require-reason",
        "flag",
        False,
        "Whether a suppression comment must say why (`-- reason`).",
        "require-reason = true",
    ),
)
