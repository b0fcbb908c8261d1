"""Rules R1, R2 and R4 at the exclusion table: adding, lifting, names, confirmations, decisions."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.db import transaction

from incidents.models import Decision, Notification
from routing.domain.modes import Tier
from routing.exclusions import (
    BadExclusion,
    LeavesNothing,
    UnknownName,
    add_canary,
    add_runtime,
    end_canary,
    excluded_tags,
    lift_runtime,
    lock_all_models,
    lock_model,
    preview,
)
from routing.models import Exclusion
from routing.versions import current_version
from tests.routing.conftest import NOW, MakeModel, asked, decided, latest_decision, told

LATER = NOW + timedelta(hours=1)
WEEK = NOW + timedelta(days=7)


def suspend(endpoint, *, ends_at=WEEK, contracts=("language",)) -> Exclusion:
    with transaction.atomic():
        return add_canary(
            endpoint, expires_at=ends_at, reason="It failed twice.", contracts=contracts, now=NOW
        )


def test_adding_one_is_a_row_a_decision_something_told_and_a_new_version(
    make_model: MakeModel, ada: User
) -> None:
    model = make_model("alpha", "beta", "gamma")
    since, version = latest_decision(), current_version()
    row = add_runtime(asked(" Alpha ", model_pk=model.pk, expires_at=WEEK, user=ada), now=NOW)
    assert (row.tier, row.entry, row.model, row.created_by, row.expires_at) == (
        "runtime",
        "alpha",
        model,
        ada,
        WEEK,
    )
    assert decided(since) == [("exclude", "R1", "alpha")]
    assert told(since) == ["alpha is excluded for author/model until 2026-05-11 12:00 UTC"]
    assert current_version() == version + 1
    decision = Decision.objects.get(pk__gt=since)
    assert (decision.actor, decision.is_enforced, decision.until) == ("ada", True, WEEK)
    assert decision.reason.endswith("Wrong language, seen twice.")


def test_one_for_all_models_lasts_until_it_is_lifted_when_it_has_no_end(make_model: MakeModel) -> None:
    make_model("alpha", "beta", "gamma")
    since = latest_decision()
    row = add_runtime(asked("alpha"), now=NOW)
    assert (row.model, row.expires_at) == (None, None)
    assert told(since) == ["alpha is excluded for all models until it is lifted"]


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        pytest.param({"reason": "  "}, "A reason is needed.", id="no reason"),
        pytest.param({"reason": "x" * 501}, "A reason has at most 500 characters.", id="a reason too long"),
        pytest.param({"expires_at": NOW}, "An exclusion must end in the future.", id="an end that is now"),
        pytest.param({"entry": ""}, "A provider or endpoint name is empty.", id="no name"),
        pytest.param(
            {"entry": "No Name!"}, "'no name!' is not a provider slug or endpoint tag", id="no such name"
        ),
        pytest.param({"model_pk": 999}, "There is no model 999.", id="no such model"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_sentence_and_leaves_nothing_behind(
    make_model: MakeModel, columns, sentence: str
) -> None:
    make_model("alpha", "beta")
    since = latest_decision()
    with pytest.raises(BadExclusion, match=sentence):
        add_runtime(asked(**{"entry": "alpha", **columns}), now=NOW)
    with pytest.raises(BadExclusion, match=sentence):
        preview(asked(**{"entry": "alpha", **columns}), now=NOW)
    assert not Exclusion.objects.exists()
    assert decided(since) == []


def test_the_same_exclusion_twice_is_refused_until_the_first_has_ended(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    add_runtime(asked("alpha", model_pk=model.pk, expires_at=LATER), now=NOW)
    with pytest.raises(BadExclusion, match="alpha is excluded for author/model already"):
        add_runtime(asked("alpha", model_pk=model.pk), now=LATER - timedelta(seconds=1))
    assert add_runtime(asked("alpha"), now=NOW).model is None
    assert add_runtime(asked("alpha", model_pk=model.pk), now=LATER).expires_at is None


# R4: names are checked


def test_a_name_never_seen_is_refused_with_the_nearest_ones(make_model: MakeModel) -> None:
    make_model("open-inference/fp8", "beta")
    with pytest.raises(
        UnknownName, match=r"openinference was ever seen.* Did you mean open-inference"
    ) as caught:
        add_runtime(asked("openinference"), now=NOW)
    assert caught.value.nearest[0] == "open-inference"
    assert not Exclusion.objects.exists()


def test_a_name_never_seen_goes_through_when_confirmed_and_is_unmatched_and_told(
    make_model: MakeModel,
) -> None:
    make_model("alpha", "beta")
    since = latest_decision()
    assert add_runtime(asked("openinference", is_confirmed=True), now=NOW).is_unmatched
    assert decided(since) == [("exclude", "R1", "openinference"), ("unmatched", "R4", "openinference")]
    assert told(since)[1].startswith("openinference is excluded although no such name was ever seen")


@pytest.mark.parametrize("name", ["alpha", "alpha/fp8", "ALPHA/FP8"])
def test_every_slug_and_tag_ever_seen_is_accepted_for_any_model(make_model: MakeModel, name: str) -> None:
    make_model("alpha/fp8", "beta")
    other = make_model("gamma", slug="author/other")
    assert not add_runtime(asked(name, model_pk=other.pk), now=NOW).is_unmatched


# R2: one that leaves nothing


@pytest.mark.parametrize("is_for_all", [True, False])
def test_adding_one_that_leaves_nothing_asks_for_confirmation_with_that_sentence(
    make_model: MakeModel, is_for_all: bool
) -> None:
    model = make_model("alpha/fp8", "alpha/fp4")
    make_model("alpha/fp8", "beta", slug="author/other")
    request = {} if is_for_all else {"model_pk": model.pk}
    with pytest.raises(
        LeavesNothing, match="leaves no endpoint that could serve author/model: every request"
    ) as caught:
        add_runtime(asked("alpha", **request), now=NOW)
    assert caught.value.models == ("author/model",)
    assert not Exclusion.objects.exists()
    assert add_runtime(asked("alpha", is_confirmed=True, **request), now=NOW).pk


def test_adding_one_that_leaves_one_endpoint_needs_no_confirmation(make_model: MakeModel) -> None:
    model = make_model("alpha/fp8", "alpha/fp4")
    assert add_runtime(asked("alpha/fp8", model_pk=model.pk), now=NOW).pk


def test_one_that_may_give_way_leaves_something(make_model: MakeModel) -> None:
    make_model("alpha")
    assert add_runtime(asked("alpha", may_give_way=True), now=NOW).may_give_way


def test_where_suspended_endpoints_give_way_something_is_left_and_the_person_is_warned(
    make_model: MakeModel,
) -> None:
    model = make_model("alpha", "beta")
    suspend(model.endpoints.get(tag="alpha"))
    since = latest_decision()
    assert preview(asked("beta"), now=NOW) == (
        "Nothing else could serve author/model, so alpha would be let in again.",
    )
    add_runtime(asked("beta"), now=NOW)
    assert "alpha would be let in again" in Decision.objects.get(pk__gt=since).reason
    assert Notification.objects.get(decision__pk__gt=since).severity == "warning"


def test_with_an_unknown_or_day_old_catalogue_nothing_is_asked(make_model: MakeModel) -> None:
    model = make_model("alpha")
    assert add_runtime(asked("alpha", model_pk=model.pk), now=NOW + timedelta(hours=24)).pk


def test_capacity_below_the_floor_is_a_warning_only(make_model: MakeModel) -> None:
    make_model("alpha", "beta", "gamma")
    make_model("alpha", "beta", "gamma", slug="author/other", policy={"floor": 3})
    warning = "author/other keeps 2 of the 3 providers it should have."
    assert preview(asked("alpha"), now=NOW) == (warning,)
    add_runtime(asked("alpha"), now=NOW)
    assert preview(asked("beta"), now=NOW)[0] == "author/model keeps 1 of the 2 providers it should have."


# lifting


def test_lifting_ends_it_with_a_reason_a_decision_and_a_new_version(make_model: MakeModel, ada: User) -> None:
    make_model("alpha", "beta", "gamma")
    row = add_runtime(asked("alpha"), now=NOW)
    since, version = latest_decision(), current_version()
    lifted = lift_runtime(row.pk, reason="It answers well again.", actor="ada", user=ada, now=LATER)
    assert (lifted.lifted_at, lifted.lifted_by, lifted.lift_reason) == (LATER, ada, "It answers well again.")
    assert decided(since) == [("exclusion_lift", "R1", "alpha")]
    assert told(since) == ["The exclusion of alpha for all models is lifted"]
    assert current_version() == version + 1


def test_what_is_not_in_force_cannot_be_lifted(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    ended = add_runtime(asked("alpha", expires_at=LATER), now=NOW)
    suspended = suspend(model.endpoints.get(tag="beta"))
    with pytest.raises(BadExclusion, match="The exclusion of alpha has ended already"):
        lift_runtime(ended.pk, reason="why", actor="ada", now=LATER)
    with pytest.raises(BadExclusion, match="There is no runtime exclusion"):
        lift_runtime(suspended.pk, reason="why", actor="ada", now=NOW)
    with pytest.raises(BadExclusion, match="A reason is needed"):
        lift_runtime(ended.pk, reason=" ", actor="ada", now=NOW)
    lift_runtime(ended.pk, reason="why", actor="ada", now=NOW)
    with pytest.raises(BadExclusion, match="has ended already"):
        lift_runtime(ended.pk, reason="why", actor="ada", now=NOW)


# the canary's tier


def test_a_suspensions_exclusion_is_scoped_ends_and_raises_the_version(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    since, version = latest_decision(), current_version()
    row = suspend(model.endpoints.get(tag="alpha"), contracts={"language", "filtering"})
    assert (row.tier, row.entry, row.model, row.expires_at) == ("canary", "alpha", model, WEEK)
    assert row.contracts == ["filtering", "language"]
    assert current_version() == version + 1
    assert decided(since) == [], "the suspension's own decision says it"


def test_a_suspensions_exclusion_ends_once(make_model: MakeModel) -> None:
    row = suspend(make_model("alpha", "beta").endpoints.get(tag="alpha"))
    version = current_version()
    with transaction.atomic():
        assert end_canary(row, at=LATER, reason="Two clean rounds.")
        assert not end_canary(row, at=LATER, reason="Again.")
    assert (row.lifted_at, row.lift_reason) == (LATER, "Two clean rounds.")
    assert current_version() == version + 1


@pytest.mark.django_db(transaction=True)
def test_the_canarys_tier_and_the_locks_are_only_for_transactions(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta")
    endpoint = model.endpoints.get(tag="alpha")
    with pytest.raises(RuntimeError, match="belongs in the transaction of its decision"):
        add_canary(endpoint, expires_at=WEEK, reason="why", contracts=[], now=NOW)
    row = suspend(endpoint)
    with pytest.raises(RuntimeError, match="belongs in the transaction of its decision"):
        end_canary(row, at=LATER, reason="why")
    for lock in (lambda: lock_model(model.pk), lock_all_models):
        with pytest.raises(RuntimeError, match="belongs in the transaction of its decision"):
            lock()


def test_all_models_are_locked_in_the_order_of_their_keys(make_model: MakeModel) -> None:
    models = [make_model(slug=slug) for slug in ("author/z", "author/a", "author/m")]
    assert [model.pk for model in lock_all_models()] == [model.pk for model in models]
    assert lock_model(models[1].pk) == models[1]


# which endpoints the tiers hold


def test_excluded_tags_says_which_endpoints_the_chosen_tiers_hold(make_model: MakeModel) -> None:
    model = make_model("alpha/fp8", "alpha/flex", "beta", "gamma")
    add_runtime(asked("alpha", model_pk=model.pk), now=NOW)
    suspend(model.endpoints.get(tag="beta"))
    add_runtime(asked("gamma", model_pk=make_model(slug="author/other").pk), now=NOW)
    found = excluded_tags(model, now=NOW, tiers=(Tier.BUILTIN, Tier.RUNTIME))
    assert {tag: row.entry for tag, row in found.items()} == {"alpha/fp8": "alpha", "alpha/flex": "alpha"}
    assert set(excluded_tags(model, now=NOW, tiers=Tier)) == {"alpha/fp8", "alpha/flex", "beta"}
    assert set(excluded_tags(model, now=WEEK, tiers=Tier)) == {"alpha/fp8", "alpha/flex"}
