"""What is known of one framework, as data. No engine or rule code names a framework."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any, Literal

Role = Literal["owner", "leaf", "method", "client"]


@dataclass(frozen=True, slots=True)
class Profile:
    """Declared facts of a framework. Names are bare identifiers; modules are dotted, `a.b.*` means below `a.b`."""

    name: str
    packages: tuple[str, ...] = ()
    """Top-level packages whose files this profile speaks of."""
    library: bool = False
    """Whether clients of other frameworks import these packages too, so that an import alone says little."""
    symbols: tuple[str, ...] = ()
    """Names so particular to the framework that a file which mentions one is its client."""
    factor: frozenset[str] = frozenset()
    """Spellings of the routed scaling factor: config keys, attributes, parameters."""
    slot_weight: frozenset[str] = frozenset()
    """Names that hold the weight of a fused shared slot."""
    slot_count: frozenset[str] = frozenset()
    """Names that hold the number of fused shared slots."""
    topk_weights: frozenset[str] = frozenset()
    """Names of the tensor of top-k weights."""
    answer_calls: frozenset[str] = frozenset()
    """Helpers that answer "did routing fold the factor into the top-k weights?"."""
    answer_names: frozenset[str] = frozenset()
    """Attributes, parameters and locals that carry such an answer."""
    weight_calls: frozenset[str] = frozenset()
    """Helpers that answer "which weight does a fused shared slot hold?"."""
    epilogue_calls: frozenset[str] = frozenset()
    """Helpers that may be handed the factor and scale, or not, by themselves."""
    helper_module: str = ""
    """Where the answers live, for messages and fixes."""
    wish: frozenset[str] = frozenset()
    """Attributes in which the experts say that they wish the router to fold."""
    flags: frozenset[str] = frozenset()
    """Router arguments and attributes that order the fold."""
    runner_flags: frozenset[str] = frozenset()
    """Runner arguments that order the runner to apply the factor."""
    constructors: frozenset[str] = frozenset()
    """Callables that may carry the factor: router, experts, runner configuration."""
    routers: frozenset[str] = frozenset()
    """Those of the constructors that build a router with a fold flag."""
    router_records: dict[str, str] = field(default_factory=dict)
    """Routers -> their attribute that holds the record which the helper is asked about, for fixes."""
    router_answers: dict[str, str] = field(default_factory=dict)
    """Routers without such a record -> their attribute that is the answer itself, for fixes."""
    weight_arguments: dict[str, str] = field(default_factory=dict)
    """Keywords of the helper for a slot's weight -> what it is given, `factor` or `answer`, for fixes."""
    wish_holders: dict[str, str] = field(default_factory=dict)
    """Constructors of experts -> the attribute of their objects that holds the experts' wish, for fixes."""
    config_objects: frozenset[str] = frozenset()
    """Router configuration records, which must not be rebuilt with the factor and without the flag."""
    slot_sinks: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Callables that place a shared slot -> the arguments (keywords, or positions as digits) that hold its weight."""
    owner: tuple[str, ...] = ()
    """Modules that own the answers."""
    method: tuple[str, ...] = ()
    """Modules between the blocks and the kernels (quantisation methods, dispatchers): they hand the factor on and
    apply what they are told, and may not decide."""
    leaf: tuple[str, ...] = ()
    """Modules of kernels and runners: they apply what they are told."""
    platform: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Platform flags and predicates -> the platforms (exclusive) on which they are true."""
    backend_sources: dict[str, str] = field(default_factory=dict)
    """Calls and names that yield a back end -> the exclusive group their `is_x()` predicates test."""
    backend_predicates: dict[str, str] = field(default_factory=dict)
    """Free predicates about a back end -> their exclusive group."""
    quant_attributes: frozenset[str] = frozenset()
    """Attributes that hold a quantisation method, whose type must not decide a scale."""
    folds_anyway: tuple[str, ...] = ()
    """Platforms on which some routers fold whatever the flag says."""
    collectives: frozenset[str] = frozenset()
    """Bare collectives that sum over ranks."""
    reduce_helpers: frozenset[str] = frozenset()
    """Helpers that know whether a sum is still owed; where they exist a bare collective is a decision."""
    shared_experts: frozenset[str] = frozenset()
    """Attributes and names of the separate shared expert."""
    experts: frozenset[str] = frozenset()
    """Attributes and names of the routed experts."""

    @property
    def has_helpers(self) -> bool:
        return bool(self.answer_calls)

    def module_name(self, path: str) -> str:
        """The dotted name of `path`, from the last folder that is one of this profile's packages."""
        parts = path.replace("\\", "/").removesuffix(".py").split("/")
        for index in range(len(parts) - 1, -1, -1):
            if parts[index] in self.packages:
                return ".".join(parts[index:]).removesuffix(".__init__")
        return ".".join(part for part in parts if part not in ("", ".", ".."))

    def role(self, module: str) -> Role:
        if _matches(module, self.owner):
            return "owner"
        if _matches(module, self.leaf):
            return "leaf"
        return "method" if _matches(module, self.method) else "client"


def _matches(module: str, patterns: tuple[str, ...]) -> bool:
    return any(
        module == pattern or (pattern.endswith(".*") and module.startswith(pattern[:-1])) for pattern in patterns
    )


def profile_from_dict(data: dict[str, Any]) -> Profile:
    """Build a profile from validated plain data."""
    values: dict[str, Any] = {}
    for item in fields(Profile):
        if item.name not in data:
            continue
        value = data[item.name]
        kind = str(item.type)
        if kind.startswith("frozenset"):
            value = frozenset(value)
        elif kind.startswith("tuple"):
            value = tuple(value)
        elif kind.startswith("dict[str, tuple"):
            value = {key: tuple(item) for key, item in value.items()}
        values[item.name] = value
    return Profile(**values)
