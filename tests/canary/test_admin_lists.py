"""What every page keeps: so many queries whatever the number of rows, and nothing inline that the CSP forbids."""

import re
from collections.abc import Mapping

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from incidents.models import Notification
from routing.models import Attempt, Endpoint, RoutedModel
from tests import factories as make
from tests.fleets import make_fleet

pytestmark = pytest.mark.django_db

# Queries of each list for a logged-in viewer, session, user, permissions and the switch included.
LISTS: Mapping[str, int] = {
    "canary_proberun": 8, "canary_round": 8, "canary_suspension": 8, "incidents_decision": 11,
    "incidents_notification": 7, "routing_attempt": 9, "routing_capability": 8, "routing_endpoint": 15,
    "routing_exclusion": 8, "routing_gateway": 7, "routing_givingway": 7, "routing_provider": 7,
    "routing_routedmodel": 8,
}  # fmt: skip
# One more where the time is the database server's.
ASKS_THE_CLOCK = ("routing_endpoint", "canary_suspension", "routing_exclusion")
INLINE = re.compile(r"<style|<script(?![^>]*\ssrc=)|\sstyle=|\son[a-z]+=|javascript:", re.IGNORECASE)


def make_rows() -> None:
    """A fleet, and rows of the kinds it lacks."""
    make_fleet(make.soon(0))
    for number in range(3):
        Attempt.objects.create(model_slug="acme/large", at=make.NOW)
        values = {"severity": "info", "subject": "s", "body": "b", "created_at": make.NOW, "due_at": make.NOW}
        Notification.objects.create(key=str(number), decision=make.make_decision(), **values)


def grow() -> None:
    """More of everything."""
    model = RoutedModel.objects.create(gateway=make.make_gateway(), slug="acme/more", mode="enforce")
    for number in range(8):
        endpoint = make.make_endpoint(model, f"more{number}/fp8")
        make.make_standing(endpoint)
        make.make_capability(endpoint)
        round_ = make.make_round(model, started_at=make.soon(-number))
        make.make_endpoint_round(round_, endpoint)
        make.make_run(round_, endpoint)
        make.make_suspension(endpoint, started_at=make.soon(-1))
        make.make_exclusion(f"more{number}", model=model, created_by=make.make_user())
        Attempt.objects.create(model_slug="acme/more", at=make.NOW)
        decision = make.make_decision()
        values = {"severity": "info", "subject": "s", "body": "b", "created_at": make.NOW, "due_at": make.NOW}
        Notification.objects.create(key=f"more{number}", decision=decision, **values)


def count_queries(address: str) -> int:
    """The queries of one page, as a viewer."""
    client = make.make_client("viewer")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


def test_each_list_takes_so_many_queries_whatever_the_number_of_rows() -> None:
    make_rows()
    asks_clock = ASKS_THE_CLOCK if connection.vendor == "postgresql" else ()
    expected = {name: count + (name in asks_clock) for name, count in LISTS.items()}
    addresses = {name: reverse(f"admin:{name}_changelist") for name in LISTS}
    assert {name: count_queries(address) for name, address in addresses.items()} == expected
    grow()
    assert {name: count_queries(address) for name, address in addresses.items()} == expected


def test_no_page_has_anything_inline() -> None:
    make_rows()
    client = make.make_client("owner")
    endpoint = Endpoint.objects.get(tag="deepinfra/fp8")
    pages = [
        reverse("admin:index"), reverse("admin:fleet"), reverse("admin:password_change"),
        *(reverse(f"admin:{name}_changelist") for name in LISTS),
        reverse("admin:routing_enforcementswitch_changelist"), reverse("admin:routing_exclusion_add"),
        reverse("admin:routing_routedmodel_add"), reverse("admin:routing_endpoint_change", args=[endpoint.pk]),
        reverse("admin:routing_routedmodel_change", args=[endpoint.model_id]),
        reverse("admin:routing_routedmodel_mode", args=[endpoint.model_id]),
        reverse("admin:canary_round_change", args=[endpoint.runs.latest("pk").round_id]),
    ]  # fmt: skip
    answers = {address: client.get(address) for address in pages}
    for address, answer in {**answers, "login": Client().get(reverse("admin:login"))}.items():
        assert answer.status_code == 200, address
        assert not INLINE.search(answer.content.decode()), address
        assert "script-src 'self'; style-src 'self'" in answer["Content-Security-Policy"]
