"""Two processes at once on PostgreSQL: the last place, a round's slot, a round's lease (C12, C14)."""

import multiprocessing
import os
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.db import connection

from canary.models import Round, Suspension
from incidents.models import Decision
from tests.canary.racers import claim_slots, close_rounds
from tests.factories import make_endpoint, make_model, make_standing

pytestmark = [pytest.mark.postgres, pytest.mark.django_db(transaction=True)]

REPETITIONS = 100
NOW = datetime.now(UTC)


def database_url() -> str:
    """The address of the test database, for another process."""
    return urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{connection.settings_dict['NAME']}").geturl()


def race(target: Callable[[str, list[Any], datetime, Any], None], things: list[Any]) -> None:
    """Run `target` in two processes that meet at a barrier for each thing."""
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    racers = [context.Process(target=target, args=(database_url(), things, NOW, barrier)) for _ in range(2)]
    for racer in racers:
        racer.start()
    for racer in racers:
        racer.join(timeout=120)
    assert [racer.exitcode for racer in racers] == [0, 0]


def model_with_one_place(number: int) -> Round:
    """Three providers, a floor of two, two endpoints about to fail for the second time: one place."""
    model = make_model(f"acme/race-{number}", mode="enforce")
    for tag in ("a", "b", "c"):
        streak = (
            {"failing_streak": 1, "last_result_at": NOW - timedelta(minutes=30)} if tag in ("a", "b") else {}
        )
        make_standing(make_endpoint(model, tag), **streak)
    return Round.objects.create(model=model, slot=1, started_at=NOW)


def test_of_two_processes_racing_for_the_last_place_one_suspends_and_one_refusal_is_logged() -> None:
    rounds_ = [model_with_one_place(number) for number in range(REPETITIONS)]
    race(close_rounds, [round_.pk for round_ in rounds_])
    for round_ in rounds_:
        slug = round_.model.slug
        assert Suspension.objects.filter(endpoint__model=round_.model).count() == 1, slug
        logged = Decision.objects.filter(model_slug=slug).exclude(action="unproved")
        assert sorted(logged.values_list("action", flat=True)) == ["refuse", "suspend"], slug


def test_of_two_beats_and_workers_one_claims_a_slot_and_one_takes_the_round() -> None:
    models = [make_model(f"acme/claim-{number}", mode="observe") for number in range(20)]
    race(claim_slots, [model.pk for model in models])
    assert Round.objects.count() == len(models)
    assert set(Round.objects.values_list("takeovers", flat=True)) == {1}
