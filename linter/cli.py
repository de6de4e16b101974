"""The command line: reads it, has the work done, writes the reports, and says with which code to leave.

Nothing is imported here that the fastest path, a file in which no rule can fire, does not need.
"""

from __future__ import annotations

import sys

from moelint.linter.errors import MoelintError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from moelint.linter.check import Outcome
    from moelint.linter.model import Finding, Report
    from moelint.linter.options import Options
    from moelint.linter.plan import Plan

CLEAN, FINDINGS, ERROR, INTERRUPTED = 0, 1, 2, 130
_USAGE = """usage: moelint COMMAND [ARGUMENTS]

Commands:
  check      check files and folders
  baseline   keep what is there today from counting
  diff       compare two runs
  routes     prove who applies the factor on each route
  probe      run blocks for real and measure them against the policy
  server     serve an editor: diagnostics while you type
  rule       explain a rule
  config     show or explain the configuration
  new-rule   start a rule with its fixtures

moelint COMMAND --help says more; moelint --version names the version.
"""
_WITH_FIXES = ("sarif",)
"""The output formats that say how findings could be fixed."""
_COMMANDS = ("baseline", "diff", "rule", "config", "new-rule", "routes", "probe")


def main(argv: Sequence[str] | None = None) -> int:
    """Run `moelint ARGV` and return its exit code. Without `argv` the process is left at once."""
    if argv is not None:
        return _guarded(argv)
    import gc
    import os

    gc.disable()
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:  # whoever started us closed it
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    code = CLEAN
    try:
        code = _guarded(sys.argv[1:])
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        code = code or ERROR
    os._exit(code)


def _guarded(argv: Sequence[str]) -> int:
    try:
        return _dispatch(list(argv))
    except MoelintError as error:
        for line in str(error).splitlines():
            print(f"moelint: {line}", file=sys.stderr)
        return ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ERROR
    except OSError as error:
        import errno

        if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG):
            return _bug()
        print(f"moelint: cannot write: {error.strerror}", file=sys.stderr)
        return ERROR
    except Exception:
        return _bug()


def _bug() -> int:
    """Report the exception that is being handled."""
    import traceback

    traceback.print_exc()
    print("moelint: this is a bug in moelint, please report it", file=sys.stderr)
    return ERROR


def _dispatch(argv: list[str]) -> int:
    command = argv[0] if argv else "--help"
    if command == "check":
        return _check(argv[1:])
    if command in _COMMANDS:
        from importlib import import_module

        code: int = import_module(f"moelint.linter.commands.{command.replace('-', '_')}").main(argv[1:])
        return code
    if command == "server":
        from moelint.linter.server.main import main as serve

        return serve(argv[1:])
    if command in ("--version", "-V"):
        from moelint import __version__

        print(f"moelint {__version__}")
        return CLEAN
    if command in ("--help", "-h", "help"):
        sys.stdout.write(_USAGE)
        return CLEAN
    from moelint.linter.suggest import did_you_mean

    raise UsageError(f"unknown command {command!r}{did_you_mean(command, ('check', 'server', *_COMMANDS))}")


def _check(argv: Sequence[str]) -> int:
    from moelint.linter import options as command_line

    options = command_line.parse(argv)
    if options.help:
        sys.stdout.write(command_line.usage())
        return CLEAN
    from moelint.linter import registry
    from moelint.linter.plan import plan_for

    stale = registry.stale()
    if stale:
        print(f"moelint: the rule index is not current: {', '.join(stale)}; run tools/make_index.py", file=sys.stderr)
    if options.diff and (options.fix or options.add_ignore is not None):
        raise UsageError("--diff writes nothing, so it goes with neither --fix nor --add-ignore")
    plan = plan_for(options)
    texts = _standard_input(options)
    outcome = _run(options, plan, texts)
    if not outcome.records and not plan.output and plan.baseline is None and options.diff_base is None:
        sys.stderr.write(f"0 findings, {outcome.files} file{'' if outcome.files == 1 else 's'} checked\n")
        for remark in outcome.remarks:
            print(f"moelint: {remark}", file=sys.stderr)
        return CLEAN
    return _report(outcome, plan, options, texts)


