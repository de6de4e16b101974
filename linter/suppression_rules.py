"""The rules about suppressions. They have a page of documentation like any rule; `suppress` finds the breaches."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.rule import Draft, Module, Rule


class _SuppressionRule(Rule):
    family = "suppression"
    tokens = (("moelint:",),)
    roles = ("client", "owner", "method", "leaf")

    def check(self, module: Module) -> Iterable[Draft]:
        """Nothing: what these rules report is known only after all other rules have run."""
        return ()


RULES: list[type[Rule]] = []
