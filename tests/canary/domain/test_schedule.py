"""When a round is due, what is asked, and what the budget allows (rules C8, C10, C12, C21)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canary.domain.policy import Policy
from canary.domain.schedule import (
    BudgetStage,
    Spend,
    budget_stage,
    is_due,
    language_to_ask,
    offset_s,
    prompt_variant,
    rotation_language,
    slot_at,
    start_delays_s,
    stretch,
)
from canary.domain.scoring import Culprit, Pair
from canary.domain.verdicts import Contract

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
HALF_HOUR = 1800


def failing(language: str, *, since: int = 0, asked: int = 0, dry: int = 0) -> Culprit:
    """A language culprit; times in minutes before noon."""
    return Culprit(
        pair=Pair(Contract.LANGUAGE, language),
        since=NOON - timedelta(minutes=since),
        asked_at=NOON - timedelta(minutes=asked),
        dry_rounds=dry,
    )


@given(st.text(min_size=1, max_size=30), st.integers(min_value=2, max_value=86400))
def test_a_models_offset_is_stable_and_inside_its_interval(slug: str, interval_s: int) -> None:
    assert offset_s(slug, interval_s) == offset_s(slug, interval_s)
    assert 0 <= offset_s(slug, interval_s) < interval_s


def test_models_do_not_start_together() -> None:
    offsets = {offset_s(f"author/model-{number}", HALF_HOUR) for number in range(100)}
    assert len(offsets) > 90


@given(st.integers(min_value=0, max_value=366 * 86400), st.integers(min_value=2, max_value=86400))
def test_a_moment_lies_in_exactly_one_slot(after_s: int, interval_s: int) -> None:
    now = NOON + timedelta(seconds=after_s)
    slot = slot_at(now, "a/b", interval_s)
    assert slot <= now.timestamp() < slot + interval_s
    assert slot_at(now + timedelta(seconds=interval_s), "a/b", interval_s) == slot + interval_s


@pytest.mark.parametrize(
    ("gap_s", "expected"),
    [
        pytest.param(0.8 * HALF_HOUR - 1, False, id="just under 0.8 interval"),
        pytest.param(0.8 * HALF_HOUR, True, id="0.8 interval"),
    ],
)
def test_no_round_starts_that_could_not_be_scored(gap_s: float, expected: bool) -> None:
    assert is_due(NOON, last_started_at=NOON - timedelta(seconds=gap_s), policy=Policy()) is expected


def test_a_model_without_a_round_is_due() -> None:
    assert is_due(NOON, last_started_at=None, policy=Policy())


def test_a_stretched_model_waits_longer() -> None:
    last = NOON - timedelta(minutes=45)
    assert is_due(NOON, last_started_at=last, policy=Policy(), stretch=1.5)
    assert not is_due(NOON, last_started_at=last, policy=Policy(), stretch=1.6)


def test_the_rotation_visits_every_language_before_it_repeats() -> None:
    languages = ("en", "es", "pt")
    asked = [rotation_language(languages, slot * HALF_HOUR, HALF_HOUR) for slot in range(6)]
    assert asked[:3] == asked[3:]
    assert sorted(asked[:3]) == ["en", "es", "pt"]


def test_without_a_culprit_the_rotation_decides() -> None:
    latency = Culprit(pair=Pair(Contract.LATENCY, None), since=NOON, asked_at=NOON)
    assert language_to_ask([latency], "th") == "th"


def test_the_failing_language_stays_whatever_the_rotation_says() -> None:
    assert language_to_ask([failing("fr")], "th") == "fr"


def test_several_failing_languages_alternate_oldest_first() -> None:
    assert (
        language_to_ask([failing("fr", since=60, asked=30), failing("de", since=30, asked=30)], "th") == "fr"
    )
    assert (
        language_to_ask([failing("fr", since=60, asked=0), failing("de", since=30, asked=30)], "th") == "de"
    )


@pytest.mark.parametrize(
    ("dry", "variant"),
    [
        pytest.param(3, 0, id="3 dry rounds"),
        pytest.param(4, 1, id="4 dry rounds"),
        pytest.param(7, 1, id="7 dry rounds"),
    ],
)
def test_after_4_dry_rounds_another_prompt_of_that_language_is_used(dry: int, variant: int) -> None:
    assert prompt_variant([failing("fr", dry=dry)], "fr", 0) == variant


def test_starts_are_spread_over_at_most_the_longest_and_less_when_the_interval_is_short() -> None:
    assert start_delays_s(4, HALF_HOUR, 60) == [0, 15, 30, 45]
    assert max(start_delays_s(20, 6, 60)) < 0.6
    assert start_delays_s(0, HALF_HOUR, 60) == []


def spend(spent: str, *, budget: str = "2", per_round: str = "0.10", essential: str = "0") -> Spend:
    return Spend(
        spent_usd=Decimal(spent),
        budget_usd=Decimal(budget),
        round_usd=Decimal(per_round),
        essential_usd=Decimal(essential),
    )


@pytest.mark.parametrize(
    ("state", "stage"),
    [
        pytest.param(spend("0"), BudgetStage.FULL, id="nothing spent"),
        pytest.param(spend("1.59"), BudgetStage.FULL, id="just under 80 %"),
        pytest.param(spend("1.60"), BudgetStage.SPREAD, id="80 %"),
        pytest.param(spend("1.90"), BudgetStage.SPREAD, id="exactly one round left"),
        pytest.param(spend("1.91"), BudgetStage.EXHAUSTED, id="less than a round left, nothing essential"),
        pytest.param(
            spend("1.91", essential="0.09"), BudgetStage.ESSENTIAL, id="enough for what is essential"
        ),
        pytest.param(
            spend("1.92", essential="0.09"), BudgetStage.EXHAUSTED, id="not even for what is essential"
        ),
        pytest.param(spend("0", budget="0"), BudgetStage.EXHAUSTED, id="no budget"),
        pytest.param(spend("0", budget="0", per_round="0"), BudgetStage.FULL, id="free of charge"),
    ],
)
def test_the_budget_spreads_then_drops_then_ends(state: Spend, stage: BudgetStage) -> None:
    assert budget_stage(state) is stage


def test_what_is_left_is_spread_until_midnight() -> None:
    factor = stretch(spend("1.60"), now=NOON, interval_s=HALF_HOUR)
    assert factor == pytest.approx(24 / 4)


def test_rounds_are_never_brought_closer_together() -> None:
    assert stretch(spend("0", budget="1000"), now=NOON, interval_s=HALF_HOUR) == 1.0
