"""Deaths, lost leases and hostile answers in the middle of rounds: nobody is suspended by them (R5, C3, C9, C12)."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync
from pytest_django import Settings

from canary import enforcement, planning, rounds, run_records
from canary.domain.schedule import BudgetStage
from canary.domain.verdicts import Contract, Judgement, Reason, Verdict
from canary.models import (
    EndpointRound,
    ModelStanding,
    ProbeRun,
    Round,
    RoundStatus,
    RunState,
    Standing,
    Suspension,
)
from canary.probes.registry import probe_of
from canary.round_runner import RoundRunner
from incidents.models import Decision, Notification
from routing.domain.modes import Mode
from routing.gateways.base import Attribution, Exchange, Gateway, ModelFacts, Usage
from routing.models import RoutedModel
from tests.canary.conftest import HEALTHY, MODEL, SandboxGateway
from tests.factories import (
    NOW,
    make_capability,
    make_endpoint,
    make_model,
    make_round,
    make_run,
    make_standing,
)

pytestmark = pytest.mark.django_db(transaction=True)

INTERVAL = timedelta(seconds=1800)
MIXES = {"kind": "mixed_languages"}
EVERYBODY = (*HEALTHY, "faulty/fp4")


@pytest.fixture
def model() -> RoutedModel:
    return make_model(MODEL, mode="enforce", policy={"first_text_limit_s": 1})


def claimed(model: RoutedModel, ago: timedelta = timedelta(0)) -> Round:
    model.refresh_from_db()
    round_ = rounds.claim_due(model, now=datetime.now(UTC) - ago)
    assert round_ is not None
    return Round.objects.select_related("model__gateway").get(pk=round_.pk)


def worked(model: RoutedModel, ago: timedelta = timedelta(0)) -> Round:
    round_ = claimed(model, ago)
    done = rounds.work(round_.pk, started_at=round_.started_at)
    assert done is not None
    return done


class DiesBeforeConfirming(RoundRunner):
    """A worker that dies when every first run has its result and no confirmation is written down."""

    async def _confirm(self, gateway: Gateway, endpoint_pk: int) -> None:
        return


def left_unconfirmed(model: RoutedModel, ago: timedelta) -> Round:
    round_ = claimed(model, ago)
    lease = Round.objects.filter(pk=round_.pk)
    lease.update(lease_owner="dead", leased_until=datetime.now(UTC) + timedelta(minutes=5))
    plan: Callable[[], None] = lambda: rounds._plan(round_, planning.EVERYTHING)  # noqa: E731
    async_to_sync(DiesBeforeConfirming(round_, owner="dead", plan=plan, confirms=True).run)()
    lease.update(leased_until=datetime.now(UTC) - timedelta(seconds=1))
    return round_


def test_a_takeover_runs_the_confirmations_a_death_left_out(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    round_ = left_unconfirmed(model, INTERVAL)
    rounds.work(round_.pk)
    runs = ProbeRun.objects.filter(round=round_, endpoint__tag="faulty/fp4", contract="language")
    assert sorted(runs.values_list("ordinal", flat=True)) == [0, 1, 2]


def test_an_unconfirmed_language_fail_freezes_when_its_workers_died_too_often(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    round_ = left_unconfirmed(model, INTERVAL)
    Round.objects.filter(pk=round_.pk).update(takeovers=rounds.TAKEOVERS)
    rounds.work(round_.pk)
    row = EndpointRound.objects.get(round=round_, endpoint__tag="faulty/fp4")
    assert (row.result, row.raw["language"]) == ("frozen", "inconclusive")


def test_rounds_that_waited_for_a_worker_do_not_count_as_two_in_a_row(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    late = claimed(model, INTERVAL)
    rounds.work(late.pk)  # a worker came only now
    late.refresh_from_db()
    assert datetime.now(UTC) - late.started_at < timedelta(minutes=1)
    assert rounds.claim_due(model, now=datetime.now(UTC)) is None, "not due so soon after the start"


def test_a_worker_that_lost_its_lease_closes_nothing(model: RoutedModel) -> None:
    round_ = claimed(model)
    first = rounds._take(round_.pk)
    Round.objects.filter(pk=round_.pk).update(leased_until=datetime.now(UTC) - timedelta(seconds=1))
    second = rounds._take(round_.pk)
    assert first is not None
    assert second is not None
    assert rounds.close(round_, first) is None
    rounds._stop(round_, first, "late")
    rounds._skip(round_, first, "late")
    round_.refresh_from_db()
    assert (round_.status, round_.lease_owner) == (RoundStatus.RUNNING, second)
    assert rounds.close(round_, second) is not None


def test_our_side_is_not_forgotten_over_a_takeover(sandbox: SandboxGateway, model: RoutedModel) -> None:
    round_ = claimed(model)
    for tag in EVERYBODY:
        make_endpoint(model, tag)
    rounds._plan(round_, planning.EVERYTHING)
    run = ProbeRun.objects.filter(round=round_).order_by("pk")[:1].get()
    ProbeRun.objects.filter(pk=run.pk).update(
        state="done",
        verdict="inconclusive",
        reason="our_side",
        sent_at=datetime.now(UTC),
        done_at=datetime.now(UTC),
    )
    stopped = rounds.work(round_.pk)
    assert stopped is not None
    assert (stopped.status, stopped.is_scored) == (RoundStatus.STOPPED, False)
    assert sandbox.served() == []


def test_two_providers_that_refuse_the_rate_in_one_round_are_our_side(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    for tag in ("north/fp8", "south"):
        sandbox.faults(tag, {"kind": "rate_limited"})
    assert worked(model).status == RoundStatus.STOPPED


def test_one_provider_that_refuses_the_rate_is_unreachable_and_its_round_frozen(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("north/fp8", {"kind": "rate_limited"})
    done = worked(model)
    row = EndpointRound.objects.get(round=done, endpoint__tag="north/fp8")
    assert (done.status, row.result, row.reasons["latency"]) == (RoundStatus.CLOSED, "frozen", "rate_limited")


@pytest.mark.parametrize(
    "usage",
    [
        pytest.param(Usage(prompt_tokens=-1), id="negative tokens"),
        pytest.param(Usage(completion_tokens=10**12), id="more tokens than a column holds"),
        pytest.param(Usage(cost_usd=Decimal(10**9)), id="more dollars than a column holds"),
        pytest.param(Usage(cost_usd=Decimal(-5)), id="negative dollars"),
    ],
)
def test_a_number_no_column_holds_costs_nobody_else_the_round(model: RoutedModel, usage: Usage) -> None:
    round_ = make_round(model, status="running")
    run = make_run(
        round_,
        make_endpoint(model),
        state=RunState.SENT,
        verdict="",
        reason="",
        sent_at=datetime.now(UTC),
        done_at=None,
    )
    probe = probe_of(Contract.LATENCY)
    request = probe.request(ModelFacts(slug=MODEL), language="en", variant=0, limit_s=1)
    exchange = Exchange(
        status=200,
        text="The harbour.",
        finish_reason="stop",
        first_text_ms=5.0,
        first_token_ms=5.0,
        usage=usage,
        has_done=True,
    )
    run_records.judge_and_store(run, probe, request, exchange, Attribution.PINNED)
    run.refresh_from_db()
    assert run.state == RunState.DONE
    assert run.cost_usd is None or 0 <= run.cost_usd < 1000
    assert rounds.close(round_, round_.lease_owner) is not None


def test_a_judge_that_stumbles_is_our_fault_and_inconclusive(model: RoutedModel) -> None:
    run = make_run(
        make_round(model, status="running"), make_endpoint(model),
        state=RunState.SENT, verdict="", reason="", sent_at=datetime.now(UTC), done_at=None,
    )  # fmt: skip
    probe = probe_of(Contract.LANGUAGE)
    request = probe.request(ModelFacts(slug=MODEL), language="en", variant=0, limit_s=1)
    broken = Exchange(status=200, text=None, finish_reason="stop")  # type: ignore[arg-type]
    with pytest.raises(AttributeError):
        broken.text.strip()
    judged = run_records._judge(run, probe, request, broken, Attribution.PINNED)[0]
    assert (judged.verdict, judged.reason) == (Verdict.INCONCLUSIVE, Reason.AMBIGUOUS)


def test_a_beginning_whose_events_were_lost_says_nothing(model: RoutedModel) -> None:
    run = make_run(make_round(model, status="running"), make_endpoint(model), "filtering")
    passed = Judgement(verdict=Verdict.PASS, reason=Reason.OK)
    text = ", and the harbour lay still under the morning fog while gulls cried."
    whole = Exchange(status=200, text=text, finish_reason="stop")
    harmed = Exchange(status=200, text=text, finish_reason="stop", malformed_events=1)
    assert run_records._evidence(run, passed, whole)["begins_corrupt"] is True
    assert "begins_corrupt" not in run_records._evidence(run, passed, harmed)


def test_an_error_up_to_5_s_past_the_limit_is_unreachable_live_too(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults(
        "faulty/fp4", {"kind": "slow_first_token", "seconds": 1.5}, {"kind": "error_midstream", "at": 0}
    )
    row = EndpointRound.objects.get(round=worked(model), endpoint__tag="faulty/fp4")
    assert row.raw["latency"] == "unreachable", row.reasons


def test_one_models_fault_stops_no_other_models_rounds(model: RoutedModel) -> None:
    make_model("acme/bad", policy={"floor": "many"})
    broken = make_endpoint(make_model("acme/worse"), "a")
    make_standing(broken, culprits=[{"contract": "gone", "language": None}])
    handed = rounds.tick()
    assert Round.objects.filter(pk__in=handed, model=model).exists()


def test_a_model_that_never_finished_a_round_turns_blind(model: RoutedModel) -> None:
    RoutedModel.objects.filter(pk=model.pk).update(created_at=datetime.now(UTC) - 4 * INTERVAL)
    rounds.tick()
    assert Decision.objects.filter(action="blind", rule="C20").count() == 1


def test_a_lasting_common_cause_is_recorded_each_round_and_told_once(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    for tag in EVERYBODY:
        sandbox.faults(tag, MIXES)
    for ago in (3, 2, 1):
        worked(model, ago * INTERVAL)
    assert Decision.objects.filter(action="common_cause", rule="C13").count() == 3
    assert Notification.objects.filter(subject__contains="common cause").count() == 1
    assert not Suspension.objects.exists()


def priced(model: RoutedModel, tag: str, **values: bool) -> int:
    endpoint = make_endpoint(model, tag, **values)
    make_capability(endpoint, prompt_price=Decimal("0.001"), completion_price=Decimal("0.001"))
    return endpoint.pk


def test_near_the_end_of_the_budget_what_is_essential_and_the_controls_are_kept(model: RoutedModel) -> None:
    culprit = {
        "contract": "latency", "language": None, "since": NOW.isoformat(), "asked_at": NOW.isoformat(),
        "latest": "fail", "dry_rounds": 0, "in_streak": True, "is_held": False,
    }  # fmt: skip
    ill = priced(model, "ill")
    Standing.objects.create(endpoint_id=ill, failing_streak=1, culprits=[culprit])
    priced(model, "control", is_control=True)
    priced(model, "well")
    RoutedModel.objects.filter(pk=model.pk).update(budget_usd=Decimal("2.5"))
    stage = planning.plan(claimed(model), rotation="en", usual_variant=0)
    owed = set(ProbeRun.objects.values_list("endpoint__tag", "contract"))
    assert stage is BudgetStage.ESSENTIAL
    assert ("control", "filtering") in owed
    assert {tag for tag, _ in owed} == {"ill", "control"}
    assert ("control", "latency") not in owed


def test_an_exhausted_budget_counts_as_blind_at_once(model: RoutedModel) -> None:
    priced(model, "x")
    RoutedModel.objects.filter(pk=model.pk).update(budget_usd=Decimal(0))
    round_ = claimed(model)
    rounds._plan(round_, planning.EVERYTHING)
    rounds.close(round_, round_.lease_owner)
    assert "blind" in ModelStanding.objects.get(model=model).episodes


def test_the_inputs_of_a_decision_are_those_it_was_taken_on(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    for ago in (4, 3):
        worked(model, ago * INTERVAL)
    sandbox.faults("faulty/fp4")
    for ago in (2, 1):
        worked(model, ago * INTERVAL)
    recovered = Decision.objects.get(action="recover")
    assert recovered.inputs["clean"] == 2
    assert recovered.inputs["culprits"][0][0] == "language"


def test_a_model_switched_off_after_the_claim_is_not_probed(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    round_ = claimed(model)
    enforcement.set_mode(model.pk, Mode.OFF, actor="test", reason="stop")
    rounds.work(round_.pk)
    assert sandbox.served() == []
    assert not Decision.objects.filter(action="blind").exists()


def test_a_contract_in_a_lower_mode_ends_what_rests_on_it_and_restarts_every_streak(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    for ago in (2, 1):
        worked(model, ago * INTERVAL)
    assert Suspension.objects.get().ended_at is None
    enforcement.set_contract_modes(model.pk, {"language": "observe"}, actor="owner", reason="too strict")
    held = Suspension.objects.get()
    assert held.end_kind == "mode"
    assert not Standing.objects.exclude(failing_streak=0).exists()
    assert Decision.objects.filter(action="mode", rule="C17").exists()


def test_a_tick_of_an_idle_fleet_takes_a_handful_of_queries(
    settings: Settings, django_assert_max_num_queries: Callable[..., object]
) -> None:
    for number in range(10):
        made = make_model(f"acme/m{number}")
        for lane in range(3):
            make_endpoint(made, f"h{lane}/fp8")
        opened = {"unproved": datetime.now(UTC).isoformat()}
        ModelStanding.objects.create(model=made, episodes=opened, last_closed_at=datetime.now(UTC))
    rounds.tick()
    Round.objects.update(status="closed", closed_at=datetime.now(UTC), leased_until=None)
    with django_assert_max_num_queries(6):  # type: ignore[attr-defined]
        rounds.tick()


def test_a_round_that_began_before_a_switch_of_mode_scores_nobody(
    sandbox: SandboxGateway, model: RoutedModel
) -> None:
    sandbox.faults("faulty/fp4", MIXES)
    round_ = claimed(model, 2 * INTERVAL)
    enforcement.set_mode(model.pk, Mode.OBSERVE, actor="owner", reason="watch first")
    rounds.work(round_.pk, started_at=round_.started_at)
    round_.refresh_from_db()
    assert (round_.status, round_.is_scored) == (RoundStatus.CLOSED, False)
    assert not Standing.objects.exclude(failing_streak=0).exists()
    assert worked(model, INTERVAL).is_scored
