"""Every rule has wrong and right twins in fixtures/RULE/, with the expectation on the line: `# expect: RULE`."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

_SUPPORT = Path(__file__).with_name("support.py")
_spec = importlib.util.spec_from_file_location("moelint_rule_support", _SUPPORT)
assert _spec is not None and _spec.loader is not None
support = sys.modules.setdefault("moelint_rule_support", importlib.util.module_from_spec(_spec))
_spec.loader.exec_module(support)

FIXTURES = Path(__file__).parents[2] / "fixtures" / "rules"
_EXPECT = re.compile(r"# expect: ([a-z0-9-]+(?:, [a-z0-9-]+)*)")


def expectations(text: str) -> set[tuple[int, str]]:
    return {
        (number, name)
        for number, line in enumerate(text.splitlines(), 1)
        for match in _EXPECT.finditer(line)
        for name in match[1].split(", ")
    }


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/wrong*.py")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_wrong_fixture_is_reported_exactly_where_it_says(path: Path) -> None:
    text = path.read_text()
    expected = expectations(text)
    named = {name for _, name in expected} | {path.parent.name}
    assert any(name == path.parent.name for _, name in expected), "a wrong fixture must expect its own rule"
    found = {(line, name) for line, name, _ in support.run(support.all_rules(), text) if name in named}
    assert found == expected


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*/right*.py")), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_right_fixture_is_silent_under_every_rule(path: Path) -> None:
    found = [(line, name, draft.message) for line, name, draft in support.run(support.all_rules(), path.read_text())
             if draft.severity != "note"]  # fmt: skip
    assert found == []


@pytest.mark.parametrize("rule", support.all_rules(), ids=lambda rule: rule.name())
def test_every_rule_has_twins(rule: type) -> None:
    folder = FIXTURES / rule.name()  # type: ignore[attr-defined]
    assert list(folder.glob("wrong*.py")), f"no wrong fixture in {folder}"
    assert list(folder.glob("right*.py")), f"no right fixture in {folder}"


_HEADINGS = ("What it does", "Why is this bad?", "Example", "Use instead", "Limits")
_BLOCK = re.compile(r"```python\n(.*?)```", re.DOTALL)


def sections(rule: type) -> dict[str, str]:
    import inspect

    parts = re.split(r"^## (.+)$", inspect.cleandoc(rule.__doc__ or ""), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


@pytest.mark.parametrize("rule", support.all_rules(), ids=lambda rule: rule.name())
def test_documentation_is_complete_and_its_examples_are_true(rule: type) -> None:
    parts = sections(rule)
    assert tuple(parts) == _HEADINGS
    wrong, right = _BLOCK.findall(parts["Example"]), _BLOCK.findall(parts["Use instead"])
    assert wrong and right
    for text in wrong:
        assert support.run([rule], text), f"the example does not trigger the rule:\n{text}"
    for text in right:
        assert not support.run([rule], text), f"the repaired example triggers the rule:\n{text}"


def test_codes_are_unique() -> None:
    codes = [rule.code for rule in support.all_rules()]
    assert len(codes) == len(set(codes))


_SHARED = """# profile: sglang
class Block:
    def __init__(self, config):
        self.shared_experts = MLP({arguments})

    def forward(self, x):
        if get_moe_a2a_backend().is_deepep():
            return self.forward_deepep(x)
        return self.forward_normal(x)
"""


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        *(
            ("shared-expert-sharded-on-a2a", _SHARED.format(arguments=arguments))
            for arguments in ("reduce_results=False", "reduce_results = False", "reduce_results=\\\n False")
        ),
        *(
            ("a2a-lists-disagree", _SHARED.format(arguments=arguments))
            for arguments in ("**{'tp_size': 1}", '**{"tp_size" : 1}', "**dict(tp_size = 1)", "group='replicated'")
        ),
        *(
            ("slot-weight-decided", f"# profile: sglang\ndef f(x, num_fused_shared_experts):\n    {line}\n")
            for line in (
                "x.topk_weights[:, -1] = 1.0",
                "w = x.topk_weights\n    w[:, -1] = 1.0",
                "w = x.topk_weights  # a name\n    w[:, -1] = 1.0",
                "x.topk_weights.narrow(1, 8, 1).fill_(1.0)",
                "y = torch.cat([x.topk_weights, torch.ones(1)], dim=1)",
                "y = torch.cat(\n        [\n            x.topk_weights,\n            torch.ones(1),\n        ]\n    )",
                "y = torch.cat((\n        f(x).topk_weights, torch.ones(1)))",
                "y = F.pad(topk_weights, (0, 1), value=1.0)",
                "y = torch.where(\n        mask, 1.0, topk_weights)",
            )
        ),
        *(
            ("normalisation-switched-off", f'x = Router({switch}, scoring_func="softmax")\n')
            for switch in (
                "renormalize=False",
                "renormalize =\n False",
                "**{'norm_topk_prob': OFF}",
                "RENORMALIZE=False",
            )
        ),
    ],
)
def test_a_file_is_parsed_for_a_finding_in_any_spelling(rule: str, text: str) -> None:
    module = support.parse(text)
    (found,) = (known for known in support.all_rules() if known.name() == rule)
    assert found.may_find(module.source, module.profile)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        ("shared-expert-sharded-on-a2a", _SHARED.format(arguments="reduce_results=not_here")),
        ("a2a-lists-disagree", _SHARED.format(arguments="tp_size=2, reason=is_replicated")),
        ("normalisation-switched-off", 'x = Router(renormalize=True, scoring_func="softmax", norm = None)\n'),
        (
            "slot-weight-decided",
            "# profile: sglang\ndef load_weights(self, weights: Iterable):\n    num_fused_shared_experts = 1.0\n"
            "    for name, weight in weights:\n        self.load(map(weights))\n",
        ),
        ("neutral-shortcut-disagrees", "# profile: sglang\nx = f(routed_scaling_factor=1.0)\nif y == 1:\n    pass\n"),
    ],
)
def test_no_file_is_parsed_where_its_bytes_tell_that_there_is_nothing(rule: str, text: str) -> None:
    module = support.parse(text)
    (found,) = [known for known in support.all_rules() if known.name() == rule]
    assert not found.may_find(module.source, module.profile)
