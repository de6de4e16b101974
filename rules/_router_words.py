"""The vocabulary of router code: names of tensor operations, and what the name of an operand tells."""

from __future__ import annotations

import ast
import re

from moelint.linter.analysis.module import terminal_name


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


SCORES = _set("sigmoid sigmoid_ softmax softmax_ softplus sqrtsoftplus sqrt_softplus")
TOPK = _set("topk top_k approx_max_k sort")
GATHER = _set("gather take_along_dim take_along_axis index_select batched_gather gather_nd")
INDEX = _set("argmax argmin argsort argpartition nonzero multinomial one_hot searchsorted")
SUM = _set("sum reduce_sum nansum logsumexp")
REDUCE = _set(
    "mean amax amin any all cumsum norm median size numel count_nonzero var std dim item tolist min bincount histc"
    " unique len prod empty_like zeros_like ones_like full_like"
)
VIEW = _set(
    "view reshape unsqueeze squeeze flatten unflatten transpose permute expand t view_as expand_as detach narrow select"
    " movedim swapaxes ravel expand_dims"
)
COPY = _set(
    "to float half bfloat16 double type type_as astype clone contiguous cpu cuda masked_fill clamp clamp_min clamp_max"
    " clip abs sqrt sqrt_ exp log log1p pow square relu nan_to_num asarray array as_tensor convert_to_tensor copy"
    " repeat repeat_interleave tile round index_fill pad stop_gradient cast flip roll chunk split requires_grad_ cat"
    " concat concatenate stack hstack where maximum minimum identity log_softmax logsigmoid with_sharding_constraint"
)
IN_PLACE = _set("masked_fill_ clamp_ clamp_min_ clamp_max_ nan_to_num_ index_fill_ abs_ relu_")
ARITHMETIC: dict[str, ast.operator] = {
    **dict.fromkeys(("add", "add_"), ast.Add()),
    **dict.fromkeys(("sub", "sub_", "subtract", "subtract_"), ast.Sub()),
    **dict.fromkeys(("mul", "mul_", "multiply", "multiply_"), ast.Mult()),
    **dict.fromkeys(("div", "div_", "divide", "divide_", "true_divide"), ast.Div()),
}
SCATTER = _set("scatter scatter_ scatter_add scatter_add_ index_put index_put_ put_along_axis")
MATMUL = _set("matmul bmm mm einsum baddbmm index_add index_add_ addcmul addcmul_")
_CREATE = _set("linspace full new_full tensor new_tensor arange ones new_ones from_numpy")

_SCORE_CALLS = ("score_f", "scoring_f", "score_act", "scoring_act", "gate_act", "router_act", "act2fn")
_CONSUMERS = ("expert", "moe", "combine", "dispatch", "mlp", "topk", "top_k", "output")
_BIAS = re.compile(r"(^|_)bias(es)?(_|$)|statics|(^|_)corrections?(_|$)")
_NO_BIAS = re.compile(
    r"biased|with_bias|plus_bias|(^|_)(use|has|enable|need|is|no|num)_\w*bias|bias_(grad|update|rate|lr|std)"
)
_STRONG = re.compile(
    r"correction|statics|e_score|(expert|rout|balanc|select|noaux|choice|score)\w*bias|bias\w*(expert|rout|balanc|_vl)"
)
_SCORED = re.compile(r"score|prob|routing_weight|router_weight|gate_weight|affinit")
_NEUTRAL = re.compile(r"eps|noise|jitter|mask|tiny|rand|gumbel|residual|loss|min_|finfo|dropout|penalt")
_FACTOR = re.compile(r"(^|_)(scal\w*|factor|rsf|multiplier)(_|$)")
_HINT = re.compile(r"weight|score|prob|combine")


def is_score_function(name: str) -> bool:
    """Whether a call turns logits into scores."""
    lowered = name.lower()
    return name in SCORES or any(part in lowered for part in _SCORE_CALLS)


def is_normaliser(name: str) -> bool:
    """Whether a function's name says that it divides by a sum."""
    return "normali" in name.lower() or "renorm" in name.lower()


def is_consumer(lowered: str) -> bool:
    """Whether a function's name says that it runs or feeds experts."""
    return any(part in lowered for part in _CONSUMERS)


def is_bias_name(name: str) -> bool:
    """Whether a name stands for a per-expert bias."""
    lowered = name.lower()
    return _BIAS.search(lowered) is not None and _NO_BIAS.search(lowered) is None


def is_selection_bias(name: str) -> bool:
    """Whether the name of a bias leaves no doubt that it is one for the choice of experts."""
    return _STRONG.search(name.lower()) is not None


def is_score_name(name: str) -> bool:
    """Whether a name stands for scores, not for logits."""
    return _SCORED.search(name.lower()) is not None


def is_factor_name(name: str) -> bool:
    """Whether a name says that it holds a scale."""
    return _FACTOR.search(name.lower()) is not None


def hints_weights(name: str) -> bool:
    """Whether a parameter or a buffer of this name takes combine weights."""
    return _HINT.search(name.lower()) is not None


def may_be_bias(node: ast.expr) -> bool:
    """Whether an operand added to scores is a stored or a made-up per-expert tensor, perhaps reshaped."""
    bare = stripped(node)
    if isinstance(bare, ast.Call):
        return terminal_name(bare.func) in _CREATE
    return isinstance(bare, (ast.Name, ast.Attribute)) and _NEUTRAL.search(terminal_name(bare).lower()) is None


def stripped(node: ast.expr) -> ast.expr:
    """`x` of `x.float().unsqueeze(0)[None]`."""
    while True:
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEW | COPY:
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in ("data", "T", "value", "weight"):
            node = node.value
        else:
            return node
