"""Rule R2: what gives way is recorded and told, once an episode, by whichever process compiles it first."""

from datetime import timedelta
from time import monotonic, sleep

import pytest
from django.db import transaction
from django.utils import timezone

from routing.compiling import compiled
from routing.exclusions import add_canary, add_runtime, end_canary
from routing.giving_way import tell_giving_way
from routing.models import GivingWay
from routing.snapshot_source import read_rows, tell_now
from routing.tasks import sweep
from routing.versions import bump_version, current_version
from tests.routing.conftest import NOW, MakeModel, asked, decided, latest_decision, told

LATER = NOW + timedelta(hours=1)


@pytest.fixture
def suspended(make_model: MakeModel):
    """Both endpoints of a model are suspended, `beta` later."""
    model = make_model("alpha", "beta")
    rows = []
    for minutes, tag in enumerate(("alpha", "beta")):
        with transaction.atomic():
            rows.append(
                add_canary(
                    model.endpoints.get(tag=tag),
                    expires_at=NOW + timedelta(days=1),
                    reason="It failed twice.",
                    contracts=["language"],
                    now=NOW + timedelta(minutes=minutes),
                )
            )
    return rows


def test_what_gives_way_is_a_decision_and_told_once_however_often_it_is_compiled(suspended) -> None:
    since = latest_decision()
    tell_now(LATER)
    tell_now(LATER)
    assert decided(since) == [("gave_way", "R2", "beta")]
    assert told(since) == ["beta gives way for author/model"]
    assert GivingWay.objects.get().since == LATER


def test_an_episode_ends_when_something_else_can_serve_and_the_next_one_is_told_again(suspended) -> None:
    since = latest_decision()
    tell_now(LATER)
    with transaction.atomic():
        end_canary(suspended[0], at=LATER, reason="Recovered.")
    tell_now(LATER)
    assert GivingWay.objects.get().ended_at == LATER
    with transaction.atomic():
        add_canary(
            suspended[0].model.endpoints.get(tag="alpha"),
            expires_at=NOW + timedelta(days=2),
            reason="Again.",
            contracts=["language"],
            now=LATER,
        )
    tell_now(LATER)
    assert decided(since) == [("gave_way", "R2", "beta"), ("gave_way", "R2", "alpha")]


def test_an_older_snapshot_says_nothing_of_a_newer_one(suspended) -> None:
    rows = read_rows(current_version(), LATER)
    with transaction.atomic():
        bump_version()
    assert not tell_giving_way(compiled(rows, LATER).gave_way(), version=rows.version, now=LATER)
    assert not GivingWay.objects.exists()


def test_nothing_is_decided_where_nothing_gives_way(make_model: MakeModel) -> None:
    make_model("alpha", "beta")
    since = latest_decision()
    tell_now(LATER)
    assert decided(since) == []


def test_the_sweep_tells_what_gives_way_and_what_has_ended(suspended) -> None:
    add_runtime(asked("alpha", expires_at=NOW + timedelta(minutes=1), is_confirmed=True), now=NOW)
    since = latest_decision()
    sweep()
    assert [action for action, _, _ in decided(since)] == ["exclusion_expire"], "the catalogue is old by now"


@pytest.mark.django_db(transaction=True)
def test_the_process_that_compiles_it_tells_it(make_model: MakeModel, live_snapshot) -> None:
    model = make_model("alpha", at=timezone.now())
    with transaction.atomic():
        add_canary(
            model.endpoints.get(),
            expires_at=timezone.now() + timedelta(days=1),
            reason="why",
            contracts=[],
            now=timezone.now(),
        )
    live_snapshot.snapshot()
    until = monotonic() + 5
    while not GivingWay.objects.exists() and monotonic() < until:
        sleep(0.05)
    assert GivingWay.objects.get().exclusion.entry == "alpha"
