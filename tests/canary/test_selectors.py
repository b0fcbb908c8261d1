"""The fleet as the first page shows it: truthful, and in a number of queries that history does not change."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from canary import selectors
from canary.domain.overview import Mark
from canary.domain.service_state import ServiceState
from canary.models import ModelStanding, RoundStatus, Suspension
from canary.selectors.lines import lines_of
from incidents.models import Delivery, Notification
from routing.models import Endpoint, EnforcementSwitch
from tests import factories as make
from tests.fleets import ROUNDS, make_fleet

NOW = datetime.fromisoformat("2026-01-02T12:00:00+00:00")
QUERIES = 13

pytestmark = pytest.mark.django_db


def states(slug: str, now: datetime = NOW) -> dict[str, ServiceState]:
    """State of each endpoint of a model by its tag."""
    card = next(card for card in selectors.fleet(now).cards if card.facts.slug == slug)
    return {line.tag: line.state for line in card.endpoints}


def test_every_state_of_the_fleet_is_told() -> None:
    make_fleet(NOW)
    assert states("acme/large") == {
        "deepinfra/fp8": ServiceState.SUSPENDED, "parasail/fp8": ServiceState.FAILING,
        "siliconflow/fp8": ServiceState.SILENT, "azure": ServiceState.EXCLUDED, "fireworks": ServiceState.PRODUCTION,
        "groq": ServiceState.PRODUCTION, "novita/bf16": ServiceState.PRODUCTION,
        "together/fp8": ServiceState.PRODUCTION,
    }  # fmt: skip
    assert states("acme/small")["deepinfra/bf16"] is ServiceState.WOULD_SUSPEND


def test_blind_models_come_first_then_the_heaviest_concern() -> None:
    make_fleet(NOW)
    make.make_model("acme/gone", is_gone=True, discovered_at=NOW)
    assert [card.facts.slug for card in selectors.fleet(NOW).cards] == [
        "acme/old", "acme/gone", "acme/large", "acme/small",
    ]  # fmt: skip


def test_endpoints_in_trouble_come_first() -> None:
    make_fleet(NOW)
    card = next(card for card in selectors.fleet(NOW).cards if card.facts.slug == "acme/large")
    assert [line.tag for line in card.endpoints[:3]] == ["deepinfra/fp8", "parasail/fp8", "siliconflow/fp8"]


def test_a_suspension_holds_up_to_not_including_its_end_though_nobody_ended_it() -> None:
    endpoint = make.make_endpoint(make.make_model(mode="enforce"))
    make.make_standing(endpoint)
    held = make.make_suspension(endpoint, started_at=NOW - timedelta(days=1), ends_at=NOW)
    assert states("acme/one", NOW - timedelta(seconds=1)) == {"host/fp8": ServiceState.SUSPENDED}
    assert states("acme/one", NOW) == {"host/fp8": ServiceState.PRODUCTION}
    assert Suspension.objects.get(pk=held.pk).ended_at is None


def test_while_enforcement_is_stopped_no_suspension_keeps_anything_out() -> None:
    make_fleet(NOW)
    EnforcementSwitch.objects.filter(pk=1).update(is_stopped=True)
    fleet = selectors.fleet(NOW)
    line = next(line for card in fleet.cards for line in card.endpoints if line.tag == "deepinfra/fp8")
    assert (line.state, line.why) == (
        ServiceState.WOULD_SUSPEND, "language (de) · level 2 · enforcement is stopped"
    )  # fmt: skip
    assert fleet.tally.suspended == 0


def test_an_exclusion_of_a_provider_for_another_model_does_not_count() -> None:
    one, other = make.make_model("acme/one"), make.make_model("acme/two")
    for model in (one, other):
        make.make_standing(make.make_endpoint(model))
    make.make_exclusion("host", model=other)
    assert states("acme/one") == {"host/fp8": ServiceState.PRODUCTION}
    assert states("acme/two") == {"host/fp8": ServiceState.EXCLUDED}


def test_preferences_keep_out_what_they_do_not_admit() -> None:
    endpoint = make.make_endpoint(make.make_model(preferences={"quantizations": ["bf16"]}))
    make.make_standing(endpoint)
    make.make_capability(endpoint, quantization="fp8")
    assert states("acme/one") == {"host/fp8": ServiceState.NOT_ADMITTED}


def test_endpoints_that_left_are_not_shown_on_the_first_page() -> None:
    make.make_endpoint(make.make_model(), is_serving=False)
    assert states("acme/one") == {}


def test_a_tracker_has_the_last_rounds_oldest_first_with_gaps() -> None:
    model = make.make_model(interval_s=1800)
    endpoint = make.make_endpoint(model)
    rounds = [make.make_round(model, started_at=NOW - timedelta(minutes=30 * age)) for age in (4, 3, 2, 1)]
    for round_, result in zip(rounds, ("clean", "failing", None, ""), strict=True):
        if result is not None:
            make.make_endpoint_round(round_, endpoint, result)
    endpoint = Endpoint.objects.select_related("model", "provider").get()
    [line] = lines_of([endpoint], now=NOW, is_stopped=False).values()
    assert line.marks == (Mark.CLEAN, Mark.FAILING, Mark.ABSENT, Mark.NOT_SCORED)


def test_the_median_of_the_latency_runs_of_those_rounds_is_shown() -> None:
    model = make.make_model()
    endpoint = make.make_endpoint(model)
    for age, ttft_ms in ((1, 100.0), (2, 900.0), (3, 300.0), (400, 9000.0)):
        round_ = make.make_round(model, started_at=NOW - timedelta(minutes=30 * age))
        make.make_run(round_, endpoint, ttft_ms=ttft_ms)
        make.make_run(round_, endpoint, "language", ttft_ms=5000.0)
    assert selectors.fleet(NOW).cards[0].endpoints[0].ttft_ms == 300.0


def test_a_round_in_progress_shows_its_progress() -> None:
    make_fleet(NOW)
    card = next(card for card in selectors.fleet(NOW).cards if card.facts.slug == "acme/small")
    assert card.facts.last_round is not None
    assert card.facts.last_round.is_running
    assert (card.facts.last_round.done, card.facts.last_round.total) == (2, 3)


def test_what_was_spent_today_is_of_today_by_model() -> None:
    model = make.make_model()
    endpoint = make.make_endpoint(model)
    for at, cost in (
        (NOW, "0.25"),
        (NOW - timedelta(hours=12), "0.5"),
        (NOW - timedelta(hours=12, seconds=1), "9"),
    ):
        make.make_run(make.make_round(model, started_at=at), endpoint, cost_usd=Decimal(cost))
    assert selectors.fleet(NOW).cards[0].facts.spent_usd == Decimal("0.75")


def test_the_next_round_is_the_models_next_interval_and_none_when_off() -> None:
    make.make_model("acme/off", mode="off")
    make.make_model("acme/on", interval_s=600)
    on, off = sorted(selectors.fleet(NOW).cards, key=lambda card: card.facts.slug, reverse=True)
    assert off.next_round_at is None
    assert on.next_round_at is not None
    assert timedelta(0) < on.next_round_at - NOW <= timedelta(seconds=600)


def test_what_was_not_delivered_is_said() -> None:
    assert selectors.fleet(NOW).undelivered_words == ""
    for number, status in enumerate((Delivery.DEAD, Delivery.UNADDRESSED, Delivery.PENDING)):
        Notification.objects.create(
            key=str(number), severity="info", subject="s", body="b", status=status, created_at=NOW, due_at=NOW
        )
    words = selectors.fleet(NOW).undelivered_words
    assert "Notifications given up: 1." in words
    assert "because no mail is configured: 1." in words


def test_the_fleet_is_read_in_so_many_queries_whatever_its_size_and_history(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    make_fleet(NOW)
    with django_assert_num_queries(QUERIES):
        selectors.fleet(NOW)
    model = make.make_model("acme/more", mode="enforce")
    ModelStanding.objects.create(model=model)
    for number in range(6):
        make.make_standing(make.make_endpoint(model, f"host{number}/fp8"))
        round_ = make.make_round(model, started_at=NOW - timedelta(minutes=number))
        make.make_endpoint_round(round_, model.endpoints.latest("pk"))
    make.make_round(model, started_at=NOW, status=RoundStatus.RUNNING)
    with django_assert_num_queries(QUERIES):
        selectors.fleet(NOW)


def test_a_policy_that_cannot_be_read_is_said_and_takes_nothing_else_away() -> None:
    make.make_model("acme/bad", policy={"floor": -1}, discovered_at=NOW)
    make.make_model("acme/good", discovered_at=NOW)
    bad, good = selectors.fleet(NOW).cards
    assert bad.concerns[0].words.startswith("Its policy cannot be read")
    assert (bad.facts.floor, good.facts.policy_error) == (2, "")


def test_an_empty_fleet_is_read_too() -> None:
    fleet = selectors.fleet(NOW)
    assert not fleet.cards
    assert fleet.tally.serving == 0


@pytest.mark.parametrize(
    ("state", "tags"), [("active", {"a"}), ("shadow", {"b"}), ("past", {"c", "d"}), (None, set("abcd"))]
)
def test_suspensions_are_active_shadow_or_past(state: str | None, tags: set[str]) -> None:
    model = make.make_model()
    kinds: dict[str, dict[str, Any]] = {
        "a": {}, "b": {"is_shadow": True}, "c": {"ended_at": NOW, "end_kind": "lift"}, "d": {"ends_at": NOW},
    }  # fmt: skip
    for tag, values in kinds.items():
        times = {"started_at": NOW - timedelta(hours=1), "ends_at": NOW + timedelta(hours=1)}
        make.make_suspension(make.make_endpoint(model, tag), **{**times, **values})
    found = selectors.suspensions_in(state, Suspension.objects.all(), now=NOW)
    assert set(found.values_list("endpoint__tag", flat=True)) == tags


def test_the_share_of_false_positives_leaves_unclear_ones_out() -> None:
    model = make.make_model()
    judgements = ["false positive", "correct", "correct", "unclear", ""]
    for number, judgement in enumerate(judgements):
        make.make_suspension(make.make_endpoint(model, f"h{number}"), judgement=judgement)
    share = selectors.review_share(model)
    assert (share.false, share.correct, share.interval) == (1, 2, None)


def test_as_many_rounds_are_shown_as_a_tracker_holds() -> None:
    make_fleet(NOW)
    card = next(card for card in selectors.fleet(NOW).cards if card.facts.slug == "acme/large")
    assert {len(line.marks) for line in card.endpoints} == {24}
    assert ROUNDS > 24
