"""The pages of watched models and endpoints: add, settings, mode, marks, probe now."""

from typing import Any

import pytest
from django.urls import reverse
from pytest_django import Settings

from canary.models import Round
from incidents.models import Decision
from routing.models import Endpoint, RoutedModel
from tests import factories as make
from tests.canary.conftest import MODEL, SandboxGateway

ADD = reverse("admin:routing_routedmodel_add")
MODELS = reverse("admin:routing_routedmodel_changelist")
ENDPOINTS = reverse("admin:routing_endpoint_changelist")
SETTINGS = {
    "interval_s": 1800,
    "budget_usd": "2",
    "preferences": "{}",
    "policy": "{}",
    "contract_modes": "{}",
}

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def no_gateway(settings: Settings) -> None:
    """A gateway address at which nobody answers."""
    settings.OPENROUTER_BASE_URL = "http://127.0.0.1:9/api/v1"


def add(role: str = "owner", **values: Any) -> Any:
    """The answer to the filled-in form for a new model."""
    data = {"gateway": make.make_gateway().pk, "slug": MODEL, **SETTINGS, **values}
    return make.make_client(role).post(ADD, data, follow=True)


def test_the_only_gateway_is_chosen_beforehand() -> None:
    text = make.make_client("owner").get(ADD).content.decode()
    assert f'<option value="{make.make_gateway().pk}" selected>' in text


def test_a_new_model_is_first_shown_with_what_it_will_cost(sandbox: SandboxGateway) -> None:
    text = add().content.decode()
    assert "6 endpoints serve it now." in text
    assert "A round every 1800 s sends about 24 probes and costs an estimated 0.75 USD a day" in text
    assert 'type="checkbox" name="is_confirmed"' in text
    assert "Watch it" in text
    assert not RoutedModel.objects.exists()


def test_once_confirmed_it_is_watched_and_nothing_else_is_needed(sandbox: SandboxGateway) -> None:
    add(is_confirmed="on", preferences='{"quantizations": ["fp8"]}')
    model = RoutedModel.objects.get()
    assert (model.slug, model.mode, model.preferences) == (MODEL, "observe", {"quantizations": ["fp8"]})
    assert Decision.objects.get().actor == "owner"


def test_a_model_the_gateway_does_not_have_is_refused(sandbox: SandboxGateway) -> None:
    text = add(slug="acme/nothing").content.decode()
    assert "The gateway has no model acme/nothing." in text
    assert 'type="checkbox" name="is_confirmed"' not in text


def test_a_gateway_that_does_not_answer_is_said_and_need_not_stop_anybody(no_gateway: None) -> None:
    assert "The gateway could not be asked what it would cost" in add().content.decode()
    add(is_confirmed="on")
    assert RoutedModel.objects.get().slug == MODEL


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"slug": "qwen3"}, "is not a model slug: write author/name"),
        ({"policy": '{"flor": 3}'}, "There is no policy value"),
        ({"policy": "{"}, "Enter a valid JSON."),
        ({"preferences": '{"onyl": ["a"]}'}, "There is no production preference"),
        ({"contract_modes": '{"tone": "off"}'}, "There is no contract"),
        ({"interval_s": "1"}, "The interval is 2 to 86400 seconds"),
        ({"budget_usd": "-1"}, "A budget is not negative"),
    ],
)
def test_bad_input_gets_one_sentence_and_loses_nothing(
    no_gateway: None, values: dict[str, str], sentence: str
) -> None:
    text = add(is_confirmed="on", **values).content.decode()
    assert sentence in text
    shown = text.replace("&quot;", '"')
    assert all(value in shown for value in values.values())
    assert not RoutedModel.objects.exists()


def test_a_model_that_is_watched_already_is_said_without_asking_the_gateway(no_gateway: None) -> None:
    make.make_model(MODEL)
    text = add(slug=MODEL.upper()).content.decode()
    assert "already exists" in text
    assert "could not be asked" not in text


def test_settings_are_changed_and_logged_and_the_mode_is_none_of_them() -> None:
    model = make.make_model(mode="enforce")
    address = reverse("admin:routing_routedmodel_change", args=[model.pk])
    client = make.make_client("owner")
    assert 'name="mode"' not in client.get(address).content.decode()
    client.post(address, {**SETTINGS, "interval_s": 60, "policy": '{"floor": 3}', "mode": "off"})
    model.refresh_from_db()
    assert (model.interval_s, model.policy, model.mode) == (60, {"floor": 3}, "enforce")
    assert Decision.objects.get().inputs["before"] == {"interval_s": 1800, "policy": {}}


def test_an_operator_changes_no_settings() -> None:
    model = make.make_model()
    client = make.make_client("operator")
    client.post(reverse("admin:routing_routedmodel_change", args=[model.pk]), {**SETTINGS, "interval_s": 60})
    model.refresh_from_db()
    assert model.interval_s == 1800


