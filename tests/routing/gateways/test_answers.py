"""Reading who served out of an answer that may be hostile."""

from datetime import timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.domain.preferences import CallerMistake
from routing.gateways.answers import Answer, read_answer
from tests.routing.domain.rows import NOW, NOW_S


class SdkAnswer:
    """As an SDK's object offers itself."""

    def model_dump(self) -> dict[str, str]:
        return {"id": "gen-1", "provider": "Alpha"}


def test_an_answer_says_who_served_it() -> None:
    document = {
        "id": "gen-1",
        "provider": "Alpha AI",
        "created": NOW_S - 5,
        "choices": [{"finish_reason": "stop"}],
        "usage": {"cost": 0.00125},
    }
    assert read_answer(document, now=NOW) == Answer(
        served_by="Alpha AI",
        generation_id="gen-1",
        finish_reason="stop",
        cost_usd=Decimal("0.00125"),
        began_at=NOW - timedelta(seconds=5),
    )


def test_an_sdks_object_is_read_too() -> None:
    assert read_answer(SdkAnswer(), now=NOW).served_by == "Alpha"


def test_without_a_provider_the_router_metadata_says_who_served() -> None:
    available = [{"provider": "Beta", "selected": False}, {"provider": "Alpha", "selected": True}]
    router = {"endpoints": {"available": available}, "attempts": [{"provider": "Beta"}]}
    assert read_answer({"openrouter_metadata": router}, now=NOW).served_by == "Alpha"


@pytest.mark.parametrize("response", [None, "text", 3, [], object()])
def test_what_is_no_answer_is_the_callers_mistake(response) -> None:
    with pytest.raises(CallerMistake, match="The response is the answer's object"):
        read_answer(response, now=NOW)


@pytest.mark.parametrize(
    ("created", "is_believed"),
    [
        (NOW_S, True),
        (NOW_S + 1, False),
        (NOW_S - 3600, True),
        (NOW_S - 3601, False),
        (True, False),
        ("1", False),
        (float("nan"), False),
        (float("inf"), False),
        (10**400, False),
        (None, False),
    ],
)
def test_a_beginning_is_believed_within_the_last_hour(created, is_believed: bool) -> None:
    assert (read_answer({"created": created}, now=NOW).began_at is not None) is is_believed


@pytest.mark.parametrize(
    "cost",
    [-1, 10**400, float("nan"), float("inf"), 1e300, "3", True, [], Decimal(100_000), Decimal("sNaN")],
)
def test_a_cost_that_cannot_be_one_is_unknown(cost) -> None:
    assert read_answer({"usage": {"cost": cost}}, now=NOW).cost_usd is None


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@given(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("id", "provider", "created", "choices", "usage", "openrouter_metadata"), json_values
        ),
    )
)
def test_whatever_an_answer_holds_what_is_read_is_bounded_and_printable(document) -> None:
    answer = read_answer(document, now=NOW)
    for text in (answer.served_by, answer.generation_id, answer.finish_reason):
        assert len(text) <= 200
        assert text.isprintable()
