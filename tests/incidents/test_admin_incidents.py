"""The pages of the decision log, which change nothing, and of the outbox."""

from typing import Any

import pytest
from django.urls import reverse

from incidents.models import Delivery, Notification
from tests import factories as make

DECISIONS = reverse("admin:incidents_decision_changelist")
NOTIFICATIONS = reverse("admin:incidents_notification_changelist")

pytestmark = pytest.mark.django_db


def notification(status: Delivery = Delivery.DEAD, **values: Any) -> Notification:
    """A notification in that state."""
    defaults = {
        "severity": "warning",
        "subject": "s",
        "body": "b",
        "created_at": make.NOW,
        "due_at": make.NOW,
    }
    return Notification.objects.create(
        key=status, status=status, sent_at=make.NOW, attempts=9, **{**defaults, **values}
    )


def test_a_decision_has_a_page_of_its_own_with_everything_it_says() -> None:
    row = make.make_decision(
        endpoint_tag="host/fp8", model_slug="acme/one", round_id="0b9f3a2e-0000-4000-8000-000000000000", level=2,
        inputs={"failing": 2}, policy={"floor": 3}, evidence={"failed_runs": [{"id": 7}]}, is_enforced=True,
    )  # fmt: skip
    text = (
        make.make_client("viewer")
        .get(reverse("admin:incidents_decision_change", args=[row.pk]))
        .content.decode()
    )
    for part in ("C12", "host/fp8", "acme/one", "0b9f3a2e", "failing", "floor", "failed_runs", "enforced"):
        assert part in text
    assert 'type="submit" value="Save"' not in text


def test_decisions_are_found_by_search_and_filter() -> None:
    make.make_decision(endpoint_tag="host/fp8", reason="failed twice")
    make.make_decision(endpoint_tag="other", action="lift", rule="C18", reason="by hand")
    client = make.make_client("viewer")
    assert "host/fp8" not in client.get(DECISIONS, {"q": "by hand"}).content.decode()
    assert "<strong>other" not in client.get(DECISIONS, {"rule": "C12"}).content.decode()
    assert "<strong>other" in client.get(DECISIONS, {"action": "lift"}).content.decode()


@pytest.mark.parametrize("role", ["viewer", "operator", "owner"])
def test_nobody_changes_or_deletes_a_decision_in_the_admin(role: str) -> None:
    row = make.make_decision()
    client = make.make_client(role)
    assert (
        client.post(reverse("admin:incidents_decision_change", args=[row.pk]), {"reason": "x"}).status_code
        == 403
    )
    assert (
        client.post(reverse("admin:incidents_decision_delete", args=[row.pk]), {"post": "yes"}).status_code
        == 403
    )
    client.post(DECISIONS, {"action": "delete_selected", "_selected_action": [row.pk], "post": "yes"})
    row.refresh_from_db()
    assert row.reason == "failed twice"


def test_an_operator_sends_again_what_was_given_up_or_had_no_channel() -> None:
    rows = [notification(status) for status in Delivery]
    data = {"action": "send_again", "_selected_action": [row.pk for row in rows], "index": 0}
    text = make.make_client("operator").post(NOTIFICATIONS, data, follow=True).content.decode()
    assert "Put back into the outbox: 2 of 4." in text
    assert Notification.objects.filter(status=Delivery.PENDING, attempts=0).count() == 2


def test_a_viewer_sends_nothing_again() -> None:
    row = notification()
    data = {"action": "send_again", "_selected_action": [row.pk], "index": 0}
    make.make_client("viewer").post(NOTIFICATIONS, data)
    row.refresh_from_db()
    assert row.status == Delivery.DEAD


@pytest.mark.parametrize(
    ("status", "is_offered"),
    [(Delivery.DEAD, True), (Delivery.UNADDRESSED, True), (Delivery.PENDING, False), (Delivery.SENT, False)],
)
def test_its_page_shows_the_message_as_sent_and_offers_to_send_it_again(
    status: Delivery, is_offered: bool
) -> None:
    row = notification(
        status, decision=make.make_decision(endpoint_tag="host/fp8"), body="<b>Failed</b> twice."
    )
    address = reverse("admin:incidents_notification_change", args=[row.pk])
    text = make.make_client("operator").get(address).content.decode()
    assert "&lt;b&gt;Failed&lt;/b&gt; twice." in text
    assert "Endpoint: host/fp8" in text
    assert ("Send again" in text) is is_offered
