"""The pages of exclusions and of the switch: what is refused keeps everything typed, what is done is logged."""

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse

from incidents.models import Decision
from routing.models import EnforcementSwitch, Exclusion, RoutedModel
from tests import factories as make

ADD = reverse("admin:routing_exclusion_add")
LIST = reverse("admin:routing_exclusion_changelist")
SWITCH = reverse("admin:routing_enforcementswitch_changelist")

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def catalogue() -> None:
    """Three hosts that serve one model."""
    model = make.make_model("acme/one", discovered_at=make.soon(0))
    for tag in ("deepinfra/fp8", "fireworks", "together/bf16"):
        make.make_standing(make.make_endpoint(model, tag))


def add(role: str = "operator", **values: Any) -> str:
    """The page after the filled-in form was sent."""
    data = {"entry": "deepinfra", "reason": "cut off in production", "lasts": "7", **values}
    return str(make.make_client(role).post(ADD, data, follow=True).content.decode())


def test_an_exclusion_is_added_with_a_reason_and_ends_in_seven_days_unless_said_otherwise() -> None:
    assert '<option value="7" selected>' in make.make_client("operator").get(ADD).content.decode()
    assert "Excluded: deepinfra." in add()
    row = Exclusion.objects.get()
    assert (row.entry, row.tier, row.model, row.reason) == (
        "deepinfra",
        "runtime",
        None,
        "cut off in production",
    )
    assert row.expires_at is not None
    assert row.expires_at - row.created_at == timedelta(days=7)
    assert row.created_by is not None
    decision = Decision.objects.get()
    assert (decision.action, decision.actor) == ("exclude", "operator")


def test_until_it_is_lifted_is_a_choice() -> None:
    add(lasts="")
    assert Exclusion.objects.get().expires_at is None


def test_an_unknown_name_is_refused_with_the_nearest_and_nothing_typed_is_lost() -> None:
    text = add(entry="depinfra")
    assert "Did you mean deepinfra" in text
    assert 'value="depinfra"' in text
    assert "cut off in production" in text
    assert "Exclude it all the same" in text
    assert not Exclusion.objects.exists()


def test_an_unknown_name_goes_through_when_confirmed_and_is_marked() -> None:
    add(entry="newcomer", is_confirmed="on")
    assert Exclusion.objects.get().is_unmatched


def test_what_leaves_nothing_is_refused_with_that_sentence_until_confirmed() -> None:
    for entry in ("deepinfra", "fireworks"):
        add(entry=entry)
    text = add(entry="together")
    assert "no endpoint that could serve acme/one" in text
    assert "Exclude it all the same" in text
    assert Exclusion.objects.count() == 2
    add(entry="together", is_confirmed="on")
    assert Exclusion.objects.count() == 3


def test_falling_below_the_floor_is_warned_of() -> None:
    add(entry="deepinfra")
    assert "warning" in add(entry="fireworks")


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"entry": "two words"}, "is not a provider slug or endpoint tag"),
        ({"entry": ""}, "This field is required"),
        ({"reason": " "}, "This field is required"),
        ({"reason": "x" * 501}, "at most 500 characters"),
        ({"lasts": "9"}, "Select a valid choice"),
        ({"model": "999"}, "Select a valid choice"),
        ({"entry": "a\x00b"}, "Null characters are not allowed"),
    ],
)
def test_bad_input_gets_one_sentence(values: dict[str, str], sentence: str) -> None:
    assert sentence in add(**values)
    assert not Exclusion.objects.exists()


def test_a_link_may_fill_the_form_in() -> None:
    text = make.make_client("operator").get(f"{ADD}?entry=deepinfra/fp8").content.decode()
    assert 'value="deepinfra/fp8"' in text


def test_a_viewer_excludes_nothing() -> None:
    assert make.make_client("viewer").post(ADD, {"entry": "deepinfra", "reason": "r"}).status_code == 403
    assert not Exclusion.objects.exists()


def lift(role: str, *rows: Exclusion, **answers: Any) -> str:
    """The page after the action on these rows."""
    data = {"action": "lift", "_selected_action": [row.pk for row in rows], **answers}
    data |= {"apply": "yes"} if answers else {"index": 0}
    return str(make.make_client(role).post(LIST, data, follow=True).content.decode())


