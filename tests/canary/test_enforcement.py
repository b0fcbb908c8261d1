"""Decisions applied to rows, under the model's lock (C14, C16-C19)."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from django.db import transaction
from django.db.utils import DatabaseError

from canary import enforcement, reviews
from canary.domain.pooling import Pooled
from canary.domain.verdicts import Contract, Reason, Verdict
from canary.enforcement import ClosedRound, NotActive
from canary.models import ModelStanding, Review, Round, RoundStatus, Standing, Suspension
from incidents.models import Decision, Notification
from routing import exclusions
from routing.domain.modes import Mode
from routing.models import Exclusion, RoutedModel
from tests.factories import make_endpoint, make_model, make_standing, make_user

pytestmark = pytest.mark.django_db

START = datetime.now(UTC).replace(microsecond=0) - timedelta(hours=6)
INTERVAL = timedelta(minutes=30)
FAILS = {Contract.LATENCY: Verdict.FAIL}
PASSES = {Contract.LATENCY: Verdict.PASS}


@pytest.fixture
def model() -> RoutedModel:
    """An enforcing model with four reachable endpoints of four providers."""
    made = make_model("acme/one", mode="enforce")
    for tag in ("a/fp8", "b", "c", "d"):
        make_standing(make_endpoint(made, tag))
    return made


def close(model: RoutedModel, number: int, verdicts: Mapping[str, Mapping[Contract, Verdict]]) -> Round:
    """Close the scheduled round `number` (half an hour apart); endpoints not named pass."""
    round_ = Round.objects.create(model=model, slot=number, started_at=START + number * INTERVAL)
    pooled = {
        endpoint.pk: Pooled(
            verdicts=verdicts.get(endpoint.tag, PASSES),
            reasons={Contract.LATENCY: Reason.NO_TEXT_IN_LIMIT}
            if endpoint.tag in verdicts
            else {Contract.LATENCY: Reason.OK},
        )
        for endpoint in model.endpoints.all()
    }
    enforcement.close_round(ClosedRound(round_id=round_.pk, pooled=pooled, languages={}))
    round_.refresh_from_db()
    return round_


def suspend(model: RoutedModel, tag: str = "a/fp8") -> Suspension:
    for number in (0, 1):
        close(model, number, {tag: FAILS})
    return Suspension.objects.get(endpoint__tag=tag)


def actions() -> list[tuple[str, str]]:
    kept = Decision.objects.exclude(action="unproved").order_by("pk")
    return [(row.action, row.endpoint_tag) for row in kept]


def test_a_suspension_is_rows_a_decision_and_a_message_in_one_transaction(model: RoutedModel) -> None:
    held = suspend(model)
    assert held.exclusion is not None
    assert held.exclusion.entry == "a/fp8"
    assert held.culprits == [["latency", None]]
    decision = Decision.objects.get(action="suspend")
    assert (decision.rule, decision.is_enforced, decision.mode, decision.actor) == (
        "C12",
        True,
        "enforce",
        "canary",
    )
    assert decision.inputs["failing"] == 2
    assert decision.inputs["providers_in_production"] == ["b", "c", "d"]
    assert Notification.objects.filter(decision=decision, severity="warning").count() == 1


def test_closing_a_round_again_changes_nothing(model: RoutedModel) -> None:
    suspend(model)
    before = (
        list(Decision.objects.values_list("pk")),
        Standing.objects.get(endpoint__tag="a/fp8").failing_streak,
    )
    closed = Round.objects.order_by("slot").last()
    assert closed is not None
    assert enforcement.close_round(ClosedRound(round_id=closed.pk, pooled={}, languages={})) is None
    after = (
        list(Decision.objects.values_list("pk")),
        Standing.objects.get(endpoint__tag="a/fp8").failing_streak,
    )
    assert before == after


def test_the_floor_refuses_in_every_failing_round_and_tells_once(model: RoutedModel) -> None:
    model.endpoints.filter(tag__in=["c", "d"]).update(is_serving=False, left_at=START)
    for number in range(4):
        close(model, number, {"a/fp8": FAILS})
    assert actions() == [("refuse", "a/fp8")] * 3
    assert Notification.objects.filter(key__contains=":refuse:").count() == 1
    assert not Suspension.objects.exists()


def test_a_protected_endpoint_is_recorded_and_stays(model: RoutedModel) -> None:
    model.endpoints.filter(tag="a/fp8").update(is_protected=True)
    for number in range(3):
        close(model, number, {"a/fp8": FAILS})
    assert actions() == [("protect", "a/fp8")] * 2
    assert Notification.objects.filter(key__contains=":protect:").count() == 1


def test_an_endpoint_excluded_by_another_tier_is_scored_and_not_suspended(model: RoutedModel) -> None:
    new = exclusions.NewExclusion(entry="a/fp8", reason="known", actor="test", model_pk=model.pk)
    row = exclusions.add_runtime(new, now=START - INTERVAL)
    for number in (0, 1, 2):
        close(model, number, {"a/fp8": FAILS})
    assert not Suspension.objects.exists()
    assert Standing.objects.get(endpoint__tag="a/fp8").failing_streak == 3
    exclusions.lift_runtime(row.pk, reason="try again", actor="test", now=datetime.now(UTC))
    close(model, 3, {"a/fp8": FAILS})
    assert Suspension.objects.get().endpoint.tag == "a/fp8"


def test_switching_to_observe_ends_active_suspensions_at_once(model: RoutedModel) -> None:
    held = suspend(model)
    enforcement.set_mode(model.pk, Mode.OBSERVE, actor="owner", reason="too many")
    held.refresh_from_db()
    assert held.end_kind == "mode"
    assert held.exclusion is not None
    assert held.exclusion.lifted_at is not None
    assert [action for action, _ in actions()] == ["suspend", "mode", "expire"]
    enforcement.set_mode(model.pk, Mode.ENFORCE, actor="owner", reason="again")
    assert not Suspension.objects.filter(ended_at__isnull=True).exists(), "not revived"
    assert not Standing.objects.exclude(failing_streak=0).exists()


def test_the_switch_turns_suspensions_into_shadows(model: RoutedModel) -> None:
    exclusions.stop_enforcement(actor="owner", reason="drill", now=datetime.now(UTC))
    held = suspend(model)
    assert held.is_shadow
    assert not Exclusion.objects.exists()
    exclusions.resume_enforcement(actor="owner", reason="drill over", now=datetime.now(UTC))
    close(model, 2, {"a/fp8": FAILS})
    assert Suspension.objects.get(ended_at__isnull=True).is_shadow is False


def test_a_contract_in_a_lower_mode_only_makes_shadows(model: RoutedModel) -> None:
    RoutedModel.objects.filter(pk=model.pk).update(contract_modes={"latency": "observe"})
    assert suspend(model).is_shadow


def test_a_lift_needs_a_reason_frees_the_endpoint_and_clears_its_streak(model: RoutedModel) -> None:
    held = suspend(model)
    with pytest.raises(ValueError, match="needs a reason"):
        enforcement.lift_suspension(held.pk, actor="op", reason=" ", is_false_positive=False)
    enforcement.lift_suspension(held.pk, actor="op", reason="provider fixed it", is_false_positive=True)
    held.refresh_from_db()
    assert (held.end_kind, held.judgement) == ("lift", "false positive")
    standing = Standing.objects.get(endpoint__tag="a/fp8")
    assert (standing.failing_streak, standing.culprits) == (0, [])
    decision = Decision.objects.get(action="lift")
    assert (decision.rule, decision.actor) == ("C18", "op")
    with pytest.raises(NotActive, match="has ended already"):
        enforcement.lift_suspension(held.pk, actor="op", reason="again", is_false_positive=False)


def test_lifted_not_again_before_a_time_is_refused_until_then(model: RoutedModel) -> None:
    held = suspend(model)
    enforcement.lift_suspension(
        held.pk, actor="op", reason="known", is_false_positive=False, not_before=START + 5 * INTERVAL
    )
    Suspension.objects.filter(pk=held.pk).update(
        ended_at=START + 1.5 * INTERVAL
    )  # before the rounds that follow
    for number in range(2, 6):
        close(model, number, {"a/fp8": FAILS})
    assert [action for action, _ in actions()] == ["suspend", "lift", "refuse", "refuse", "suspend"]


def test_judging_an_open_one_a_false_positive_lifts_it(model: RoutedModel) -> None:
    held = suspend(model)
    reviews.judge(held.pk, Review.FALSE_POSITIVE, user=make_user("operator"), reason="slow link on our side")
    held.refresh_from_db()
    assert (held.end_kind, held.judgement) == ("lift", "false positive")
    assert [action for action, _ in actions()] == ["suspend", "lift", "review"]


def test_a_suspension_ends_by_itself_and_the_endpoint_is_free(model: RoutedModel) -> None:
    held = suspend(model)
    Suspension.objects.filter(pk=held.pk).update(ends_at=held.started_at + timedelta(minutes=1))
    Standing.objects.filter(endpoint__tag="a/fp8").update(failing_streak=0)
    enforcement.advance_model(model.pk)
    held.refresh_from_db()
    assert held.end_kind == "expire"
    assert held.ended_at == held.ends_at


def test_at_its_end_a_still_failing_endpoint_gets_the_next_rung(model: RoutedModel) -> None:
    held = suspend(model)
    end = held.started_at + timedelta(minutes=1)
    Suspension.objects.filter(pk=held.pk).update(ends_at=end)
    enforcement.advance_model(model.pk)
    held.refresh_from_db()
    renewed = Suspension.objects.get(ended_at__isnull=True)
    assert held.end_kind == "renew"
    assert (renewed.level, renewed.started_at) == (2, end)
    assert renewed.ends_at == end + timedelta(days=3)
    assert Exclusion.objects.filter(lifted_at__isnull=True).get().expires_at == renewed.ends_at
    assert [action for action, _ in actions()] == ["suspend", "renew"]


def test_a_control_that_passes_weakens_the_probe_and_is_told_on_change(model: RoutedModel) -> None:
    model.endpoints.filter(tag="d").update(is_control=True)
    passed = {"d": {Contract.FILTERING: Verdict.PASS, Contract.LATENCY: Verdict.PASS}}
    closed = [close(model, number, passed) for number in (0, 1)]
    assert all(round_.is_weakened for round_ in closed)
    assert Decision.objects.filter(action="weakened", rule="C6").count() == 2
    assert Notification.objects.filter(key__contains=":weakened:").count() == 1
    close(model, 2, {"d": {Contract.FILTERING: Verdict.FAIL, Contract.LATENCY: Verdict.PASS}})
    assert "weakened" not in ModelStanding.objects.get(model=model).episodes


def test_without_a_control_filtering_is_unproved_and_told_once(model: RoutedModel) -> None:
    for number in (0, 1):
        close(model, number, {})
    assert Decision.objects.filter(action="unproved", rule="C6").count() == 1
    assert "unproved" in ModelStanding.objects.get(model=model).episodes


def _suspend_twice(model: RoutedModel) -> None:
    """Close the second failing round, then write what is impossible: a second active suspension."""
    close(model, 1, {"a/fp8": FAILS})
    endpoint = model.endpoints.get(tag="a/fp8")
    Suspension.objects.create(
        endpoint=endpoint, is_shadow=True, level=1, started_at=START, ends_at=START + timedelta(days=1)
    )


def test_a_failed_write_leaves_no_decision_behind(model: RoutedModel) -> None:
    """The decision is in the transaction of its effect: without the effect there is none."""
    close(model, 0, {"a/fp8": FAILS})
    with pytest.raises(DatabaseError), transaction.atomic():
        _suspend_twice(model)
    assert actions() == []
    assert Round.objects.filter(status=RoundStatus.CLOSED).count() == 1


def test_the_log_names_policy_mode_and_inputs_of_every_automatic_decision(model: RoutedModel) -> None:
    suspend(model)
    close(model, 2, {})
    close(model, 3, {})
    for decision in Decision.objects.filter(action__in=["suspend", "recover"]):
        assert decision.policy["interval_s"] == 1800
        assert decision.mode == "enforce"
        assert "providers_in_production" in decision.inputs


def test_what_a_round_found_before_a_lift_does_not_count_after_it(model: RoutedModel) -> None:
    held = suspend(model)
    enforcement.lift_suspension(held.pk, actor="op", reason="fixed", is_false_positive=True)
    close(model, 2, {"a/fp8": FAILS})
    standing = Standing.objects.get(endpoint__tag="a/fp8")
    assert (standing.failing_streak, standing.culprits) == (0, [])


def test_without_its_control_a_probe_is_weakened_no_longer(model: RoutedModel) -> None:
    model.endpoints.filter(tag="d").update(is_control=True)
    close(model, 0, {"d": {Contract.FILTERING: Verdict.PASS, Contract.LATENCY: Verdict.PASS}})
    assert "weakened" in ModelStanding.objects.get(model=model).episodes
    model.endpoints.filter(tag="d").update(is_control=False)
    close(model, 1, {})
    assert "weakened" not in ModelStanding.objects.get(model=model).episodes