def test_the_mode_is_switched_on_its_own_page_with_a_reason_and_its_consequences() -> None:
    model = make.make_model(mode="enforce")
    endpoint = make.make_endpoint(model)
    make.make_suspension(endpoint, started_at=make.soon(-1), ends_at=make.soon(24))
    address = reverse("admin:routing_routedmodel_mode", args=[model.pk])
    client = make.make_client("owner")
    text = client.get(address).content.decode()
    assert "suspensions in force: 1; would-suspends: 0" in text
    assert "Nobody has judged" in text
    assert (
        "This field is required" in client.post(address, {"mode": "observe", "reason": " "}).content.decode()
    )
    client.post(address, {"mode": "observe", "reason": "first look"})
    model.refresh_from_db()
    assert model.mode == "observe"
    assert Decision.objects.get(action="mode").reason.endswith("first look")
    assert not model.endpoints.get().suspensions.filter(ended_at__isnull=True).exists()


def test_an_operator_switches_no_mode() -> None:
    model = make.make_model()
    address = reverse("admin:routing_routedmodel_mode", args=[model.pk])
    assert make.make_client("operator").post(address, {"mode": "off", "reason": "no"}).status_code == 403
    model.refresh_from_db()
    assert model.mode == "observe"


def test_the_share_of_false_positives_stands_beside_the_switch() -> None:
    model = make.make_model()
    for number, judgement in enumerate(["false positive", *["correct"] * 4]):
        make.make_suspension(make.make_endpoint(model, f"h{number}"), judgement=judgement)
    address = reverse("admin:routing_routedmodel_mode", args=[model.pk])
    text = make.make_client("owner").get(address).content.decode()
    assert "False positives: 1 of 5 judged, 20%; with 95 % confidence 4% to 62%." in text


def run(role: str, address: str, action: str, *rows: Any, **values: Any) -> Any:
    """The answer to an action on some rows."""
    data = {"action": action, "_selected_action": [row.pk for row in rows], "index": 0, **values}
    return make.make_client(role).post(address, data, follow=True)


def test_an_operator_asks_for_a_round_by_hand_and_is_told_when_one_runs() -> None:
    model = make.make_model()
    assert "Rounds asked for: 1" in run("operator", MODELS, "probe_now", model).content.decode()
    assert Round.objects.get().is_manual
    text = run("owner", MODELS, "probe_now", model).content.decode()
    assert "A round of acme/one is running" in text
    assert Round.objects.count() == 1


def test_a_viewer_asks_for_nothing() -> None:
    run("viewer", MODELS, "probe_now", make.make_model())
    assert not Round.objects.exists()


def test_an_owner_protects_an_endpoint_with_a_reason() -> None:
    endpoint = make.make_endpoint(make.make_model())
    assert (
        "Change the marks of endpoints" in run("owner", ENDPOINTS, "change_marks", endpoint).content.decode()
    )
    client = make.make_client("operator")
    data = {
        "action": "change_marks",
        "_selected_action": [endpoint.pk],
        "apply": "yes",
        "mark": "protect",
        "reason": "r",
    }
    client.post(ENDPOINTS, data)
    assert not Endpoint.objects.get().is_protected, "an operator may not"


def test_a_mark_is_set_on_every_chosen_endpoint() -> None:
    model = make.make_model()
    endpoints = [make.make_endpoint(model, tag) for tag in ("a", "b")]
    text = run(
        "owner", ENDPOINTS, "change_marks", *endpoints, apply="yes", mark="protect", reason="key account"
    )
    assert "Endpoints marked: 2." in text.content.decode()
    assert Endpoint.objects.filter(is_protected=True).count() == 2
    assert {row.reason for row in Decision.objects.all()} == {"Protected on: key account"}


def test_the_marks_page_keeps_what_was_typed_when_something_is_missing() -> None:
    endpoint = make.make_endpoint(make.make_model())
    text = run(
        "owner", ENDPOINTS, "change_marks", endpoint, apply="yes", mark="protect", reason=""
    ).content.decode()
    assert "This field is required" in text
    assert 'value="protect"' in text
    assert "checked" in text
    assert not Endpoint.objects.get().is_protected


def test_an_endpoints_page_shows_its_state_and_leads_to_the_exclusion_form() -> None:
    endpoint = make.make_endpoint(make.make_model(mode="enforce"))
    make.make_standing(endpoint, culprits=[], failing_streak=2)
    make.make_suspension(endpoint, started_at=make.soon(-1), ends_at=make.soon(24))
    address = reverse("admin:routing_endpoint_change", args=[endpoint.pk])
    text = make.make_client("owner").get(address).content.decode()
    assert "suspended" in text
    assert "language (de) · level 1" in text
    assert f"entry=host%2Ffp8&amp;model={endpoint.model_id}" in text
