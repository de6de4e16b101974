"""Tokens, stems, and that the fast search gives the answer of the plain one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter import options, registry
from moelint.linter.check import check
from moelint.linter.plan import plan_for
from moelint.linter.prefilter import ANY, Leads, Prefilter, expand
from moelint.linter.profile_choice import Chooser
from moelint.linter.rule import Tokens
from moelint.linter.token_cover import cover, minimal, restricted

PROFILE = {
    "factor": ["routed_scale", "route_scale"],
    "sinks": {"Sink": ["a"]},
    "module": "pkg.topk",
    "packages": ["pkg"],
}


def prefilter(*tokens: Tokens, profile: dict[str, object] = PROFILE) -> Prefilter:
    rules = [
        registry.RuleEntry(f"T{n}", f"t{n}", "f", "error", "1", "", alternatives, False, ("client",), "m", "C")
        for n, alternatives in enumerate(tokens)
    ]
    profiles = {"generic": {}, "pkg": profile}
    return Prefilter(rules, profiles, Chooser(profiles))


def codes(search: Prefilter, data: bytes, path: str = "/x/pkg/y.py") -> list[str]:
    """The rules that a file selects: the same by the plain search and by the search in bulk."""
    plain = [rule.code for rule in search.select(path, data)[1]]
    for shares in ({}, {token: 1.0 for conjunction in search.conjunctions(ANY) for token in conjunction[:1]}):

        def leads_for(profile: str, shares: dict[bytes, float] = shares) -> Leads:
            return Leads(cover(search.conjunctions(profile), shares), shares)

        search.learn(leads_for)
        assert [rule.code for rule in search.select_in_bulk(path, data)[1]] == plain
    return plain


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        ((("plain",),), [(b"plain",)]),
        ((("@factor", "self."),), [(b"routed_scale", b"self."), (b"route_scale", b"self.")]),
        ((("@sinks",), ("@module",)), [(b"Sink",), (b"pkg.topk",)]),
        ((("@absent",), ("@factor", "@absent")), []),
        ((("@sinks", "@factor"),), [(b"Sink", b"routed_scale"), (b"Sink", b"route_scale")]),
    ],
)
def test_fields_of_the_profile_stand_for_each_spelling(tokens: Tokens, expected: list[tuple[bytes, ...]]) -> None:
    assert expand(tokens, PROFILE) == expected


def test_all_tokens_of_one_alternative_must_occur() -> None:
    search = prefilter((("alpha_one", "beta_two"), ("gamma_three",)))
    assert codes(search, b"beta_two alpha_one") == ["T0"]
    assert codes(search, b"alpha_one") == []
    assert codes(search, b"x gamma_three") == ["T0"]
    assert codes(search, b"") == []


def test_each_rule_is_told_apart() -> None:
    search = prefilter((("@factor",),), (("routed_scale_b",),), (("@sinks", "@factor"),))
    assert codes(search, b"route_scale") == ["T0"]
    assert codes(search, b"routed_scale_b") == ["T0", "T1"]
    assert codes(search, b"Sink(route_scale)") == ["T0", "T2"]


def test_the_profile_of_the_file_decides_what_its_fields_mean() -> None:
    search = prefilter((("@factor",),))
    assert codes(search, b"route_scale", "/x/pkg/y.py") == ["T0"]
    assert codes(search, b"route_scale", "/x/other/y.py") == []
    assert codes(search, b"import pkg\nroute_scale", "/x/other/y.py") == ["T0"]


def test_tokens_share_a_stem() -> None:
    assert list(cover([(b"routed_scale",), (b"route_scale",), (b"my_scale_of_x", b"other")], {})) == [b"_scale"]
    assert set(cover([(b"ab",), (b"xyz",), (b"lonely_token",)], {})) == {b"ab", b"xyz", b"lonely_token"}


def test_what_follows_from_another_conjunction_needs_no_stem() -> None:
    conjunctions = [(b"factor",), (b"routed_factor",), (b"factor", b"if "), (b"of_a", b"of_b"), (b"x_of_b", b"of_a_y")]
    assert minimal(conjunctions) == [(b"factor",), (b"of_a", b"of_b")]


def test_frequent_tokens_do_not_lead_if_that_can_be_helped() -> None:
    conjunctions = [(b"return", b"alpha_one"), (b"return", b"beta_two")]
    assert list(cover(conjunctions, {b"return": 0.9})) == [b"alpha_one", b"beta_two"]
    assert list(cover(conjunctions, {b"return": 0.001, b"alpha_one": 0.9})) == [b"return"]
    many = [(b"expert", b"rare_%c_word" % letter) for letter in b"abcdefghijkl"]
    assert list(cover(many, {b"expert": 0.2})) == [b"_word"]


def test_a_cover_is_extended_by_what_it_lacks() -> None:
    first = cover([(b"routed_scale",)], {})
    more = cover([(b"routed_scale", b"x"), (b"my_routed_scale",), (b"other_word",), (b"routed_scale_b",)], {}, first)
    assert more == {b"routed_scale": [b"routed_scale"], b"other_word": [b"other_word"]}


def test_a_stem_at_the_very_start_and_end_of_a_file() -> None:
    search = prefilter((("ed_scal",),), (("scaled_by",),))
    assert codes(search, b"scaled_by ed_scal") == ["T0", "T1"]
    assert codes(search, b"caled_by d_scal") == []
    assert codes(search, b"_scal ed_sca") == []


_WORD = st.text("abc_", min_size=1, max_size=9)
_TOKENS = st.lists(st.lists(_WORD, min_size=1, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple)


@settings(deadline=None)
@given(st.lists(_TOKENS, min_size=1, max_size=4), st.lists(st.text("abc_ ", max_size=40), max_size=5))
def test_the_fast_search_never_differs(tokens: list[Tokens], texts: list[str]) -> None:
    search = prefilter(*tokens)
    words = [word for alternatives in tokens for conjunction in alternatives for word in conjunction]
    for text in (*texts, *words, "".join(words), " ".join(words)):
        codes(search, text.encode())


def test_a_cover_is_restricted_to_what_is_asked() -> None:
    covered = cover([(b"routed_scale",), (b"route_scale",), (b"other_word",)], {})
    assert restricted(covered, [(b"my_routed_scale", b"x")]) == {b"_scale": [b"routed_scale"]}
    assert restricted(covered, []) == {}


@pytest.mark.parametrize("profile", [ANY, *registry.profile_data()])
def test_the_index_covers_the_real_rules_with_few_stems(profile: str) -> None:
    covered = registry.token_cover(profile)
    leading = [token for tokens in covered.values() for token in tokens]
    profiles = registry.profile_data()
    search = Prefilter(registry.entries(), profiles, Chooser(profiles))
    for conjunction in search.conjunctions(profile):
        assert any(lead in token for lead in leading for token in conjunction), conjunction
    assert all(stem in token for stem, tokens in covered.items() for token in tokens)
    assert len(covered) <= 14, "each stem costs a pass over every file: choose tokens that share a part"


def test_where_the_folder_tells_the_profile_only_its_stems_are_searched_for() -> None:
    asked: list[str] = []
    search = prefilter((("@factor",), ("plain_word",)))

    def leads_for(profile: str) -> Leads:
        asked.append(profile)
        return Leads(cover(search.conjunctions(profile), {}), {})

    search.learn(leads_for)
    assert search.select_in_bulk("/x/pkg/sub/y.py", b"route_scale")[0] == "pkg"
    assert search.select_in_bulk("/x/other/y.py", b"import pkg\nroute_scale")[0] == "pkg"
    assert asked == ["pkg", ANY]


def test_a_gate_takes_over_what_the_search_tells() -> None:
    leads = Leads({b"_scale": [b"routed_scale"]}, {b"often": 0.9, b"seldom": 0.1})
    assert leads.gate((b"often", b"routed_scale_x", b"routed_scale", b"seldom")) == (
        {b"routed_scale"},
        (b"routed_scale_x", b"seldom", b"often"),
    )


def test_beside_central_helpers_general_rules_need_the_factor_and_comments_are_always_read(tmp_path: Path) -> None:
    router = (
        "import torch\n\n\ndef route(logits, bias, {factor}):\n    scores = logits.sigmoid() + bias\n"
        "    w, i = torch.topk(scores, 2)  # experts\n    return w / w.sum(-1, keepdim=True){use}, i\n"
    )
    (tmp_path / "with.py").write_text(router.format(factor="routed_scaling_factor", use=" * routed_scaling_factor"))
    (tmp_path / "without.py").write_text(router.format(factor="k", use=""))
    (tmp_path / "comment.py").write_text("x = 1  # moelint: ignore\n")

    def found(profile: str) -> set[tuple[str, str]]:
        asked = options.parse([str(tmp_path), "--profile", profile, "--isolated", "--no-cache"])
        report = check(asked.paths, plan_for(asked))
        return {(Path(f.path).name, f.code) for f in report.findings if f.code in ("MOE801", "MOE901")}

    assert found("generic") == {("with.py", "MOE801"), ("without.py", "MOE801"), ("comment.py", "MOE901")}
    assert found("sglang") == {("with.py", "MOE801"), ("comment.py", "MOE901")}
