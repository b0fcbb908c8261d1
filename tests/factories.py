"""Rows for tests, one small function each; whatever is not given has a plain, valid default.

Times default to `NOW`, a fixed moment. `tag` names an endpoint's provider too (`host/fp8` is of `host`).
"""

from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import Group, User
from django.test import Client

from canary.models import EndpointRound, ProbeRun, Round, RoundStatus, RunState, Standing, Suspension
from incidents.domain.actions import Action
from incidents.models import Decision
from routing.domain.modes import CapabilitySource, Tier
from routing.models import Capability, Endpoint, Exclusion, Gateway, Provider, RoutedModel

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
PASSWORD = "correct horse battery"
_numbers = count(1)


def soon(hours: float) -> datetime:
    """So many hours from now, for what the pages compare with the clock."""
    return datetime.now(UTC) + timedelta(hours=hours)


def make_user(role: str | None = None, *, can_log_in: bool = False, **values: Any) -> User:
    """A staff user of a role (viewer, operator, owner), or without one."""
    values.setdefault("username", role or f"user{next(_numbers)}")
    # Hashing a password takes a third of a second: only those who log in have one.
    password = PASSWORD if can_log_in else None
    user: User = get_user_model().objects.create_user(password=password, is_staff=True, **values)
    if role:
        user.groups.add(Group.objects.get(name=role))
    return user


def make_client(role: str | None = None) -> Client:
    """A browser in which somebody of that role is logged in."""
    client = Client()
    client.force_login(User.objects.filter(username=role).first() or make_user(role))
    return client


def make_gateway(slug: str = "openrouter") -> Gateway:
    """The gateway of that slug."""
    return Gateway.objects.get_or_create(slug=slug, defaults={"name": slug.capitalize()})[0]


def make_provider(slug: str = "host", **values: Any) -> Provider:
    """The provider of that slug."""
    defaults = {"display_name": slug.capitalize(), "first_seen_at": NOW, "last_seen_at": NOW, **values}
    return Provider.objects.get_or_create(gateway=make_gateway(), slug=slug, defaults=defaults)[0]


def make_model(slug: str = "acme/one", **values: Any) -> RoutedModel:
    """A model in observe mode."""
    return RoutedModel.objects.create(gateway=make_gateway(), slug=slug, **values)


def make_endpoint(model: RoutedModel, tag: str = "host/fp8", **values: Any) -> Endpoint:
    """A serving endpoint of the model; `is_serving=False` gives it a time at which it left."""
    if values.get("is_serving") is False:
        values.setdefault("left_at", NOW)
    values = {"first_seen_at": NOW, "last_seen_at": NOW, **values}
    return Endpoint.objects.create(
        model=model, provider=make_provider(tag.partition("/")[0]), tag=tag, **values
    )


def make_capability(endpoint: Endpoint, **values: Any) -> Capability:
    """What the endpoint advertises now."""
    values = {"quantization": "fp8", "parameters": ["structured_outputs"], "valid_from": NOW, **values}
    return Capability.objects.create(endpoint=endpoint, source=CapabilitySource.ADVERTISED.value, **values)


def make_standing(endpoint: Endpoint, **values: Any) -> Standing:
    """The endpoint's standing: it has answered and serves."""
    return Standing.objects.create(endpoint=endpoint, **{"has_answered": True, "was_serving": True, **values})


def make_round(model: RoutedModel, **values: Any) -> Round:
    """A closed, scored round of the model; `status="running"` makes an open one."""
    values = {
        "started_at": NOW,
        "language": "en",
        "slot": next(_numbers),
        "status": RoundStatus.CLOSED,
        **values,
    }
    if values["status"] != RoundStatus.RUNNING:
        values = {"closed_at": values["started_at"] + timedelta(minutes=1), "is_scored": True, **values}
    return Round.objects.create(model=model, **values)


def make_endpoint_round(
    round_: Round, endpoint: Endpoint, result: str = "clean", **values: Any
) -> EndpointRound:
    """What the round came to for the endpoint."""
    return EndpointRound.objects.create(round=round_, endpoint=endpoint, result=result, **values)


def make_run(round_: Round, endpoint: Endpoint, contract: str = "latency", **values: Any) -> ProbeRun:
    """A probe run that passed."""
    values = {
        "state": RunState.DONE, "verdict": "pass", "reason": "ok", "sent_at": round_.started_at,
        "done_at": round_.started_at, "ttft_ms": 400.0, **values,
    }  # fmt: skip
    return ProbeRun.objects.create(round=round_, endpoint=endpoint, contract=contract, **values)


def make_suspension(endpoint: Endpoint, **values: Any) -> Suspension:
    """An enforced suspension of a day, in force; `is_shadow=True` makes a would-suspend."""
    values = {
        "is_shadow": False, "level": 1, "started_at": NOW, "culprits": [["language", "de"]],
        "ends_at": values.get("started_at", NOW) + timedelta(days=1), **values,
    }  # fmt: skip
    return Suspension.objects.create(endpoint=endpoint, **values)


def make_exclusion(entry: str = "host", **values: Any) -> Exclusion:
    """A runtime exclusion for all models, until lifted."""
    return Exclusion.objects.create(
        entry=entry, **{"tier": Tier.RUNTIME.value, "reason": "broken answers", "created_at": NOW, **values}
    )


def make_decision(**values: Any) -> Decision:
    """A decision in the log."""
    defaults = {
        "at": NOW,
        "action": Action.SUSPEND.value,
        "rule": "C12",
        "reason": "failed twice",
        "mode": "enforce",
    }
    return Decision.objects.create(**{**defaults, **values})
