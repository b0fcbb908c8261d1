"""Production preferences that cannot be meant are refused with one sentence."""

from typing import Any

import pytest

from routing.domain.production_preferences import BadPreferences, checked_preferences


@pytest.mark.parametrize(
    ("given", "checked"),
    [
        pytest.param({}, {}, id="none"),
        pytest.param({"only": [" DeepInfra/FP8 ", "deepinfra/fp8"]}, {"only": ["deepinfra/fp8"]}, id="names"),
        pytest.param({"ignore": [], "max_price": {}, "zdr": None}, {}, id="empty values go"),
        pytest.param({"quantizations": ["FP8", "unknown"]}, {"quantizations": ["fp8", "unknown"]}, id="quantisations"),
        pytest.param(
            {"zdr": False, "data_collection": "deny"}, {"zdr": False, "data_collection": "deny"}, id="data policy"
        ),
        pytest.param(
            {"max_price": {"prompt": 0, "completion": "1.5"}}, {"max_price": {"prompt": 0, "completion": "1.5"}},
            id="price",
        ),
    ],
)  # fmt: skip
def test_what_makes_sense_is_kept(given: dict[str, Any], checked: dict[str, Any]) -> None:
    assert checked_preferences(given) == checked


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        pytest.param([], "JSON object", id="no object"),
        pytest.param({"onyl": ["a"]}, "no production preference 'onyl'", id="misspelt"),
        pytest.param({"sort": "price"}, "no production preference 'sort'", id="not a production preference"),
        pytest.param({"only": "deepinfra"}, "Only is a list", id="a word for a list"),
        pytest.param({"only": ["two words"]}, "only: 'two words' is not a provider slug", id="no name"),
        pytest.param({"quantizations": ["fp8\x00"]}, "quantizations", id="no quantisation"),
        pytest.param({"data_collection": "maybe"}, "allow or deny", id="unknown policy"),
        pytest.param({"zdr": "yes"}, "true or false", id="no flag"),
        pytest.param({"max_price": {"tokens": 1}}, "max_price names USD limits", id="unknown price"),
        pytest.param({"max_price": {"prompt": -1}}, "prompt is a number of USD", id="negative price"),
        pytest.param({"max_price": {"prompt": 1_000_000}}, "prompt is a number of USD", id="absurd price"),
        pytest.param({"max_price": {"prompt": float("nan")}}, "prompt is a number of USD", id="not a number"),
        pytest.param({"max_price": {"prompt": True}}, "prompt is a number of USD", id="a flag for a price"),
    ],
)
def test_what_makes_none_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(BadPreferences, match=sentence):
        checked_preferences(given)
