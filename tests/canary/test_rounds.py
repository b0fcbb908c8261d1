"""Rounds end to end against the sandbox gateway: claimed once, judged, closed, decided (C1-C21)."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from pytest_django import Settings

from canary import enforcement, rounds
from canary.domain.verdicts import Contract
from canary.models import EndpointRound, ModelStanding, ProbeRun, Round, RoundStatus, RunState, Suspension
from canary.planning import Selection
from canary.round_runner import RoundRunner
from incidents.models import Decision, Notification
from routing.domain.modes import Mode
from routing.models import Exclusion, RoutedModel
from tests.canary.conftest import HEALTHY, MODEL, SandboxGateway
from tests.factories import make_model

pytestmark = pytest.mark.django_db(transaction=True)

MIXES = {"kind": "mixed_languages"}
INTERVAL = timedelta(seconds=1800)


@pytest.fixture
def model() -> RoutedModel:
    return make_model(MODEL, mode="enforce", policy={"first_text_limit_s": 1})


def scheduled_round(model: RoutedModel, ago: timedelta) -> Round:
    """One scheduled round that started `ago`, carried out in this process."""
    claimed = rounds.claim_due(model, now=datetime.now(UTC) - ago)
    assert claimed is not None
    closed = rounds.work(claimed.pk, started_at=claimed.started_at)
    assert closed is not None
    return closed


def actions(model: RoutedModel) -> list[str]:
    quiet = ("joined", "unproved")
    return [
        row.action
        for row in Decision.objects.filter(model_slug=model.slug).order_by("pk")
        if row.action not in quiet
    ]


def test_a_round_probes_every_endpoint_pinned_and_closes(sandbox: SandboxGateway, model: RoutedModel) -> None:
    closed = scheduled_round(model, INTERVAL)
    assert (closed.status, closed.is_scored) == (RoundStatus.CLOSED, True)
    runs = ProbeRun.objects.filter(round=closed)
    assert {run.verdict for run in runs} == {"pass"}, [
        (r.endpoint.tag, r.contract, r.reason, r.evidence) for r in runs if r.verdict != "pass"
    ]
    assert runs.count() == 4 * (len(HEALTHY) + 1)
    assert set(closed.endpoint_rounds.values_list("result", flat=True)) == {"clean"}
    assert all(run.ttft_ms and run.cost_usd for run in runs)


def test_two_failing_rounds_in_a_row_suspend_exclude_log_and_tell(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    scheduled_round(model, 2 * INTERVAL)
    assert not Suspension.objects.exists()
    second = scheduled_round(model, INTERVAL)
    held = Suspension.objects.get()
    assert (held.endpoint.tag, held.is_shadow, held.level, held.round) == ("faulty/fp4", False, 1, second)
    assert held.started_at == second.started_at
    assert held.ends_at - held.started_at == timedelta(days=1)
    exclusion = Exclusion.objects.get()
    assert (exclusion.entry, exclusion.tier, exclusion.expires_at) == ("faulty/fp4", "canary", held.ends_at)
    decision = Decision.objects.get(action="suspend")
    assert (decision.rule, decision.is_enforced, decision.level, decision.until) == (
        "C12",
        True,
        1,
        held.ends_at,
    )
    assert decision.evidence["failed_runs"]
    assert decision.policy["rounds_to_suspend"] == 2
    assert Notification.objects.filter(decision=decision).count() == 1


def test_observe_records_what_would_happen_and_excludes_nothing(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    enforcement.set_mode(model.pk, Mode.OBSERVE, actor="test", reason="watch first")
    model.refresh_from_db()
    sandbox.faults("faulty/fp4", MIXES)
    scheduled_round(model, 2 * INTERVAL)
    scheduled_round(model, INTERVAL)
    assert Suspension.objects.get().is_shadow
    assert not Exclusion.objects.exists()
    assert Decision.objects.get(action="suspend").is_enforced is False


def test_a_language_fail_is_confirmed_at_once_by_two_more_runs(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    closed = scheduled_round(model, INTERVAL)
    runs = ProbeRun.objects.filter(round=closed, endpoint__tag="faulty/fp4", contract=Contract.LANGUAGE)
    assert sorted(runs.values_list("ordinal", flat=True)) == [0, 1, 2]
    assert len(set(runs.values_list("prompt_id", flat=True))) == 1


def test_two_clean_rounds_lift_the_suspension_early(sandbox: SandboxGateway, model: RoutedModel) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    for rounds_ago in (4, 3):
        scheduled_round(model, rounds_ago * INTERVAL)
    sandbox.faults("faulty/fp4")
    scheduled_round(model, 2 * INTERVAL)
    assert Suspension.objects.get().ended_at is None
    scheduled_round(model, INTERVAL)
    held = Suspension.objects.get()
    assert held.end_kind == "recover"
    assert Exclusion.objects.get().lifted_at is not None
    assert actions(model) == ["suspend", "recover"]


def test_the_failing_language_stays_whatever_the_rotation_says(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    first = scheduled_round(model, 2 * INTERVAL)
    second = scheduled_round(model, INTERVAL)
    asked = [
        EndpointRound.objects.get(round=round_, endpoint__tag="faulty/fp4").language
        for round_ in (first, second)
    ]
    assert asked[0] == asked[1]
    assert EndpointRound.objects.get(round=second, endpoint__tag="south").language != asked[0]


def test_a_round_asked_for_by_hand_scores_nobody(sandbox: SandboxGateway, model: RoutedModel) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    for _ in range(2):
        rounds.work_by_hand(model.pk, actor="test")
    assert not Suspension.objects.exists()
    assert set(EndpointRound.objects.values_list("result", flat=True)) == {""}
    assert EndpointRound.objects.filter(raw__language="fail").count() == 2


def test_only_one_round_of_a_model_runs_at_a_time(model: RoutedModel) -> None:
    rounds.request_round(model.pk, actor="test")
    with pytest.raises(rounds.RoundRunning, match="is running"):
        rounds.request_round(model.pk, actor="test")
    assert rounds.claim_due(model, now=datetime.now(UTC)) is None


def test_a_slot_is_claimed_once(model: RoutedModel) -> None:
    now = datetime.now(UTC)
    first = rounds.claim_due(model, now=now)
    assert first is not None
    assert rounds.claim_due(model, now=now) is None
    Round.objects.filter(pk=first.pk).update(status=RoundStatus.SKIPPED, closed_at=now)
    assert rounds.claim_due(model, now=now) is None


def test_a_tick_hands_a_round_out_once_and_again_when_its_lease_ran_out(model: RoutedModel) -> None:
    handed = rounds.tick()
    assert len(handed) == 1
    assert rounds.tick() == []
    Round.objects.update(leased_until=datetime.now(UTC) - timedelta(seconds=1))
    assert rounds.tick() == handed


def test_a_model_in_mode_off_is_not_probed() -> None:
    make_model("acme/off", mode="off")
    assert rounds.tick() == []


def test_a_held_round_is_worked_by_nobody_else(sandbox: SandboxGateway, model: RoutedModel) -> None:
    claimed = rounds.claim_due(model, now=datetime.now(UTC))
    assert claimed is not None
    Round.objects.filter(pk=claimed.pk).update(
        lease_owner="somebody", leased_until=datetime.now(UTC) + timedelta(minutes=1)
    )
    assert rounds.work(claimed.pk) is None
    assert sandbox.served() == []


def test_what_a_dead_worker_had_sent_is_never_sent_again(sandbox: SandboxGateway, model: RoutedModel) -> None:
    claimed = rounds.claim_due(model, now=datetime.now(UTC) - INTERVAL)
    assert claimed is not None
    scheduled = RoundRunner(claimed, owner="dead", plan=lambda: None, confirms=True)
    from asgiref.sync import async_to_sync

    from routing.connections import open_gateway

    async def discover() -> None:
        gateway = open_gateway(model.gateway)
        await scheduled._discover(gateway)
        await gateway.aclose()

    async_to_sync(discover)()
    rounds._plan(claimed, Selection())
    sent = ProbeRun.objects.filter(round=claimed, endpoint__tag="faulty/fp4").order_by("pk").first()
    assert sent is not None
    ProbeRun.objects.filter(pk=sent.pk).update(state=RunState.SENT, sent_at=datetime.now(UTC))
    closed = rounds.work(claimed.pk)
    assert closed is not None
    assert closed.status == RoundStatus.CLOSED
    sent.refresh_from_db()
    assert sent.state == RunState.LOST
    result = EndpointRound.objects.get(round=closed, endpoint__tag="faulty/fp4")
    assert (result.result, result.raw[sent.contract]) == ("frozen", "unreachable")
    assert EndpointRound.objects.filter(round=closed, result="clean").count() == len(HEALTHY)


def test_a_revoked_key_stops_the_round_on_our_side_and_scores_nobody(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.keys({"state": "revoked"})
    closed = scheduled_round(model, INTERVAL)
    assert (closed.status, closed.is_scored) == (RoundStatus.STOPPED, False)
    assert Decision.objects.filter(action="our_side", rule="C3").count() == 1
    assert not ProbeRun.objects.exists()
    scheduled_round(model, timedelta(0))
    assert Decision.objects.filter(action="our_side").count() == 1, "told once an episode"


def test_an_unreadable_discovery_uses_the_last_good_list_if_it_is_younger_than_24_h(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    scheduled_round(model, 2 * INTERVAL)
    sandbox.gateway({"kind": "discovery_unreadable"})
    model.refresh_from_db()
    closed = scheduled_round(model, INTERVAL)
    assert closed.status == RoundStatus.CLOSED
    assert closed.endpoint_rounds.count() == len(HEALTHY) + 1


def test_an_unreadable_discovery_without_a_good_list_skips_the_round(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.gateway({"kind": "discovery_unreadable"})
    closed = scheduled_round(model, INTERVAL)
    assert closed.status == RoundStatus.SKIPPED
    assert "list of endpoints" in closed.note


def test_an_exhausted_budget_probes_nothing_and_is_told_once(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    scheduled_round(model, 3 * INTERVAL)
    RoutedModel.objects.filter(pk=model.pk).update(budget_usd=Decimal(0))
    model.refresh_from_db()
    before = ProbeRun.objects.count()
    scheduled_round(model, 2 * INTERVAL)
    scheduled_round(model, INTERVAL)
    assert ProbeRun.objects.count() == before
    assert Decision.objects.filter(action="budget", rule="C21").count() == 1


def test_a_probe_by_hand_runs_only_what_was_chosen(sandbox: SandboxGateway, model: RoutedModel) -> None:
    chosen = Selection(tag="south", contract=Contract.LANGUAGE, language="th", repeat=3)
    probed = rounds.work_by_hand(model.pk, actor="test", selection=chosen)
    runs = ProbeRun.objects.filter(round=probed)
    assert [
        (run.endpoint.tag, run.contract, run.language, run.ordinal) for run in runs.order_by("ordinal")
    ] == [("south", "language", "th", ordinal) for ordinal in range(3)]


def test_text_is_not_stored_when_the_setting_says_so(
    sandbox: SandboxGateway, model: RoutedModel, settings: Settings
) -> None:
    settings.STORE_EVIDENCE_TEXT = False
    closed = scheduled_round(model, INTERVAL)
    runs = ProbeRun.objects.filter(round=closed)
    assert set(runs.values_list("text", flat=True)) == {""}
    assert runs.filter(contract="language", evidence__begins_corrupt=False).count() == len(HEALTHY) + 1
    assert not runs.filter(is_redacted=False).exists()


def test_silence_of_three_intervals_makes_the_model_blind_once(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    scheduled_round(model, INTERVAL)
    ModelStanding.objects.update(last_closed_at=datetime.now(UTC) - 4 * INTERVAL)
    rounds.tick()
    rounds.tick()
    assert actions(model) == ["blind"]


def test_a_round_by_hand_whose_holder_went_away_does_not_block_the_next(model: RoutedModel) -> None:
    gone = rounds.request_round(model.pk, actor="test", holder="gone")
    with pytest.raises(rounds.RoundRunning):
        rounds.request_round(model.pk, actor="test")
    Round.objects.filter(pk=gone.pk).update(leased_until=datetime.now(UTC) - timedelta(seconds=1))
    assert rounds.request_round(model.pk, actor="test").pk != gone.pk