def _run(options: Options, plan: Plan, texts: dict[str, bytes]) -> Outcome:
    from moelint.linter import check

    if options.no_progress or not sys.stderr.isatty():
        return check.run(options.paths, plan, texts)
    from moelint.linter.report.progress import Progress

    with Progress() as advance:
        return check.run(options.paths, plan, texts, advance)


def _report(outcome: Outcome, plan: Plan, options: Options, texts: dict[str, bytes]) -> int:
    from moelint.linter import report

    outputs = report.parse_outputs(plan.output, tty=sys.stdout.isatty())
    found, remarks = _counted(outcome, plan, options)
    if options.diff:
        return _diff(found, plan, options, texts)
    if options.fix:
        done = _fix(found, plan, options, texts)
        found, remarks = _counted(_run(options, plan, texts), plan, options)
        remarks = [*done, *remarks]
    if options.add_ignore is not None:
        from moelint.linter.add_ignore import add_ignores
        from moelint.linter.report.summary import plural

        added = add_ignores(_wanted(found, options), plan, options.add_ignore)
        found, remarks = _counted(_run(options, plan, texts), plan, options)
        remarks = [
            *added.refused,
            f"{plural(added.findings, 'finding')} ignored in {plural(added.files, 'file')}",
            *remarks,
        ]
    if any(name in _WITH_FIXES for name, _ in outputs):
        from moelint.linter.fixing import with_fixes

        found = with_fixes(found, plan, texts, unsafe=options.unsafe_fixes)
    report.write(outputs, found, options, sources=texts)
    for remark in remarks:
        print(f"moelint: {remark}", file=sys.stderr)
    if options.exit_zero and found.exit_code == FINDINGS:
        return CLEAN
    return found.exit_code


def _fix(found: Report, plan: Plan, options: Options, texts: dict[str, bytes]) -> list[str]:
    """Write the fixes; returns what there is to say of them."""
    from moelint.linter.fixing import repaired
    from moelint.linter.report.fixes import remarks

    session = repaired(_wanted(found, options), plan, texts, unsafe=options.unsafe_fixes)
    session.write()
    return remarks(session, "fixed")


def _diff(found: Report, plan: Plan, options: Options, texts: dict[str, bytes]) -> int:
    """Show the fixes on standard output."""
    from moelint.linter.fixing import repaired
    from moelint.linter.report.fixes import remarks, show_diff

    session = repaired(_wanted(found, options), plan, texts, unsafe=options.unsafe_fixes)
    show_diff(session)
    for remark in remarks(session, "would be fixed"):
        print(f"moelint: {remark}", file=sys.stderr)
    return CLEAN if options.exit_zero and found.exit_code == FINDINGS else found.exit_code


def _wanted(found: Report, options: Options) -> list[Finding]:
    """The findings that are shown."""
    return [finding for finding in found.findings if options.notes or finding.severity != "note"]


def _counted(outcome: Outcome, plan: Plan, options: Options) -> tuple[Report, list[str]]:
    """The report of what counts, and what there is to say of the rest."""
    from moelint.linter import check

    found = check.report(outcome)
    remarks = list(outcome.remarks)
    if plan.baseline is not None:
        from moelint.linter import ratchet
        from moelint.linter.report.text import shown_path

        verdict = ratchet.Run(plan, options.paths, outcome.paths, found).compare(plan.baseline)
        found, remarks = ratchet.counted(found, verdict), ratchet.remarks(verdict, shown_path(plan.baseline))
    if options.diff_base is not None:
        from moelint.linter.changed import Changes, only_changed
        from moelint.linter.plan import folder_of

        found = only_changed(found, Changes.since(options.diff_base, folder_of(options.paths)), plan)
    return found, remarks


def _standard_input(options: Options) -> dict[str, bytes]:
    """The text of `-`, by the name that it is given in the report."""
    if "-" not in options.paths:
        return {}
    for name in ("add_ignore", "fix"):
        if options.says(name):
            raise UsageError(f"--{name.replace('_', '-')} cannot write into standard input")
    name = options.stdin_filename or "<stdin>"
    options.paths = [name if path == "-" else path for path in options.paths]
    return {name: sys.stdin.buffer.read()}
