"""What is wrong with a profile, whole or extending."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moelint.linter.profile import Profile, profile_from_dict
from moelint.linter.profile_extend import bare_names, extend
from moelint.linter.profile_fields import EXTENSION_KEYS, field_docs, profile_fields
from moelint.linter.profile_validate import extension_problems, validate_profile
from moelint.linter.registry import profile_data

BASE: dict[str, Any] = {
    "name": "base",
    "packages": ["base"],
    "factor": ["scale"],
    "helper_module": "base.topk",
    "answer_calls": ["ask"],
    "platform": {"_is_hip": ["hip", "hip+aiter"], "is_cuda": ["cuda"]},
    "backend_sources": {"get_backend": "a2a"},
    "slot_sinks": {"Sink": ["weight"]},
}
WHOLE: dict[str, Any] = {"name": "mine", "factor": ["scale"]}


def extension(**facts: object) -> list[str]:
    return extension_problems({"base": "base", **facts}, "profile.", {"base": BASE})


def whole(**facts: object) -> list[str]:
    return validate_profile({**WHOLE, **facts})


@pytest.mark.parametrize("name", sorted(profile_data()))
def test_built_in_profiles_are_sound(name: str) -> None:
    data = profile_data()[name]
    assert validate_profile(data) == []
    assert data["name"] == name
    assert profile_from_dict(dict(data)).name == name


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"factors": []}, "factors: unknown key; did you mean 'factor'?"),
        ({"answer-calls": []}, "answer-calls: unknown key; did you mean 'answer_calls'?"),
        ({"base": "x"}, "base: unknown key"),
        ({"name": 3}, "name: expected a string, not 3"),
        ({"name": ""}, "name: a profile needs a name"),
        ({"library": "yes"}, "library: expected true or false"),
        ({"helper_module": "a b"}, "helper_module: 'a b' is no dotted module name"),
        ({"factor": "scale"}, "factor: expected a list of strings, not 'scale'"),
        ({"factor": ["scale", 1]}, "factor[1]: expected a string, not 1"),
        ({"factor": ["a.b"]}, "factor[0]: 'a.b' is neither an identifier"),
        ({"owner": ["a.*.b"]}, "owner[0]: 'a.*.b' is neither a dotted module name"),
        ({"folds_anyway": ["a b"]}, "folds_anyway[0]: 'a b' is no word"),
        ({"platform": ["cuda"]}, "platform: expected a table"),
        ({"platform": {"is_x": []}}, "platform.is_x: expected a list of strings that is not empty"),
        ({"platform": {"is_x": "cuda"}}, "platform.is_x: expected a list of strings"),
        ({"platform": {"is x": ["cuda"]}}, "platform.is x: 'is x' is neither"),
        ({"platform": {"is_x": [""]}}, "platform.is_x[0]: '' is no word"),
        ({"backend_sources": {"f": ["a2a"]}}, "backend_sources.f: expected a word"),
    ],
)
def test_shape(facts: dict[str, object], words: str) -> None:
    found = whole(**facts)
    assert any(words in problem for problem in found), found


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"platform": {"is_x": ["cudaa"]}}, "platform.is_x: unknown platform 'cudaa'; did you mean 'cuda'?"),
        ({"platform": {"is_x": ["nup"]}}, "platform.is_x: unknown platform 'nup'; did you mean 'npu'?"),
        ({"platform": {"is_x": ["my_chpi"], "is_y": ["my_chip"]}}, "platform.is_x: unknown platform 'my_chpi'"),
        (
            {"platform": {"_is_x": ["cuda"], "is_x": ["cuda", "hip"]}},
            "platform._is_x: ['cuda'] contradicts ['cuda', 'hip'] of 'is_x'",
        ),
        (
            {"platform": {"is_hip": ["hip"]}, "folds_anyway": ["hi"]},
            "folds_anyway[0]: no flag is true on 'hi'; did you",
        ),
        (
            {"platform": {"f": ["cuda"]}, "backend_sources": {"f": "a2a"}},
            "backend_sources.f: also declared in platform",
        ),
        (
            {"backend_sources": {"f": "a2a"}, "backend_predicates": {"f": "a2a"}},
            "backend_predicates.f: also declared in backend_sources",
        ),
        ({"backend_sources": {"f": "platform"}}, "backend_sources.f: the group name 'platform' is reserved"),
        ({"slot_weight": ["scale"]}, "slot_weight: 'scale' is also declared as factor"),
        ({"answer_calls": ["f"], "weight_calls": ["f"]}, "weight_calls: 'f' is also declared as answer_calls"),
        ({"owner": ["a.b"], "leaf": ["a.b"]}, "leaf: 'a.b' is also declared as owner"),
    ],
)
def test_declarations_that_cannot_all_hold(facts: dict[str, object], words: str) -> None:
    found = whole(**facts)
    assert any(words in problem for problem in found), found


def test_declarations_that_can() -> None:
    assert whole(platform={"is_maca": ["maca"], "_is_maca": ["maca"]}, folds_anyway=["maca"]) == []
    assert whole(platform={"is_a": ["gpu"], "is_b": ["my_chip"], "is_c": ["rocm"]}) == []
    assert whole(owner=["a.b"], leaf=["a.*"], answer_calls=["a.b:ask", "a.b:Top.ask2"]) == []


def test_a_whole_profile_needs_a_name_and_a_factor() -> None:
    assert validate_profile({}, "p.") == [
        "p.name: a profile needs a name",
        "p.factor: a profile without a spelling of the factor finds nothing",
    ]


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"base": "bas"}, "profile.base: unknown profile 'bas'; did you mean 'base'?"),
        ({"base": 3}, "profile.base: expected the name of a profile, not 3"),
        ({"replace": "factor"}, "profile.replace: expected a list of field names"),
        ({"replace": ["fctor"]}, "profile.replace[0]: unknown field 'fctor'; did you mean 'factor'?"),
        ({"replace": ["factor"]}, "profile.replace[0]: 'factor' is to be replaced, but the table does not give it"),
        ({"replace": ["platform.x"], "platform": {"y": ["cuda"]}}, "the table 'platform' has no entry 'x'"),
        ({"platform": {"_is_hip": ["hip"]}}, "contradicts ['hip', 'hip+aiter'] of the base; if it is meant, add"),
        ({"backend_sources": {"get_backend": "x"}}, "profile.backend_sources.get_backend: 'x' contradicts 'a2a'"),
        ({"platform": {"is_hip": ["cuda"]}}, "contradicts"),
        ({"weight_calls": ["ask"]}, "profile.weight_calls: 'ask' is also declared as answer_calls"),
    ],
)
def test_extension_problems(facts: dict[str, object], words: str) -> None:
    found = extension(**facts)
    assert any(words in problem for problem in found), found


def test_extension_that_says_the_same_or_says_replace_is_sound() -> None:
    assert extension(platform={"_is_hip": ["hip+aiter", "hip"]}) == []
    assert extension(platform={"_is_hip": ["hip"]}, replace=["platform._is_hip"]) == []
    assert extension(platform={"_is_hip": ["hip"]}, replace=["platform"]) == []
    assert extension() == []


class TestExtend:
    def test_lists_grow_tables_grow_values_are_replaced(self) -> None:
        merged = extend(BASE, {"factor": ["scale", "s2"], "slot_sinks": {"T": ["w"]}, "helper_module": "x"})
        assert merged["factor"] == ["scale", "s2"]
        assert merged["slot_sinks"] == {"Sink": ["weight"], "T": ["w"]}
        assert (merged["helper_module"], merged["name"]) == ("x", "base")

    def test_replace(self) -> None:
        merged = extend(BASE, {"factor": ["s2"], "platform": {"is_cuda": ["c"]}, "replace": ["factor"]})
        assert merged["factor"] == ["s2"]
        merged = extend(BASE, {"platform": {"is_cuda": ["c"]}, "replace": ["platform.is_cuda"]})
        assert merged["platform"] == {"_is_hip": ["hip", "hip+aiter"], "is_cuda": ["c"]}
        assert extend(BASE, {"platform": {"x": ["c"]}, "replace": ["platform"]})["platform"] == {"x": ["c"]}

    def test_the_base_is_left_alone(self) -> None:
        before = repr(BASE)
        extend(BASE, {"factor": ["s2"], "platform": {"x": ["c"], "is_cuda": ["d"]}, "backend_sources": {"y": "z"}})
        assert repr(BASE) == before

    def test_steering_keys_are_no_facts(self) -> None:
        assert not {"base", "replace"} & set(extend(BASE, {"base": "base", "replace": []}))

    def test_bare_names(self) -> None:
        assert bare_names({"factor": ["a.b:x", "y"], "platform": {"m:T.f": ["cuda"]}, "helper_module": "a.b"}) == {
            "factor": ["x", "y"],
            "platform": {"f": ["cuda"]},
            "helper_module": "a.b",
        }


def test_every_field_is_documented() -> None:
    docs = field_docs()
    assert set(docs) == set(profile_fields()) == set(Profile.__slots__)
    assert [name for name, doc in docs.items() if not doc and name != "name"] == []
    assert set(EXTENSION_KEYS) == {"base", "replace"}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.sampled_from(["a.b:c", "cuda", "a.*", "x"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab:._ ", max_size=4), inner, max_size=3),
    max_leaves=6,
)
TABLES = st.dictionaries(
    st.sampled_from([*profile_fields(), "base", "replace"]) | st.text(max_size=5), VALUES, max_size=5
)


@given(TABLES)
def test_any_table_has_problems_or_makes_a_profile(data: dict[str, Any]) -> None:
    profiles = {"base": BASE, "x": WHOLE}
    if not extension_problems(data, "", profiles):
        merged = extend(profiles[data["base"]], bare_names(data))
        assert validate_profile(merged) == []
        profile_from_dict(merged)
    if not validate_profile(data):
        profile_from_dict(bare_names(data))
