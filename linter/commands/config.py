"""`moelint config`: what holds for a file and why, and the JSON schema of the settings."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from moelint.linter.errors import UsageError

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from moelint.linter.plan import Plan
    from moelint.linter.profile import Profile
    from moelint.linter.registry import RuleEntry


@dataclass(frozen=True, slots=True)
class RuleState:
    """One rule in one file. `off` says why it is not used; None if it is."""

    code: str
    name: str
    severity: str
    off: str | None


@dataclass(frozen=True, slots=True)
class Shown:
    """All that the configuration means for one file."""

    file: str
    config: str | None
    excluded: bool
    profile: str
    profile_reason: str
    module: str
    role: str
    per_file_ignores: tuple[str, ...]
    """The patterns that cover the file."""
    rules: tuple[RuleState, ...]


def main(argv: Sequence[str]) -> int:
    """Run `moelint config ARGV`. Raises ConfigError and UsageError."""
    options = _parser().parse_args(argv)
    if options.command == "schema":
        from moelint.linter.config_schema import schema
        from moelint.linter.report import format_names
        from moelint.linter.settings import Known

        sys.stdout.write(json.dumps(schema(Known.built_in(), format_names()), indent=2) + "\n")
        return 0
    shown = show(options.file, _check_arguments(options))
    sys.stdout.write(json.dumps(asdict(shown), indent=2) + "\n" if options.json else text(shown))
    return 0


def show(file: str, arguments: Sequence[str] = ()) -> Shown:
    """What `moelint check ARGUMENTS FILE` would do with `file`. Raises ConfigError, and UsageError for a file that
    cannot be read."""
    from moelint.linter.options import parse
    from moelint.linter.plan import plan_for
    from moelint.linter.profile import profile_from_dict
    from moelint.linter.settings import Settings

    try:
        with open(file, "rb") as stream:
            data = stream.read()
    except OSError as error:
        raise UsageError(f"{file}: {error.strerror or error}") from None
    plan = plan_for(parse([*arguments, "--", file]))
    full = os.path.abspath(file)
    name, reason = plan.chooser().explain(full, data)
    profile = profile_from_dict(dict(plan.profiles[name]))
    module = profile.module_name(full)
    settings = plan.settings or Settings(plan.root)
    return Shown(
        file=file,
        config=settings.config,
        excluded=settings.is_excluded(file),
        profile=name,
        profile_reason=reason,
        module=module,
        role=profile.role(module),
        per_file_ignores=settings.patterns_for(file),
        rules=_states(plan, file, profile, profile.role(module)),
    )


def text(shown: Shown) -> str:
    """The page for people."""
    lines = [
        f"file           {shown.file}",
        f"configuration  {shown.config or 'none: the defaults hold'}",
        f"excluded       {'yes: checked only if it is named on the command line' if shown.excluded else 'no'}",
        f"profile        {shown.profile}: {shown.profile_reason}",
        f"module         {shown.module} ({shown.role})",
    ]
    if shown.per_file_ignores:
        lines.append(f"per-file       {', '.join(shown.per_file_ignores)}")
    width = max((len(rule.name) for rule in shown.rules), default=0)
    for title, rules in (
        ("on", [rule for rule in shown.rules if rule.off is None]),
        ("off", [rule for rule in shown.rules if rule.off is not None]),
    ):
        lines += ["", f"rules {title}: {len(rules)}"]
        lines += [f"  {rule.code}  {rule.name:{width}}  {rule.off or rule.severity}" for rule in rules]
    return "\n".join(lines) + "\n"


def _states(plan: Plan, file: str, profile: Profile, role: str) -> tuple[RuleState, ...]:
    from moelint.linter.registry import entries

    chosen = {rule.code for rule in plan.rules}
    kept = {rule.code for rule in plan.rules_for(file, plan.rules)}
    return tuple(
        RuleState(
            rule.code,
            rule.name,
            plan.severity.get(rule.code, rule.severity),
            "not selected"
            if rule.code not in chosen
            else "per-file-ignores"
            if rule.code not in kept
            else _unfit(rule, profile, role),
        )
        for rule in entries()
    )


def _unfit(rule: RuleEntry, profile: Profile, role: str) -> str | None:
    """Why a rule that is selected does not look at the file."""
    if rule.needs_helpers and not profile.has_helpers:
        return f"the profile {profile.name} names no central helpers"
    if role not in rule.roles:
        return f"not for {role} modules"
    return None


def _check_arguments(options: Namespace) -> list[str]:
    arguments = ["--isolated"] if options.isolated else []
    for name in ("config", "profile"):
        if getattr(options, name) is not None:
            arguments.append(f"--{name}={getattr(options, name)}")
    return arguments


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser("moelint config", description="Show what the configuration means.")
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    shown = commands.add_parser("show", help="what holds for a file: configuration, profile, rules, and why")
    shown.add_argument("file", metavar="FILE")
    shown.add_argument("--json", action="store_true", help="print JSON")
    shown.add_argument("--config", metavar="FILE", help="this configuration file instead of the nearest one")
    shown.add_argument("--isolated", action="store_true", help="no configuration file")
    shown.add_argument("--profile", metavar="NAME|FILE", help="this profile instead of the one of the configuration")
    commands.add_parser("schema", help="the JSON schema of the settings")
    return parser
