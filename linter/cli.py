"""The command line."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run `moelint ARGV` and return its exit code."""
    from moelint.linter.errors import MoelintError

    argv = sys.argv[1:] if argv is None else argv
    try:
        return _dispatch(list(argv))
    except MoelintError as error:
        print(f"moelint: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


def _dispatch(argv: list[str]) -> int:
    from moelint.linter.errors import UsageError

    if argv[:1] == ["--version"]:
        from moelint import __version__

        print(f"moelint {__version__}")
        return 0
    if argv[:1] == ["check"]:
        return _check(argv[1:])
    if argv[:1] and argv[0] in ("rule", "config", "new-rule"):
        from importlib import import_module

        return int(import_module(f"moelint.linter.commands.{argv[0].replace('-', '_')}").main(argv[1:]))
    raise UsageError("usage: moelint check [PATHS]")


def _check(argv: list[str]) -> int:
    from moelint.linter import check, options, registry, report

    stale = registry.stale()
    if stale:
        print(f"moelint: the rule index is not current: {', '.join(stale)}; run tools/make_index.py", file=sys.stderr)
    chosen = options.parse(argv)
    found = check.check(chosen.paths, chosen)
    report.write(report.parse_outputs(chosen.output, tty=sys.stdout.isatty()), found, chosen)
    return 0 if chosen.exit_zero else found.exit_code
