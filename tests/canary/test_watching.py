"""Models are watched and changed with every step logged; what cannot be meant is refused."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from canary import watching
from canary.models import Standing
from canary.watching import BadSetting, Settings
from incidents.models import Decision, Notification
from routing.models import RoutedModel
from routing.versions import current_version
from tests import factories as make

pytestmark = pytest.mark.django_db


def test_a_model_is_watched_in_observe_mode_and_that_is_logged_and_told() -> None:
    before = current_version()
    wanted = Settings(interval_s=60, budget_usd=Decimal("1.5"), policy={"floor": 3})
    model = watching.watch(make.make_gateway().pk, " Acme/One ", wanted, actor="ann")
    model.refresh_from_db()
    assert (model.slug, model.mode, model.interval_s, model.policy) == (
        "acme/one",
        "observe",
        60,
        {"floor": 3},
    )
    row = Decision.objects.get()
    assert (row.action, row.rule, row.actor, row.model_slug) == ("mode", "C17", "ann", "acme/one")
    assert row.inputs["budget_usd"] == "1.5"
    assert Notification.objects.get().decision == row
    assert current_version() > before


def test_a_model_is_watched_once() -> None:
    make.make_model("acme/one")
    with pytest.raises(BadSetting, match="acme/one is watched already") as refused:
        watching.watch(make.make_gateway().pk, "acme/one", Settings(), actor="ann")
    assert refused.value.name == "slug"
    assert not Decision.objects.exists()


@pytest.mark.parametrize(
    ("values", "name", "sentence"),
    [
        pytest.param({"interval_s": 1}, "interval_s", "2 to 86400 seconds, not 1", id="too often"),
        pytest.param({"interval_s": 86401}, "interval_s", "not 86401", id="too seldom"),
        pytest.param({"budget_usd": Decimal("-0.01")}, "budget_usd", "not negative", id="negative budget"),
        pytest.param(
            {"preferences": {"onyl": []}}, "preferences", "no production preference", id="preference"
        ),
        pytest.param({"policy": {"flor": 3}}, "policy", "no policy value 'flor'", id="misspelt policy"),
        pytest.param({"policy": {"floor": -1}}, "policy", "floor must be from 0", id="negative floor"),
        pytest.param(
            {"policy": {"interval_s": 60}}, "policy", "a setting of its own", id="interval in the policy"
        ),
        pytest.param({"policy": []}, "policy", "JSON object", id="policy of the wrong kind"),
        pytest.param({"policy": {"min_gap": float("nan")}}, "policy", "min_gap must be", id="not a number"),
        pytest.param(
            {"policy": {"ladder_days": [1e300]}}, "policy", "ladder_days must", id="beyond the calendar"
        ),
        pytest.param(
            {"contract_modes": {"tone": "off"}}, "contract_modes", "no contract 'tone'", id="contract"
        ),
        pytest.param(
            {"contract_modes": {"latency": "enforce"}}, "contract_modes", "lower", id="no lower mode"
        ),
        pytest.param(
            {"contract_modes": ["latency"]}, "contract_modes", "JSON object", id="modes of the wrong kind"
        ),
    ],
)
def test_a_setting_that_cannot_be_meant_is_refused_by_name(
    values: dict[str, Any], name: str, sentence: str
) -> None:
    with pytest.raises(BadSetting, match=sentence) as refused:
        watching.checked(Settings(**values))
    assert refused.value.name == name


@pytest.mark.parametrize(
    "values",
    [{"interval_s": 2}, {"interval_s": 86400}, {"budget_usd": Decimal(0)}, {"policy": {"ladder_days": [36500]}},
     {"contract_modes": {"latency": "off", "filtering": "observe"}}],
)  # fmt: skip
def test_a_setting_at_its_edge_is_taken(values: dict[str, Any]) -> None:
    watching.checked(Settings(**values))


def test_a_change_is_logged_with_what_stood_there_before() -> None:
    model = make.make_model(policy={"floor": 2})
    before = current_version()
    changed = watching.change(model.pk, Settings(policy={"floor": 3}, preferences={"zdr": True}), actor="ann")
    assert set(changed) == {"policy", "preferences"}
    row = Decision.objects.get()
    assert (row.action, row.rule, row.actor) == ("policy", "C19", "ann")
    assert row.inputs == {
        "before": {"preferences": {}, "policy": {"floor": 2}},
        "after": {"preferences": {"zdr": True}, "policy": {"floor": 3}},
    }
    assert current_version() > before


def test_c17_a_changed_contract_mode_is_a_switch_that_restarts_streaks_and_ends_what_it_may_not_hold() -> (
    None
):
    model = make.make_model(mode="enforce")
    held, other = make.make_endpoint(model), make.make_endpoint(model, "other/fp8")
    culprit = {
        "contract": "language", "language": "de", "since": make.NOW.isoformat(), "asked_at": make.NOW.isoformat(),
        "latest": "fail", "dry_rounds": 0, "in_streak": True, "is_held": True,
    }  # fmt: skip
    make.make_standing(held, failing_streak=2, failed_contracts=[["language"]] * 2, culprits=[culprit])
    make.make_standing(other, clean_streak=3)
    started_at = timezone.now() - timedelta(hours=1)
    suspension = make.make_suspension(held, started_at=started_at, culprits=[["language", "de"]])
    before = current_version()
    wanted = Settings(contract_modes={"language": "observe"})
    assert watching.change(model.pk, wanted, actor="ann") == ("contract_modes",)
    model.refresh_from_db()
    suspension.refresh_from_db()
    assert model.contract_modes == {"language": "observe"}
    assert [(row.failing_streak, row.clean_streak) for row in Standing.objects.all()] == [(0, 0), (0, 0)]
    assert suspension.end_kind == "mode"
    switch, *ends = Decision.objects.order_by("pk")
    assert (switch.action, switch.rule, switch.actor) == ("mode", "C17", "ann")
    assert switch.inputs == {"from": {}, "to": {"language": "observe"}}
    assert [(row.action, row.endpoint_tag) for row in ends] == [("expire", "host/fp8")]
    assert current_version() > before


def test_c17_each_of_a_changed_mode_and_a_changed_setting_is_logged_once() -> None:
    model = make.make_model()
    wanted = Settings(interval_s=60, contract_modes={"latency": "off"})
    assert set(watching.change(model.pk, wanted, actor="ann")) == {"interval_s", "contract_modes"}
    rows = Decision.objects.order_by("pk")
    assert [(row.action, row.rule) for row in rows] == [("policy", "C19"), ("mode", "C17")]
    assert rows[0].inputs == {"before": {"interval_s": 1800}, "after": {"interval_s": 60}}
    assert watching.change(model.pk, wanted, actor="ann") == ()
    assert rows.count() == 2


def test_c17_a_setting_that_is_no_mode_restarts_no_streak() -> None:
    model = make.make_model(contract_modes={"latency": "off"})
    make.make_standing(make.make_endpoint(model), clean_streak=3)
    wanted = Settings(interval_s=60, contract_modes={"latency": "off"})
    assert watching.change(model.pk, wanted, actor="ann") == ("interval_s",)
    assert Standing.objects.get().clean_streak == 3


def test_a_change_of_nothing_is_no_decision() -> None:
    model = make.make_model()
    assert watching.change(model.pk, Settings(), actor="ann") == ()
    assert not Decision.objects.exists()


def test_a_refused_change_changes_nothing() -> None:
    model = make.make_model()
    with pytest.raises(BadSetting):
        watching.change(model.pk, Settings(interval_s=60, policy={"floor": -1}), actor="ann")
    assert RoutedModel.objects.get().interval_s == 1800


@pytest.mark.parametrize(
    ("name", "rule"), [("is_protected", "C14"), ("is_control", "C6"), ("is_probed", "C1")]
)
def test_a_mark_is_set_once_with_its_rule_and_reason(name: str, rule: str) -> None:
    endpoint = make.make_endpoint(make.make_model())
    is_on = not getattr(endpoint, name)
    assert watching.mark(endpoint.pk, name, is_on=is_on, actor="ann", reason="because")
    assert not watching.mark(endpoint.pk, name, is_on=is_on, actor="ann", reason="again")
    endpoint.refresh_from_db()
    assert getattr(endpoint, name) is is_on
    row = Decision.objects.get()
    assert (row.action, row.rule, row.endpoint_tag, row.inputs) == (
        "endpoint_flag",
        rule,
        "host/fp8",
        {name: is_on},
    )
    assert row.reason.endswith("because")


def test_a_mark_needs_a_reason() -> None:
    endpoint = make.make_endpoint(make.make_model())
    with pytest.raises(BadSetting, match="needs a reason"):
        watching.mark(endpoint.pk, "is_protected", is_on=True, actor="ann", reason="  ")
    endpoint.refresh_from_db()
    assert not endpoint.is_protected
