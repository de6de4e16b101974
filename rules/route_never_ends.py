"""MOE615."""

from __future__ import annotations

from moelint.linter.rule import RouteRule


class RouteNeverEnds(RouteRule):
    """Reports closed programs that raise in every configuration before they return.

    ## What it does
    Follows a program that hands a block to a measuring bench (a profile names the bench's function as an entry), and
    reports the program if nothing gets past some line: an attribute that no constructor sets, a tuple multiplied by a
    number, a check that cannot hold.

    ## Why is this bad?
    An attribute that moved into another object, or a constructor that a stub skips, fails at the first request and not
    at start-up.

    ## Example
    ```python
    from _probe import *


    class Layer:
        def __init__(self, factor):
            self.router = ns(routed_scaling_factor=factor)


    def apply(layer, x):
        return routed_experts(x, unit_weights(), scale=layer.routed_scaling_factor) + shared_experts(x)


    def main():
        return report(lambda: apply(Layer(RSF), tokens()))
    ```

    ## Use instead
    ```python
    from _probe import *


    class Layer:
        def __init__(self, factor):
            self.router = ns(routed_scaling_factor=factor)


    def apply(layer, x):
        return routed_experts(x, unit_weights(), scale=layer.router.routed_scaling_factor) + shared_experts(x)


    def main():
        return report(lambda: apply(Layer(RSF), tokens()))
    ```

    ## Limits
    Runs with `--routes` alone, and only for profiles whose `[routes]` table says `exact = true`. In other code an
    attribute that is not set is taken for one that is set elsewhere.
    """

    code = "MOE615"
    help = "read the attribute where it is set"
    part = "end"
