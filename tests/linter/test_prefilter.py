"""Tokens, stems, and that the fast search gives the answer of the plain one."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moelint.linter import registry
from moelint.linter.prefilter import Prefilter, Stems, expand
from moelint.linter.profile_choice import Chooser
from moelint.linter.rule import Tokens

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
    plain = [rule.code for rule in search.select(path, data)[1]]
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


def test_an_empty_conjunction_lets_every_file_through() -> None:
    assert codes(prefilter(((),)), b"") == ["T0"]
    search = prefilter(((),), (("alpha",),))
    assert codes(search, b"") == ["T0"]
    assert codes(search, b"alpha") == ["T0", "T1"]


def test_tokens_share_a_stem() -> None:
    search = Stems([(b"routed_scale",), (b"route_scale",), (b"my_scale_of_x", b"other")])
    assert search.stems == (b"_scale",)
    assert set(Stems([(b"ab",), (b"xaby",), (b"lonely_token",)]).stems) == {b"ab", b"xaby", b"lonely_token"}


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


def test_the_real_rules_need_few_stems() -> None:
    profiles = registry.profile_data()
    conjunctions = [
        conjunction
        for rule in registry.entries()
        for data in profiles.values()
        for conjunction in expand(rule.tokens, data)
    ]
    stems = Stems(conjunctions)
    assert all(any(stem in token for stem in stems.stems for token in conjunction) for conjunction in conjunctions)
    assert len(stems.stems) <= 12, "each stem costs a pass over every file: choose tokens that share a part"
