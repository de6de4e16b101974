"""A configuration small enough to run anywhere: answers by field name, and learns the fields that it does not know."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from moelint.runtime_probe.reading import is_factor

HIDDEN = 64
EXPERTS = 16
TOP_K = 4
TOKENS = 4
VOCABULARY = 128
SHARED_CHANNEL = HIDDEN - 1
"""The output channel of the separate shared expert. Expert number e has channel e."""


def _words(text: str) -> list[str]:
    return text.split()


_TOP_K_NAMES = _words(
    "num_experts_per_tok moe_top_k top_k num_experts_per_token moe_topk topk num_selected_experts experts_per_token "
    "moe_k num_activated_experts top_k_experts num_expert_per_tok moe_router_topk num_experts_per_topk"
)
_SIZES: tuple[tuple[int, str], ...] = (
    (HIDDEN, "hidden_size hidden_dim d_model model_dim n_embd embed_dim dim"),
    (
        EXPERTS,
        "num_experts n_routed_experts num_local_experts moe_num_experts num_routed_experts n_experts "
        "num_total_experts routed_experts expert_num num_experts_held head_dim",
    ),
    (4, "n_group num_expert_group num_expert_groups num_hidden_layers num_attention_heads num_key_value_heads"),
    (2, "topk_group"),
    (
        32,
        "moe_intermediate_size intermediate_size expert_ffn_hidden_size ffn_hidden_size moe_ffn_hidden_size "
        "expert_hidden_dim shared_expert_intermediate_size moe_shared_expert_intermediate_size "
        "expert_intermediate_size",
    ),
    (
        1,
        "n_shared_experts num_shared_experts moe_num_shared_experts num_shared_expert moe_shared_experts tp_size "
        "moe_layer_freq decoder_sparse_step",
    ),
    (VOCABULARY, "vocab_size"),
)
_TRUE = (
    "norm_topk_prob norm_expert_weight route_norm norm_expert_prob moe_renormalize renormalize moe_norm_topk_prob "
    "moe_router_use_sigmoid use_grouped_topk moe_router_enable_expert_bias use_expert_bias use_moe_router_bias "
    "e_score_correction_bias router_fp32 need_fp32_gate use_routing_bias router_use_bias expert_bias use_router_bias"
)
_FALSE = (
    "use_bias mlp_bias bias attention_bias router_bias moe_drop_tokens use_mixed_mlp_moe reduce_results enable_mtp "
    "moe_apply_router_weight_on_input"
)
_SIGMOID = (
    "scoring_func score_function score_func moe_router_activation_func router_activation moe_router_score_function "
    "router_score_func"
)
_SILU = "hidden_act hidden_activation mlp_hidden_act activation activation_type"
_NONE = "moe_latent_size quantization_config quant_config alt_stream zero_expert_type router_logit_softcapping"

TABLE: dict[str, Any] = {
    **{name: size for size, names in _SIZES for name in names.split()},
    **dict.fromkeys(_TOP_K_NAMES, TOP_K),
    **dict.fromkeys(_TRUE.split(), True),
    **dict.fromkeys(_FALSE.split(), False),
    **dict.fromkeys(_SIGMOID.split(), "sigmoid"),
    **dict.fromkeys(_SILU.split(), "silu"),
    **dict.fromkeys(_NONE.split(), None),
    "topk_method": "noaux_tc",
    "first_k_dense_replace": 0,
    "layer_id": 0,
    "layer_idx": 0,
    "layer_number": 0,
    "router_dtype": "fp32",
    "swiglu_limits": [0.0] * 8,
    "swiglu_limits_shared": [0.0] * 8,
    "prefix": "",
    "zero_expert_num": 0,
    "rms_norm_eps": 1e-6,
    "pad_token_id": 0,
    "model_type": "tiny",
    "architectures": ["Tiny"],
    "moe_layer_num_skipped": 0,
    "router_jitter_noise": 0.0,
    "jitter_noise": 0.0,
    "layer_types": ["full_attention"] * 8,
    "experts_implementation": "eager",
    "_experts_implementation": "eager",
    "pyramid_num_routed": [EXPERTS] * 8,
}

UNGROUPED: dict[str, Any] = dict.fromkeys(_words("n_group num_expert_group topk_group num_expert_groups"), 1)
SOFTMAX: dict[str, Any] = {
    **dict.fromkeys(_SIGMOID.split(), "softmax"),
    **dict.fromkeys(
        _words(
            "moe_router_enable_expert_bias use_expert_bias use_moe_router_bias e_score_correction_bias "
            "moe_router_use_sigmoid use_routing_bias use_router_bias router_use_bias expert_bias"
        ),
        False,
    ),
    "topk_method": "greedy",
}
NO_SHARED: dict[str, Any] = dict.fromkeys(
    _words("n_shared_experts num_shared_experts num_shared_expert moe_num_shared_experts"), 0
)
OVERLAYS: tuple[dict[str, Any], ...] = (
    {},
    dict.fromkeys(_TOP_K_NAMES, 2),
    UNGROUPED,
    SOFTMAX,
    {**UNGROUPED, **SOFTMAX},
    dict.fromkeys(_TOP_K_NAMES, 1),
    NO_SHARED,
    {**SOFTMAX, **dict.fromkeys(_TOP_K_NAMES, 2)},
)
"""Configurations to try in turn until a block can be built and run; many a block takes only one kind of router."""

_GUESSES: tuple[tuple[str, Any], ...] = (
    (r"bias", True),
    (r"^(use|is|enable|has|do|with|apply|tie)_", False),
    (r"hidden_(size|dim)$|latent_size$", HIDDEN),
    (r"scor\w*func|score_f|activation_func|router_act|scoring|selection_fn", "sigmoid"),
    (r"top_?k$", TOP_K),
    (r"(size|dim)$", 32),
    (r"^(num|n)_", 1),
    (r"(factor|scale|coef|alpha|beta)$", 1.0),
    (r"(eps|_min)$", 1e-6),
)


class UnknownField(AttributeError):
    """The block asks for a field that the table does not have."""

    def __init__(self, field: str) -> None:
        super().__init__(f"the tiny configuration has no field {field!r}")
        self.field = field


class TinyConfig:
    """Looks like a model's configuration. `factor_read` tells whether the block asked for the factor."""

    def __init__(self, factor: float | None, overlay: Mapping[str, Any], guessed: dict[str, Any]) -> None:
        self.__dict__.update(_factor=factor, _set=dict(overlay), guessed=guessed, reads=set(), factor_read=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        own = self.__dict__
        own["reads"].add(name)
        if name in own["_set"]:
            return own["_set"][name]
        if is_factor(name):
            own["factor_read"] = True
            return own["_factor"]
        for table in (TABLE, own["guessed"]):
            if name in table:
                return table[name]
        raise UnknownField(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_set"][name] = value

    def get(self, name: str, default: Any = None) -> Any:
        """The field; guessed fields are learnt as by attribute."""
        return getattr(self, name, default)

    def get_text_config(self, *_: Any, **__: Any) -> TinyConfig:
        """Itself: there is no outer model."""
        return self

    def to_dict(self) -> dict[str, Any]:
        """Nothing: whatever wants all fields at once gets its defaults."""
        return {}


def guess(name: str) -> Any:
    """A harmless value for a field of this name; None where the name says nothing."""
    for pattern, value in _GUESSES:
        if re.search(pattern, name):
            return value
    return None
