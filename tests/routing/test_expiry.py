"""Rule I1: the coming end and the end of a runtime exclusion are told, once each."""

from datetime import timedelta

import pytest
from django.db import transaction

from routing.exclusions import add_canary, add_runtime, lift_runtime
from routing.expiry import expire_due
from routing.models import Exclusion
from tests.routing.conftest import NOW, MakeModel, asked, decided, latest_decision, told

DAY = timedelta(hours=24)
END = NOW + timedelta(days=7)
TICK = timedelta(seconds=1)


@pytest.fixture
def exclusion(make_model: MakeModel) -> Exclusion:
    make_model("alpha", "beta", "gamma")
    return add_runtime(asked("alpha", expires_at=END), now=NOW)


def test_an_exclusion_whose_time_is_up_is_written_down_and_told_once(exclusion: Exclusion) -> None:
    since = latest_decision()
    assert expire_due(END) == 1
    assert expire_due(END + DAY) == 0
    exclusion.refresh_from_db()
    assert exclusion.lifted_at == END
    assert decided(since) == [("exclusion_expire", "R1", "alpha")]
    assert told(since) == ["The exclusion of alpha for all models has ended"]


def test_before_its_end_nothing_expires(exclusion: Exclusion) -> None:
    assert expire_due(END - TICK) == 0
    exclusion.refresh_from_db()
    assert exclusion.lifted_at is None


def test_the_coming_end_is_told_once_within_the_last_24_h(exclusion: Exclusion) -> None:
    since = latest_decision()
    expire_due(END - DAY - TICK)
    assert told(since) == []
    expire_due(END - DAY)
    expire_due(END - TICK)
    assert told(since) == ["The exclusion of alpha for all models ends at 2026-05-11 12:00 UTC"]


def test_the_coming_end_of_one_made_for_no_more_than_a_day_is_not_told(make_model: MakeModel) -> None:
    make_model("alpha", "beta", "gamma")
    add_runtime(asked("alpha", expires_at=NOW + DAY), now=NOW)
    add_runtime(asked("beta", expires_at=NOW + DAY + TICK), now=NOW)
    since = latest_decision()
    expire_due(NOW + TICK)
    assert [subject.split()[3] for subject in told(since)] == ["beta"]


def test_a_lifted_exclusion_neither_ends_nor_is_told_to_end(exclusion: Exclusion) -> None:
    lift_runtime(exclusion.pk, reason="why", actor="ada", now=NOW + DAY)
    since = latest_decision()
    assert expire_due(END - DAY) == 0
    assert expire_due(END) == 0
    assert told(since) == []


def test_the_end_of_a_suspension_is_left_to_the_canary(make_model: MakeModel) -> None:
    endpoint = make_model("alpha", "beta", "gamma").endpoints.get(tag="alpha")
    with transaction.atomic():
        add_canary(endpoint, expires_at=END, reason="why", contracts=[], now=NOW)
    since = latest_decision()
    assert expire_due(END) == 0
    assert decided(since) == []
