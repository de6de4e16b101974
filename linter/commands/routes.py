"""`moelint routes`: who applies the factor, per block, route and configuration."""

from __future__ import annotations

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from moelint.linter.errors import UsageError
from moelint.linter.routes.compare import changed_cells
from moelint.linter.routes.knowledge import knowledge
from moelint.linter.routes.show import explanation, listing
from moelint.linter.routes.table import RouteTable, cell_id, to_json
from moelint.linter.routes.tables import Request, route_tables

_STORE = os.path.join(".moelint_cache", "routes")


def main(argv: Sequence[str]) -> int:
    """Run `moelint routes ARGV`: 0 no wrong cell, 1 some, 2 usage. Raises UsageError."""
    options = _parser().parse_args(argv)
    if options.diff:
        return _diff(options)
    tables = _tables(options.targets, options)
    if options.explain:
        sys.stdout.write(explanation(*_find(tables, options.explain)))
        return 0
    if options.json:
        sys.stdout.write(json.dumps(to_json(tables), indent=2) + "\n")
    else:
        sys.stdout.write(listing(tables, every=options.all))
    wrong = any(cell.outcome.verdict == "wrong" for entry in tables for cell in entry.cells)
    unknown = any(cell.outcome.verdict == "unknown" for entry in tables for cell in entry.cells)
    return 1 if wrong or (unknown and options.strict) else 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="moelint routes",
        description="Prove, per route and configuration, who applies the routed scaling factor and how often.",
    )
    parser.add_argument("targets", nargs="*", metavar="PATH|CLASS", help="a tree, file or block class (default: .)")
    parser.add_argument("--json", action="store_true", help="print all cells as JSON (docs/routes.md)")
    parser.add_argument("--all", action="store_true", help="list right and refused cells too")
    parser.add_argument("--explain", metavar="CELL", help="print the trace of one cell, such as Block:7")
    parser.add_argument("--diff", nargs=2, metavar=("OLD", "NEW"), help="cells that changed between two trees")
    parser.add_argument("--strict", action="store_true", help="exit 1 for unknown cells too")
    parser.add_argument("--framework", default="sglang", help="profile whose route facts are used (default: sglang)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes (default: all cores)")
    parser.add_argument("--no-cache", action="store_true", help="neither read nor write stored tables")
    parser.add_argument("--cache-dir", default=_STORE, help=f"where tables are stored (default: {_STORE})")
    return parser


def _tables(targets: Sequence[str], options: Namespace) -> list[RouteTable]:
    paths = [target for target in targets if os.path.exists(target)]
    classes = tuple(target for target in targets if not os.path.exists(target))
    strange = [name for name in classes if not name.isidentifier()]
    if strange:
        raise UsageError(f"{strange[0]} does not exist and is no class name")
    if len(paths) > 1:
        raise UsageError("give one tree, folder or file; compare two with --diff OLD NEW")
    return route_tables(_request(paths[0] if paths else ".", classes, options), _progress(options))


def _request(path: str, classes: tuple[str, ...], options: Namespace) -> Request:
    store = None if options.no_cache else options.cache_dir
    return Request(path, classes, options.framework, store, max(1, options.jobs))


def _progress(options: Namespace):  # type: ignore[no-untyped-def]
    if not sys.stderr.isatty() or os.environ.get("CI"):
        return None

    def show(done: int, total: int, name: str) -> None:
        end = "\n" if done == total else ""
        sys.stderr.write(f"\r\x1b[K{done}/{total} blocks analysed, {name}{end}")

    return show


def _find(tables: Sequence[RouteTable], wanted: str) -> tuple[RouteTable, int]:
    for entry in tables:
        for number in range(1, len(entry.cells) + 1):
            if cell_id(entry, number) == wanted:
                return entry, number
    known = ", ".join(f"{entry.block}:1..{len(entry.cells)}" for entry in tables[:4])
    raise UsageError(f"there is no cell {wanted}; there are {known}")


def _diff(options: Namespace) -> int:
    old, new = (
        route_tables(_request(path, tuple(options.targets), options), _progress(options)) for path in options.diff
    )
    facts = knowledge(options.framework).facts
    changes = changed_cells(old, new, facts.order, (derived.atom for derived in facts.derived))
    if options.json:
        sys.stdout.write(json.dumps({"changes": changes}, indent=2) + "\n")
    else:
        for change in changes:
            sys.stdout.write(
                f"{change['block']} {change['route']}: {change['condition']}\n    {change['old']} -> {change['new']}\n"
            )
        sys.stdout.write(f"{len(changes)} changes\n")
    return 1 if changes else 0
