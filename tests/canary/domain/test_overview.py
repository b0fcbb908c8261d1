"""What is wrong with a model now, in words, heaviest first."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from canary.domain.overview import (
    EndpointLine,
    Mark,
    ModelCard,
    ModelFacts,
    RoundLine,
    Weight,
    concerns,
    tally,
)
from canary.domain.service_state import ServiceState
from routing.domain.modes import Mode

NOW = datetime(2026, 1, 2, tzinfo=UTC)
DAY = timedelta(days=1)


def facts(**values: Any) -> ModelFacts:
    """A model that is well."""
    return ModelFacts(
        **{
            "slug": "acme/one",
            "mode": Mode.ENFORCE,
            "floor": 2,
            "providers": 3,
            "discovered_at": NOW,
            "episodes": {},
            "budget_usd": Decimal(2),
            **values,
        }
    )


def last_round(status: str, note: str = "") -> RoundLine:
    return RoundLine(
        pk="r", started_at=NOW, status=status, language="de", is_scored=False, is_manual=False, note=note
    )


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, [], id="well"),
        pytest.param({"providers": 2}, [], id="at the floor"),
        pytest.param({"providers": 1}, [(Weight.WARNING, "the floor is 2")], id="below the floor"),
        pytest.param({"discovered_at": NOW - DAY + timedelta(seconds=1)}, [], id="a list not yet a day old"),
        pytest.param({"discovered_at": NOW - DAY}, [(Weight.SEVERE, "more than a day old")], id="a list a day old"),
        pytest.param({"discovered_at": None, "providers": 0}, [(Weight.NOTE, "not read yet")], id="new"),
        pytest.param({"is_gone": True}, [(Weight.SEVERE, "no such model")], id="gone"),
        pytest.param({"episodes": {"blind": NOW}}, [(Weight.SEVERE, "Blind")], id="blind"),
        pytest.param(
            {"episodes": {"below_floor": NOW}, "providers": 1}, [(Weight.SEVERE, "below the floor")], id="said once"
        ),
        pytest.param({"episodes": {"weakened": NOW}}, [(Weight.WARNING, "weakened")], id="weakened"),
        pytest.param({"episodes": {"unproved": NOW}}, [(Weight.NOTE, "unproved")], id="unproved"),
        pytest.param({"episodes": {"something else": NOW}}, [], id="an episode that is not wrong"),
        pytest.param({"last_round": last_round("closed")}, [], id="a closed round"),
        pytest.param(
            {"last_round": last_round("stopped", "402 from the gateway")}, [(Weight.WARNING, "402 from the gateway")],
            id="our side",
        ),
        pytest.param({"spent_usd": Decimal("1.99")}, [], id="within the budget"),
        pytest.param({"spent_usd": Decimal(2)}, [(Weight.WARNING, "used up")], id="budget used up"),
        pytest.param({"mode": Mode.OFF, "providers": 0, "is_gone": True}, [(Weight.NOTE, "Off")], id="off"),
        pytest.param(
            {"episodes": {"unproved": NOW, "blind": NOW}}, [(Weight.SEVERE, "Blind"), (Weight.NOTE, "unproved")],
            id="heaviest first",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_words(values: dict[str, Any], expected: list[tuple[Weight, str]]) -> None:
    found = concerns(facts(**values), now=NOW)
    assert [one.weight for one in found] == [weight for weight, _ in expected]
    assert all(words in one.words for one, (_, words) in zip(found, expected, strict=True))


def line(state: ServiceState, *marks: Mark) -> EndpointLine:
    return EndpointLine(pk=1, tag="a/b", state=state, marks=marks)


def card(*states: ServiceState, **values: Any) -> ModelCard:
    known = facts(**values)
    return ModelCard(
        pk=1,
        facts=known,
        endpoints=tuple(map(line, states)),
        concerns=concerns(known, now=NOW),
        next_round_at=None,
    )


def test_the_tally_counts_serving_endpoints_of_all_models() -> None:
    found = tally(
        [card(ServiceState.PRODUCTION, ServiceState.SUSPENDED, ServiceState.LEFT), card(ServiceState.FAILING)]
    )
    assert (found.serving, found.production, found.failing, found.suspended) == (3, 2, 1, 1)


@pytest.mark.parametrize(
    ("values", "edge"),
    [
        ({}, "pass"), ({"providers": 1}, "warn"), ({"episodes": {"blind": NOW}}, "fail"), ({"mode": Mode.OFF}, "idle"),
        ({"episodes": {"unproved": NOW}}, "pass"),
    ],
)  # fmt: skip
def test_a_card_is_drawn_by_its_heaviest_concern(values: dict[str, Any], edge: str) -> None:
    assert card(**values).edge == edge


def test_a_tracker_says_the_same_in_words() -> None:
    marks = (Mark.CLEAN, Mark.ABSENT, Mark.FAILING, Mark.CLEAN)
    assert line(ServiceState.FAILING, *marks).marks_in_words == "last 4 rounds: 2 clean, 1 failing"
    assert line(ServiceState.NEW).marks_in_words == "no rounds yet"
    assert line(ServiceState.NEW, Mark.ABSENT).marks_in_words == "no rounds yet"
