"""MOE801."""

from __future__ import annotations

from collections.abc import Iterable

from moelint.linter.rule import Draft, Module, Rule
from moelint.rules._router import router_facts


class BiasedCombineWeights(Rule):
    """Reports combine weights that still contain the selection bias.

    ## What it does
    Follows scores to which a per-expert bias is added. Reports a top-k, a gather or an indexing whose values carry that
    bias and are then used as weights: normalised, scaled, returned with the ids, or handed to the experts.

    ## Why is this bad?
    The bias steers which experts are chosen, so that the load stays even. The experts must be weighed by the scores
    without it; a bias that leaks into the weights changes every output, by a few per cent up to a factor.

    ## Example
    ```python
    def route(logits, correction_bias, k):
        scores = logits.sigmoid() + correction_bias
        weights, chosen = torch.topk(scores, k, dim=-1)
        return weights / weights.sum(-1, keepdim=True), chosen
    ```

    ## Use instead
    ```python
    def route(logits, correction_bias, k):
        scores = logits.sigmoid()
        chosen = torch.topk(scores + correction_bias, k, dim=-1).indices
        weights = scores.gather(1, chosen)
        return weights / weights.sum(-1, keepdim=True), chosen
    ```

    ## Limits
    A bias that is added to raw logits counts only if its name says that it is a correction. Values that come out of a
    kernel are unknown. Weights from which the bias is subtracted again are not reported.
    """

    code = "MOE801"
    family = "router"
    tokens = (
        (".topk(", "expert", "bias"),
        (".topk(", "expert", "sigmoid("),
        (".topk(", "expert", "softmax("),
        ("top_k(", "expert", "bias"),
        ("argsort(", "expert", "bias"),
        ("argpartition(", "expert", "bias"),
    )
    help = "choose by the biased scores, weigh by the unbiased ones"
    roles = ("client", "owner", "method")

    def check(self, module: Module) -> Iterable[Draft]:
        seen = set()
        for leak in router_facts(module).leaks:
            if leak.pick.node in seen:
                continue
            seen.add(leak.pick.node)
            yield Draft(
                leak.pick.node,
                "These combine weights are taken from scores to which the selection bias was added, so it changes "
                "the output. Use the biased scores for the choice only and take the weights from the unbiased scores.",
                leak.pick.function.qualname,
                ((leak.bias, "the bias is added here"), (leak.use, f"the biased values are {leak.how} here")),
            )
