"""Terms: an endpoint is a production endpoint only when the model's production preferences admit it."""

from decimal import Decimal

import pytest

from routing.domain.admission import Offer, is_admitted

FP8 = Offer(
    tag="one/fp8", quantization="fp8", prompt_price=Decimal("0.000001"), completion_price=Decimal("0.000004")
)


@pytest.mark.parametrize(
    ("preferences", "is_in"),
    [
        pytest.param({}, True, id="no preferences"),
        pytest.param({"only": ["one"]}, True, id="only its provider"),
        pytest.param({"only": ["ONE/FP8"]}, True, id="only its tag"),
        pytest.param({"only": ["two"]}, False, id="only another"),
        pytest.param(
            {"only": None, "ignore": None, "quantizations": None, "max_price": None}, True, id="nothing set"
        ),
        pytest.param({"ignore": ["one"]}, False, id="its provider ignored"),
        pytest.param({"ignore": ["two"]}, True, id="another ignored"),
        pytest.param({"quantizations": ["fp8"]}, True, id="its quantisation"),
        pytest.param({"quantizations": ["bf16", "fp4"]}, False, id="another quantisation"),
        pytest.param({"max_price": {"prompt": 1}}, True, id="at the price limit"),
        pytest.param({"max_price": {"prompt": 0.99}}, False, id="above the price limit"),
        pytest.param(
            {"max_price": {"prompt": "2", "completion": "3.9"}}, False, id="one price above, as text"
        ),
        pytest.param({"max_price": {"prompt": "cheap"}}, True, id="a limit that is none"),
        pytest.param({"data_collection": "deny", "zdr": True}, True, id="what the catalogue cannot tell"),
    ],
)
def test_preferences_admit_by_name_quantisation_and_price(preferences, is_in: bool) -> None:
    assert is_admitted(FP8, preferences) is is_in


@pytest.mark.parametrize(
    ("quantization", "wanted", "is_in"),
    [
        ("mxfp8", "fp8", True),
        ("fp8", "mxfp8", False),
        ("nvfp4", "fp4", True),
        ("", "unknown", True),
        ("", "fp8", False),
    ],
)
def test_a_quantisation_stands_for_those_it_covers(quantization: str, wanted: str, is_in: bool) -> None:
    assert is_admitted(Offer(tag="one", quantization=quantization), {"quantizations": [wanted]}) is is_in


def test_an_unknown_price_is_admitted() -> None:
    assert is_admitted(Offer(tag="one"), {"max_price": {"prompt": 0, "completion": 0}})
