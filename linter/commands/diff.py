"""`moelint diff`: what two runs found differently, finding by finding, whatever moved in between."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from moelint.linter.errors import UsageError
from moelint.linter.identity import statement_of
from moelint.linter.report.text import one_line

if TYPE_CHECKING:
    from argparse import ArgumentParser

    Item = dict[str, Any]
    """A finding as the JSON report has it."""

_VERSION = 1


class Difference(NamedTuple):
    """`moved` are pairs of old and new: the same statement in the same function of another file."""

    new: list[Item]
    gone: list[Item]
    moved: list[tuple[Item, Item]]
    unchanged: list[Item]


def main(argv: Sequence[str]) -> int:
    """Print the difference. Exit code: 0 nothing new, 1 something new. Raises UsageError for what is no report."""
    own = _parser().parse_args(argv)
    old, new = _read(own.old), _read(own.new)
    hidden = {item["identity"] for item in new["suppressed"]}
    found = difference(*(_counting(report["findings"], notes=own.notes) for report in (old, new)))
    sys.stdout.write(_json(found, hidden) if own.json else _text(found, hidden))
    fails = any(item["severity"] != "note" for item in found.new)
    return int(fails and not own.exit_zero)


def difference(old: Sequence[Item], new: Sequence[Item]) -> Difference:
    """Pair the findings of two runs, first by identity, then across files."""
    pairs, rest_old, rest_new = _paired(old, new, lambda item: item["identity"])
    moved, gone, fresh = _paired(
        rest_old, rest_new, lambda item: (item["code"], item["qualname"], statement_of(item["identity"]))
    )
    return Difference(fresh, gone, moved, [item for _, item in pairs])


def _paired(
    old: Sequence[Item], new: Sequence[Item], key: Callable[[Item], Any]
) -> tuple[list[tuple[Item, Item]], list[Item], list[Item]]:
    """Pairs of equal keys, one to one, and what is left of either side."""
    waiting: dict[Any, list[Item]] = {}
    for item in old:
        waiting.setdefault(key(item), []).append(item)
    pairs: list[tuple[Item, Item]] = []
    rest: list[Item] = []
    for item in new:
        equals = waiting.get(key(item))
        if equals:
            pairs.append((equals.pop(0), item))
        else:
            rest.append(item)
    left = {id(item) for equals in waiting.values() for item in equals}
    return pairs, [item for item in old if id(item) in left], rest


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as stream:
            data = json.load(stream)
    except (OSError, ValueError) as error:
        raise UsageError(f"{file}: {getattr(error, 'strerror', None) or 'not a JSON file'}") from None
    if not isinstance(data, dict) or data.get("tool", {}).get("name") != "moelint" or data.get("version") != _VERSION:
        raise UsageError(f"{file}: not a report of `moelint check --output json` of this version")
    return data


def _counting(items: Sequence[Item], *, notes: bool) -> list[Item]:
    return [item for item in items if notes or item["severity"] != "note"]


def _text(found: Difference, hidden: set[str]) -> str:
    lines = [f"+ {_line(item)}" for item in found.new]
    lines += [f"- {_line(item)}{' (suppressed now)' if item['identity'] in hidden else ''}" for item in found.gone]
    lines += [f"> {_line(item)} (was in {one_line(old['path'])})" for old, item in found.moved]
    counts = (f"{len(found.new)} new", f"{len(found.gone)} gone", f"{len(found.moved)} moved")
    lines.append(f"{', '.join(counts)}, {len(found.unchanged)} unchanged")
    return "".join(f"{line}\n" for line in lines)


def _line(item: Item) -> str:
    region = item["region"]
    place = f"{one_line(item['path'])}:{region['line']}:{region['column']}"
    return f"{place}: {item['code']} {item['name']}: {one_line(item['message'])}"


def _json(found: Difference, hidden: set[str]) -> str:
    data = {
        "new": found.new,
        "gone": [{**item, "suppressed": item["identity"] in hidden} for item in found.gone],
        "moved": [{"old": old, "new": new} for old, new in found.moved],
        "unchanged": found.unchanged,
    }
    return json.dumps(data, indent=2) + "\n"


def _parser() -> ArgumentParser:
    from argparse import ArgumentParser

    parser = ArgumentParser(
        "moelint diff",
        description="Compare two reports of `moelint check --output json:FILE`, made from the same folder. Exits with "
        "1 if the new one has findings that the old one has not.",
    )
    parser.add_argument("old", metavar="OLD.json")
    parser.add_argument("new", metavar="NEW.json")
    parser.add_argument("--json", action="store_true", help="print JSON: new, gone, moved, unchanged")
    parser.add_argument("--notes", action="store_true", help="compare findings of severity note too")
    parser.add_argument("--exit-zero", action="store_true", help="exit with 0 though there is something new")
    return parser
