"""MOE805."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from moelint.linter.analysis.module import Function, dotted_name, terminal_name
from moelint.linter.analysis.walk import children
from moelint.linter.rule import Draft, Module, Profile, Rule, Source
from moelint.rules import _router_words as words
from moelint.rules._renorm import switches
from moelint.rules._router import router_facts

_SWITCH = (
    r"(renorm|(topk|top_k|route|router|gate|weights?)_norm|norm_(topk|top_k|expert|gat|prob|rout|weight)"
    r"|normali[sz]e_(topk|top_k|expert|gat|prob|rout|weight))"
)
_NORM = re.compile(_SWITCH)
_NEAR = re.compile(rb"norm\w*[\"']?\]?\s*[:=]\s*(?!true\b|none\b)[a-z]")
"""In lower case, the end of what `_OFF` finds: quickly found, because it starts with a word."""
_BEFORE = 16
"""How many bytes before such an end `_OFF` may begin."""
_OFF = re.compile(rb"(?i:%s)\w*[\"']?\]?\s*[:=]\s*(False|(?!True\b|None\b)[A-Z])" % _SWITCH.encode())
_SOFTMAX = (b'"softmax"', b"'softmax'", b"SOFTMAX", b".Softmax")
_SCORE = re.compile(r"scor\w*_(f|fn|func|function|act)|(score|scoring|router_activation|gate_activation)(_\w+)?$")
_COUNT = re.compile(r"top_?k|experts_per_tok")


@dataclass(slots=True)
class _Settings:
    """Values that are set together: the keywords of a call, a dictionary, the fields given to one object."""

    qualname: str
    entries: dict[str, tuple[ast.expr, ast.AST]] = field(default_factory=dict)


class NormalisationSwitchedOff(Rule):
    """Reports settings that switch the normalisation of softmax weights off and put nothing in its place.

    ## What it does
    Looks at literals that are set together, in one call, one dictionary or one object: softmax as the score function,
    `False` for a switch such as `norm_topk_prob`, `renormalize` or `route_norm`, and either a factor of one or a router
    in the same module that obeys the switch.

    ## Why is this bad?
    A softmax over all experts that is cut to the chosen ones sums to less than one. Models whose reference takes the
    softmax of the chosen logits need the normalisation, which is the same thing; without it their routed part shrinks.

    ## Example
    ```python
    CONFIG = dict(score_func="softmax", route_norm=False, route_scale=1.0)
    ```

    ## Use instead
    ```python
    CONFIG = dict(score_func="softmax", route_norm=True, route_scale=1.0)
    ```

    ## Limits
    Silent where a factor other than one is set, where shared experts are configured beside the routed ones, and for one
    chosen expert: those models live with weights below one. Defaults of classes and parameters are not settings.
    """

    code = "MOE805"
    family = "router"
    severity = "warning"
    tokens = (
        ("softmax", "renormalize", "False"),
        ("softmax", "norm_topk_prob", "False"),
        ("softmax", "route_norm", "False"),
        ("softmax", "score_func", "norm", "False"),
        ("softmax", "scoring_func", "norm", "False"),
    )
    help = "normalise the chosen weights, or softmax the chosen logits"

    @classmethod
    def may_find(cls, source: Source, profile: Profile) -> bool:
        return any(word in source.data for word in _SOFTMAX) and _switches_off(source.data)

    def check(self, module: Module) -> Iterable[Draft]:
        for settings in _settings(module):
            off = _first(settings, _NORM, _is_off, module)
            soft = _first(settings, _SCORE, _is_softmax, module)
            if off is None or soft is None or _explained(settings, module):
                continue
            name, place = off
            if not _has_neutral_factor(settings, module) and not _obeyed(name, module):
                continue
            yield Draft(
                place,
                f"`{name}` is switched off beside softmax scores: the weights of the chosen experts sum to less than "
                "one and no factor makes up for it. Switch it on if the reference takes a softmax of chosen logits.",
                settings.qualname,
                ((soft[1], "the score function"),),
            )


def _switches_off(text: bytes) -> bool:
    return any(
        _OFF.search(text, max(0, near.start() - _BEFORE), near.end() + len(b"False"))
        for near in _NEAR.finditer(text.lower())
    )


def _settings(module: Module) -> Iterator[_Settings]:
    """Everything in the module that sets several values together, but in functions that switch nothing off."""
    owners = {function.node: function for function in module.functions}
    stack: list[tuple[ast.AST, Function | None]] = [(module.tree, None)]
    objects: dict[tuple[Function | None, str], _Settings] = {}
    while stack:
        node, around = stack.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not _switches_off(module.source.segment(node)):
                continue
            around = owners.get(node, around)
        qualname = around.qualname if around is not None else "<module>"
        if isinstance(node, ast.Call) and len(node.keywords) > 1:
            yield _Settings(qualname, {k.arg: (k.value, k) for k in node.keywords if k.arg})
        elif isinstance(node, ast.Dict) and len(node.keys) > 1:
            keys = [(key.value, value) for key, value in zip(node.keys, node.values, strict=True)
                    if isinstance(key, ast.Constant) and isinstance(key.value, str)]  # fmt: skip
            yield _Settings(qualname, {key: (value, value) for key, value in keys})
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                base, name = _field(target)
                if name:
                    objects.setdefault((around, base), _Settings(qualname)).entries[name] = (node.value, node)
        stack.extend((child, around) for child in children(node))
    yield from objects.values()


def _field(target: ast.expr) -> tuple[str, str]:
    """(object, field) of `x.name = ...` and `x["name"] = ...`."""
    if isinstance(target, ast.Attribute):
        return dotted_name(target.value), target.attr
    if isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Constant):
        key = target.slice.value
        return dotted_name(target.value), key if isinstance(key, str) else ""
    return "", ""


def _first(
    settings: _Settings, pattern: re.Pattern[str], wanted: Callable[[ast.expr], bool], module: Module
) -> tuple[str, ast.AST] | None:
    for name, (value, place) in settings.entries.items():
        if pattern.search(name.lower()) and wanted(_literal(value, module)):
            return name, place
    return None


def _literal(node: ast.expr, module: Module) -> ast.expr:
    """The expression behind a module constant."""
    if isinstance(node, ast.Name):
        return module.constants.get(node.id, node)
    return node


def _is_off(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def _is_softmax(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.lower() == "softmax"
    return isinstance(node, (ast.Attribute, ast.Name)) and terminal_name(node).lower() == "softmax"


def _explained(settings: _Settings, module: Module) -> bool:
    """Whether the settings speak of a model that does without: another factor, shared experts, one expert."""
    for name, (value, _) in settings.entries.items():
        literal = _literal(value, module)
        known = literal.value if isinstance(literal, ast.Constant) else ...
        if "shared" in name and known not in (0, None, False):
            return True
        if _is_factor(name, module) and known not in (1, None):
            return True
        if _COUNT.search(name.lower()) and known == 1 and known is not True:
            return True
    return False


def _has_neutral_factor(settings: _Settings, module: Module) -> bool:
    return any(_is_factor(name, module) for name in settings.entries)


def _is_factor(name: str, module: Module) -> bool:
    return name in module.profile.factor or words.is_factor_name(name)


def _obeyed(name: str, module: Module) -> bool:
    """Whether a router of this module normalises under a test of this switch."""
    for step in router_facts(module).norms:
        if any(name in atom.subject and atom in switches(step.function) for atom in step.path):
            return True
    return False
