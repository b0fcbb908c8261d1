"""Every address of the project and who may open it. An address that is missing from the table fails."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.utils import timezone

from canary.models import ProbeRun, Round, Suspension
from incidents.domain.actions import Severity
from incidents.models import Decision, Notification
from routing.models import Attempt, Capability, Endpoint, Exclusion, Gateway, GivingWay, Provider, RoutedModel
from tests import factories as make
from tests.fleets import make_fleet

# From who may do least to who may do most. `nobody` is beyond all of them.
PEOPLE = ("anonymous", "staff", "viewer", "operator", "owner", "superuser")
NOBODY = "nobody"

ROWS: Mapping[str, type[Any]] = {
    "canary_round": Round, "canary_proberun": ProbeRun, "canary_suspension": Suspension,
    "incidents_decision": Decision, "incidents_notification": Notification,
    "routing_attempt": Attempt, "routing_capability": Capability, "routing_endpoint": Endpoint,
    "routing_exclusion": Exclusion, "routing_gateway": Gateway, "routing_givingway": GivingWay,
    "routing_provider": Provider, "routing_routedmodel": RoutedModel,
}  # fmt: skip
READ_ONLY = {"changelist": "viewer", "change": "viewer", "history": "viewer", "add": NOBODY, "delete": NOBODY}
PEOPLE_PAGES = dict.fromkeys(("changelist", "change", "history", "add", "delete"), "superuser")
MODELS: Mapping[str, Mapping[str, str]] = {
    **dict.fromkeys(ROWS, READ_ONLY),
    "routing_exclusion": {**READ_ONLY, "add": "operator"},
    "routing_routedmodel": {**READ_ONLY, "add": "owner", "mode": "owner"},
    "auth_user": PEOPLE_PAGES,
    "auth_group": PEOPLE_PAGES,
}
# Who may at least open it: name of the address → the first of `PEOPLE`.
TABLE: Mapping[str, str] = {
    "home": "anonymous",
    "admin:index": "staff",
    "admin:fleet": "staff",
    "admin:login": "anonymous",
    "admin:logout": "anonymous",
    "admin:password_change": "staff",
    "admin:password_change_done": "staff",
    "admin:autocomplete": NOBODY,
    "admin:jsi18n": "staff",
    "admin:view_on_site": NOBODY,
    "admin:app_list": "viewer",
    "admin:auth_user_password_change": "superuser",
    "admin:routing_enforcementswitch_changelist": "viewer",
    "admin:routing_enforcementswitch_add": NOBODY,
    "admin:routing_enforcementswitch_change": "viewer",
    "admin:routing_enforcementswitch_delete": NOBODY,
    "admin:routing_enforcementswitch_history": "viewer",
    **{f"admin:{model}_{page}": who for model, pages in MODELS.items() for page, who in pages.items()},
}
# Addresses without a name: Django's redirect to an object's page, and its answer to everything else.
UNNAMED = {"<path:object_id>/", r"(?P<url>.*)$"}


def addresses(
    patterns: list[URLPattern | URLResolver] | None = None, namespace: str = ""
) -> Iterator[tuple[str, URLPattern]]:
    """Every address of the project with its name in full."""
    for entry in get_resolver().url_patterns if patterns is None else patterns:
        if isinstance(entry, URLResolver):
            inner = f"{entry.namespace}:" if entry.namespace else namespace
            yield from addresses(entry.url_patterns, inner)
        elif entry.name:
            yield f"{namespace}{entry.name}", entry
        else:
            yield "", entry


def test_every_address_has_a_line_in_the_table_and_every_line_an_address() -> None:
    found = list(addresses())
    assert {name for name, _ in found if name} == set(TABLE)
    assert {str(entry.pattern) for name, entry in found if not name} <= UNNAMED


@pytest.fixture
def people(db: None) -> dict[str, User | None]:
    """One of each."""
    make_fleet(timezone.now())
    decision = Decision.objects.first()
    Notification.objects.create(
        key="k",
        decision=decision,
        severity=Severity.INFO,
        subject="s",
        body="b",
        created_at=make.NOW,
        due_at=make.NOW,
    )
    Attempt.objects.create(model_slug="acme/large", at=make.NOW)
    GivingWay.objects.create(
        model=RoutedModel.objects.earliest("pk"), exclusion=Exclusion.objects.earliest("pk"), since=make.NOW
    )
    return {
        "anonymous": None,
        "staff": make.make_user(),
        **{role: make.make_user(role) for role in ("viewer", "operator", "owner")},
        "superuser": make.make_user(username="root", is_superuser=True),
    }


def concrete(name: str) -> str:
    """An address of that name about a row that exists."""
    model, _, page = name.removeprefix("admin:").rpartition("_")
    if name == "admin:app_list":
        return reverse(name, args=["routing"])
    if name == "admin:view_on_site":
        return reverse(name, args=[1, 1])
    if page in ("changelist", "add") or model not in {
        *MODELS,
        "routing_enforcementswitch",
        "auth_user_password",
    }:
        return reverse(name)
    kinds: dict[str, type[Any]] = {**ROWS, "auth_user": User, "auth_user_password": User, "auth_group": Group}
    pk = 1 if model == "routing_enforcementswitch" else kinds[model].objects.earliest("pk").pk
    return reverse(name, args=[pk])


def logged_in(user: User | None) -> Client:
    """A browser of this person's."""
    client = Client()
    if user is not None:
        client.force_login(user)
    return client


def opens(client: Client, address: str) -> bool:
    """Whether the address gives this person its page, or leads on to one that is not the login."""
    answer = client.get(address)
    to_login = answer.status_code == 302 and "/login/" in answer["Location"]
    return not to_login and answer.status_code not in (401, 403, 404)


def test_an_address_opens_to_whom_the_table_says_and_to_nobody_below(people: dict[str, User | None]) -> None:
    clients = {who: logged_in(user) for who, user in people.items()}
    found = {}
    for name in TABLE:
        address = concrete(name)
        openers = [who for who in PEOPLE if opens(clients[who], address)]
        found[name] = openers[0] if openers else NOBODY
        assert openers == list(PEOPLE[len(PEOPLE) - len(openers) :]), name
    assert found == TABLE


def test_what_the_site_does_not_know_is_the_login_or_nothing(people: dict[str, User | None]) -> None:
    for address in ("/admin/nothing/here/", "/admin/routing/exclusion/999/", "/somewhere/"):
        assert not opens(logged_in(people["anonymous"]), address)


def test_the_fleet_tells_a_page_whose_login_ran_out(client: Client, db: None) -> None:
    assert client.get(reverse("admin:fleet"), headers={"HX-Request": "true"}).status_code == 401


def test_an_account_without_a_role_sees_nothing_of_the_fleet(people: dict[str, User | None]) -> None:
    client = logged_in(people["staff"])
    text = client.get(reverse("admin:index")).content.decode()
    assert "Your account has no role yet" in text
    assert "acme/large" not in text
    assert "acme/large" not in client.get(reverse("admin:fleet")).content.decode()
