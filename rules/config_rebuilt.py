"""MOE502."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from moelint.linter.analysis.events import Handed
from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._sites import explain

if TYPE_CHECKING:
    from moelint.linter.repair import Repair


class ConfigRebuilt(Rule):
    """Reports a router configuration that is rebuilt with the factor and without the fold flag.

    ## What it does
    Reports the construction of a router's configuration record that carries the routed scaling factor but not the flag
    that says whether it is folded.

    ## Why is this bad?
    Later steps ask the record whether the factor is folded and read the flag's default, "no". The shared slot and the
    epilogue then compensate for a multiply that never comes, or do it twice.

    ## Example
    ```python
    # profile: sglang
    def output(self, weights, ids):
        return TopKConfig(top_k=self.top_k, routed_scaling_factor=self.routed_scaling_factor)
    ```

    ## Use instead
    ```python
    # profile: sglang
    def output(self, weights, ids):
        return TopKConfig(
            top_k=self.top_k,
            routed_scaling_factor=self.routed_scaling_factor,
            apply_routed_scaling_factor_on_output=self.apply_routed_scaling_factor_on_output,
        )
    ```

    ## Limits
    Arguments behind `**` are taken to hold the flag.
    """

    code = "MOE502"
    family = "literals"
    tokens = (("@config_objects", "@factor"),)
    help = "carry the flag along with the factor"
    needs_helpers = True
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        for event in module.flow.events:
            if not isinstance(event, Handed) or event.callee not in module.profile.config_objects:
                continue
            names = {keyword.arg for keyword in event.call.keywords}
            if None in names or names & module.profile.flags:
                continue
            yield Draft(
                event.node,
                f"`{event.callee}` is rebuilt with the routed scaling factor and without its fold flag. Whoever asks "
                "this record reads the default and applies the factor again, or leaves 1/factor in a shared slot.",
                event.qualname,
                explain(event),
                statement=event.statement,
                repair=partial(_repair, event, module),
            )


def _repair(event: Handed, module: Module) -> Repair | None:
    """Carries the flag along, where the object or the function has it under its name and the factor goes with it."""
    from moelint.linter.repair import GiveKeyword, Repair

    function = event.function
    for flag in sorted(module.profile.flags):
        if function is None:
            break
        if any(parameter.arg == flag for parameter in function.parameters()):
            return Repair("Carry the flag along", (GiveKeyword(event.call, flag, flag),), True)
        arguments = function.outermost.node.args.args
        if function.cls is not None and flag in function.cls.attributes and arguments:
            own = f"{arguments[0].arg}.{flag}"
            return Repair("Carry the flag along", (GiveKeyword(event.call, flag, own),), True)
    return None
