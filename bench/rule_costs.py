"""Where the time of a cold run goes: `python bench/rule_costs.py TREE` prints each rule's files and processor time.

`alone` counts the files that were parsed for this rule and no other. Facts that rules share are worked out by the first
that asks, and counted there.
"""

from __future__ import annotations

import argparse
import ast
import gc
import time
from collections import defaultdict
from collections.abc import Callable
from typing import TypeVar
from unittest.mock import patch

from moelint.linter import check, options, registry
from moelint.linter.plan import plan_for
from moelint.linter.registry import RuleEntry
from moelint.linter.rule import Draft, Module, Rule
from moelint.linter.worker import Worker

T = TypeVar("T")


class Costs:
    """Seconds of processor time, and which rules looked at which files."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.asked: dict[str, set[str]] = defaultdict(set)
        """File -> the rules that looked at it."""

    def watch(self, load: Callable[[RuleEntry], type[Rule]]) -> Callable[[RuleEntry], type[Rule]]:
        def load_watched(entry: RuleEntry) -> type[Rule]:
            rule = self.timed("(importing rules)", lambda: load(entry))
            inner = rule.check

            def watched(this: Rule, module: Module) -> list[Draft]:
                self.asked[module.path].add(entry.name)
                return self.timed(entry.name, lambda: list(inner(this, module)))

            setattr(rule, "check", watched)  # noqa: B010
            return rule

        return load_watched

    def timed(self, name: str, work: Callable[[], T]) -> T:
        start = time.process_time()
        try:
            return work()
        finally:
            self.seconds[name] += time.process_time() - start

    def table(self, total: float) -> str:
        rules = sorted({rule for rules in self.asked.values() for rule in rules}, key=lambda rule: -self.seconds[rule])
        rows = [f"{'':34}{'files':>7}{'alone':>7}{'cpu s':>9}{'share':>8}"]
        for name in rules:
            files = sum(name in rules for rules in self.asked.values())
            alone = sum(rules == {name} for rules in self.asked.values())
            rows.append(self._row(name, total, f"{files:7}{alone:7}"))
        rows.append(self._row("(parsing)", total, f"{len(self.asked):7}{'':7}"))
        rows += [self._row(name, total, " " * 14) for name in ("(searching)", "(importing rules)")]
        rows.append(f"{'(all)':34}{'':14}{total:9.3f}")
        return "\n".join(rows)

    def _row(self, name: str, total: float, counts: str) -> str:
        return f"{name:34}{counts}{self.seconds[name]:9.3f}{self.seconds[name] / total:8.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", help="folder to check")
    tree = parser.parse_args().tree
    costs = Costs()
    parse, scan = ast.parse, Worker.scan_in_bulk
    with (
        patch.object(Worker, "scan_in_bulk", lambda *given: costs.timed("(searching)", lambda: scan(*given))),
        patch.object(ast, "parse", lambda *given: costs.timed("(parsing)", lambda: parse(*given))),
        patch.object(registry.RuleEntry, "load", costs.watch(registry.RuleEntry.load)),
    ):
        gc.disable()
        start = time.process_time()
        check.run([tree], plan_for(options.parse(["--no-cache", "--isolated", "--jobs", "1", tree])))
        total = time.process_time() - start
    print(costs.table(total))


if __name__ == "__main__":
    main()