def test_lifting_asks_why_and_is_logged() -> None:
    row = make.make_exclusion("deepinfra")
    assert "Lift exclusions" in lift("operator", row)
    assert "This field is required" in lift("operator", row, reason="")
    assert Exclusion.objects.get().lifted_at is None
    assert "Exclusions lifted: 1." in lift("operator", row, reason="fixed")
    row.refresh_from_db()
    assert (row.lift_reason, row.lifted_at is not None) == ("fixed", True)
    assert Decision.objects.get().action == "exclusion_lift"


def test_what_cannot_be_lifted_here_says_why() -> None:
    ended = make.make_exclusion("deepinfra", lifted_at=make.NOW)
    text = lift("operator", ended, reason="twice")
    assert "The exclusion of deepinfra has ended already." in text
    assert ">twice</textarea>" in text.replace("\n", "")


def test_a_viewer_lifts_nothing() -> None:
    row = make.make_exclusion("deepinfra")
    lift("viewer", row, reason="because")
    row.refresh_from_db()
    assert row.lifted_at is None


def test_the_list_says_what_is_in_force_and_filters_by_it() -> None:
    make.make_exclusion("deepinfra")
    make.make_exclusion("fireworks", expires_at=make.NOW + timedelta(days=1))
    make.make_exclusion("together", lifted_at=make.NOW)
    client = make.make_client("viewer")
    text = client.get(LIST).content.decode()
    assert [words in text for words in ("in force</span>", "expired</span>", "lifted</span>")] == [True] * 3
    in_force = client.get(LIST, {"in_force": "yes"}).content.decode()
    ended = client.get(LIST, {"in_force": "no"}).content.decode()
    assert ("deepinfra" in in_force, "fireworks" in in_force) == (True, False)
    assert ("deepinfra</a>" in ended, "fireworks</a>" in ended, "together</a>" in ended) == (
        False,
        True,
        True,
    )


def test_the_page_of_an_exclusion_offers_to_lift_it_while_it_lasts() -> None:
    open_row, ended = make.make_exclusion("deepinfra"), make.make_exclusion("fireworks", lifted_at=make.NOW)
    canary = make.make_exclusion(
        "together/bf16", tier="canary", model=RoutedModel.objects.get(), expires_at=make.soon(1)
    )
    client = make.make_client("operator")
    pages = [
        client.get(reverse("admin:routing_exclusion_change", args=[row.pk]))
        for row in (open_row, ended, canary)
    ]
    assert ["Lift…" in page.content.decode() for page in pages] == [True, False, False]


def turn(role: str, way: str, reason: str) -> Any:
    """The answer to turning the switch."""
    return make.make_client(role).post(SWITCH, {"turn": way, "reason": reason}, follow=True)


def test_an_owner_stops_and_resumes_all_enforcement_with_a_reason() -> None:
    text = turn("owner", "stop", "incident 12").content.decode()
    assert EnforcementSwitch.objects.get().is_stopped
    assert "Enforcement is stopped." in text
    assert "incident 12" in text
    assert "Enforcement is stopped." in make.make_client("viewer").get(LIST).content.decode(), "on every page"
    assert "Enforcement is resumed." in turn("owner", "resume", "over").content.decode()
    assert not EnforcementSwitch.objects.get().is_stopped
    assert list(Decision.objects.order_by("pk").values_list("action", flat=True)) == ["stop", "resume"]


@pytest.mark.parametrize(
    ("way", "reason", "sentence"), [("stop", " ", "This field is required"), ("resume", "r", "already")]
)
def test_a_switch_that_cannot_be_turned_so_says_why(way: str, reason: str, sentence: str) -> None:
    assert sentence in turn("owner", way, reason).content.decode()
    assert not EnforcementSwitch.objects.get().is_stopped


@pytest.mark.parametrize("role", ["viewer", "operator"])
def test_nobody_below_an_owner_turns_the_switch(role: str) -> None:
    assert turn(role, "stop", "because").status_code == 403
    assert not EnforcementSwitch.objects.get().is_stopped
    assert "Stop all enforcement" not in make.make_client(role).get(SWITCH).content.decode()
