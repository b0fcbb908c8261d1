"""A caller's mistakes in `provider`, `model` and `models`, each one clear sentence."""

import pytest

from routing.domain.preferences import CallerMistake, checked, model_names


def test_names_become_lower_case_and_stand_once() -> None:
    assert checked({"only": ["B ", "a", "b"], "order": ("A",)}) == {"only": ["b", "a"], "order": ["a"]}


def test_none_stays_not_set() -> None:
    assert checked({"only": None, "zdr": None}) == {"only": None, "zdr": None}
    assert checked(None) == {}


@pytest.mark.parametrize(
    ("provider", "sentence"),
    [
        ({"Ignore": []}, "provider has no key 'Ignore'; there are: order, only, ignore,"),
        ({"ignore": "deepinfra"}, "provider.ignore is a list of names, not 'deepinfra'."),
        ({"ignore": [1]}, r"provider.ignore is a list of names, not \[1\]."),
        ({"ignore": [b"x"]}, r"provider.ignore is a list of names, not \[b'x'\]."),
        ({"only": ["a", " "]}, "provider.only is a list of names"),
        ({"order": {"a": 1}}, "provider.order is a list of names"),
        ({"order": ["x"] * 10_001}, r"provider.order is a list of names, not \['x', .*…"),
        ({"allow_fallbacks": "no"}, "provider.allow_fallbacks is true or false, not 'no'."),
        ({"zdr": 1}, "provider.zdr is true or false, not 1."),
        ({"data_collection": "never"}, "provider.data_collection is allow or deny, not 'never'."),
        ({"data_collection": []}, r"provider.data_collection is allow or deny, not \[\]."),
        ({"sort": 3}, "provider.sort is a word, or an object with by and partition, not 3."),
        ({"max_price": 3}, "provider.max_price is an object of prices in USD per million tokens, not 3."),
        ({"preferred_max_latency": True}, "provider.preferred_max_latency is a number, or an object"),
        ([("ignore", [])], "provider is an object, not list."),
    ],
)
def test_a_callers_mistake_is_one_clear_sentence(provider, sentence: str) -> None:
    with pytest.raises(CallerMistake, match=sentence) as caught:
        checked(provider)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("model", ["", "  ", None, 3, ["a/b"]])
def test_a_model_is_a_name(model) -> None:
    with pytest.raises(CallerMistake, match="model is a model's name"):
        model_names(model, None)


@pytest.mark.parametrize("fallbacks", ["a/b", [""], [None], {"a/b": 1}])
def test_fallback_models_are_a_list_of_names(fallbacks) -> None:
    with pytest.raises(CallerMistake, match="models is a list of model names"):
        model_names("a/b", fallbacks)


def test_the_model_comes_before_its_fallbacks() -> None:
    assert model_names("a/b", ["c/d"]) == ("a/b", "c/d")
    assert model_names("a/b", None) == ("a/b",)
