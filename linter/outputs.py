"""Which reports are asked for: `FORMAT` or `FORMAT:FILE`. On the start-up path."""

from __future__ import annotations

import os

from moelint.linter.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    Output = tuple[str, str | None]
    """A format and the file it goes to; None is standard output."""

_FORMATS = os.path.join(os.path.dirname(__file__), "report", "formats")


def format_names() -> list[str]:
    """The formats there are, sorted: one module each in `report/formats/`, nothing to register. A `_` in a module's
    name is a `-` in the format's."""
    files = [file for file in os.listdir(_FORMATS) if file.endswith(".py") and not file.startswith("_")]
    return sorted(file[:-3].replace("_", "-") for file in files)


def parse_outputs(specs: Iterable[str], *, tty: bool) -> list[Output]:
    """Read `FORMAT[:FILE]` arguments; without any, `full` on a terminal and `concise` elsewhere.

    The first colon ends the format, so `json:C:\\ci\\report.json` works. `-` is standard output. Raises UsageError.
    """
    outputs: list[Output] = []
    for spec in specs:
        name, colon, path = spec.partition(":")
        known = format_names()
        if name not in known:
            from moelint.linter.suggest import did_you_mean

            proposal = did_you_mean(name, known) or f": choose from {', '.join(known)}"
            raise UsageError(f"unknown output format {name!r}{proposal}")
        if colon and not path:
            raise UsageError(f"--output {spec}: the file name after the colon is missing")
        outputs.append((name, path if path and path != "-" else None))
    targets = [file for _, file in outputs]
    for file in dict.fromkeys(targets):
        if targets.count(file) > 1:
            raise UsageError(f"two --output formats go to {file or 'standard output'}: give one of them another FILE")
    return outputs or [("full" if tty else "concise", None)]
