"""The catalogue ever seen: which endpoints serve a model, since when, and under which names (rules C1 and R4).

Every change is one transaction with its decision and what is told of it. Nothing is ever deleted.
"""

import logging
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta

from django.db import transaction

from incidents.decisions import Entry
from incidents.domain.actions import Action, Severity
from routing.announcements import ACTOR, Telling, announce
from routing.capabilities import write_capabilities
from routing.catalogue_log import announce_change, announce_return
from routing.domain.discovery import Believed, CatalogueChange, weigh
from routing.gateways.base import DiscoveredEndpoint, Discovery
from routing.locks import lock_model
from routing.models import Endpoint, Gateway, Provider, RoutedModel
from routing.selectors import has_good_list, known_names
from routing.unmatched import match_unmatched
from routing.versions import bump_version

logger = logging.getLogger(__name__)

FIRST_GATEWAY = "openrouter"
REMINDER = timedelta(hours=24)

__all__ = [
    "CatalogueChange",
    "apply_discovery",
    "discovery_failed",
    "display_names",
    "first_gateway",
    "has_good_list",
    "known_names",
    "mark_gone",
    "store_providers",
]


def first_gateway() -> Gateway:
    """The gateway all models belong to until there is a second one."""
    return Gateway.objects.get_or_create(slug=FIRST_GATEWAY, defaults={"name": "OpenRouter"})[0]


def display_names(gateway: Gateway) -> Mapping[str, frozenset[str]]:
    """Base slugs by casefolded display name; a name that two providers share names both."""
    found: dict[str, set[str]] = {}
    for slug, name in gateway.providers.exclude(display_name="").values_list("slug", "display_name"):
        found.setdefault(name.casefold(), set()).add(slug)
    return {name: frozenset(slugs) for name, slugs in found.items()}


def apply_discovery(model: RoutedModel, discovery: Discovery, *, now: datetime) -> CatalogueChange:
    """Take in a readable list of `model`'s endpoints: one transaction under the model's lock.

    A list without more than half of the endpoints changes what serves only when the next one agrees (C1).
    """
    rows = {row.tag: row for row in discovery.endpoints}
    with transaction.atomic():
        locked = lock_model(model.pk)
        is_first, was_gone = locked.discovered_at is None, locked.is_gone
        was_good = has_good_list(locked, now=now)
        serving = frozenset(locked.endpoints.filter(is_serving=True).values_list("tag", flat=True))
        believed = weigh(serving, frozenset(rows), locked.shrunk_tags)
        change = _store(locked, rows, believed, now)
        _settle_model(locked, believed, now)
        if was_gone:
            announce_return(locked, now=now)
        announce_change(locked, change, is_first=is_first, now=now)
        match_unmatched(now)
        if not was_good or change != CatalogueChange(held_back=change.held_back):
            bump_version()
    for name in ("discovered_at", "shrunk_tags", "is_gone"):
        setattr(model, name, getattr(locked, name))
    return change


def store_providers(gateway: Gateway, names: Mapping[str, str], *, now: datetime) -> None:
    """Take in the gateway's own list of providers (display name by base slug): names to check against (R4)."""
    with transaction.atomic():
        _providers(gateway, names, now)
        match_unmatched(now)


def discovery_failed(model: RoutedModel, sentence: str, *, now: datetime) -> None:
    """Log that the list could not be read; it changes nothing. Told once an episode, again every 24 h."""
    since = model.discovered_at or model.created_at
    days = (now - since) // REMINDER
    entry = Entry(
        at=now,
        action=Action.DISCOVERY_FAILED,
        rule="C1",
        model=model.slug,
        actor=ACTOR,
        reason=f"The endpoints of {model.slug} could not be read: {sentence}",
        inputs={"last_read_at": model.discovered_at},
    )
    telling = Telling(
        key=f"discovery_failed:{model.pk}:{since.isoformat()}:{days}",
        subject=f"{model.slug}: endpoints cannot be read",
        severity=Severity.WARNING,
    )
    with transaction.atomic():
        announce(entry, telling)


def mark_gone(model: RoutedModel, *, now: datetime) -> bool:
    """Write down that the gateway has no such model; told once. False when that was known already.

    The endpoints keep their state: should the model come back, a mistaken answer has cost no history.
    """
    with transaction.atomic():
        if not RoutedModel.objects.filter(pk=model.pk, is_gone=False).update(is_gone=True):
            return False
        entry = Entry(
            at=now,
            action=Action.MODEL_GONE,
            rule="C1",
            model=model.slug,
            actor=ACTOR,
            reason=f"The gateway says that it has no model {model.slug}.",
        )
        telling = Telling(
            key=f"model_gone:{model.pk}:{now.isoformat()}",
            subject=f"{model.slug} is gone",
            severity=Severity.WARNING,
        )
        announce(entry, telling)
        bump_version()
    model.is_gone = True
    return True


def _store(
    model: RoutedModel, rows: Mapping[str, DiscoveredEndpoint], believed: Believed, now: datetime
) -> CatalogueChange:
    """Write providers, endpoints and capabilities of the list; those it lacks leave when that is believed."""
    providers = _providers(
        model.gateway, {row.provider_slug: row.provider_name for row in rows.values()}, now
    )
    known = {endpoint.tag: endpoint for endpoint in model.endpoints.all()}
    new = [
        Endpoint(
            model=model, provider=providers[row.provider_slug], tag=tag, first_seen_at=now, last_seen_at=now
        )
        for tag, row in rows.items()
        if tag not in known
    ]
    Endpoint.objects.bulk_create(new)
    returned = [tag for tag in rows if tag in known and not known[tag].is_serving]
    seen = model.endpoints.filter(tag__in=list(rows))
    seen.update(is_serving=True, left_at=None, last_seen_at=now)
    model.endpoints.filter(tag__in=believed.left, is_serving=True).update(is_serving=False, left_at=now)
    _write_statuses(seen, rows)
    return CatalogueChange(
        joined=tuple(sorted(endpoint.tag for endpoint in new)),
        returned=tuple(sorted(returned)),
        left=believed.left,
        held_back=believed.held_back,
        changed=write_capabilities(seen, rows, now=now),
    )


def _write_statuses(endpoints: Iterable[Endpoint], rows: Mapping[str, DiscoveredEndpoint]) -> None:
    """The gateway's own status number, where it has changed; it is shown and decides nothing."""
    for endpoint in endpoints:
        if endpoint.gateway_status != rows[endpoint.tag].status:
            Endpoint.objects.filter(pk=endpoint.pk).update(gateway_status=rows[endpoint.tag].status)


def _providers(gateway: Gateway, names: Mapping[str, str], now: datetime) -> dict[str, Provider]:
    """The providers of `names` (display name by base slug), made or refreshed.

    In the order of their slugs: models share providers, and two lists at once must not wait in a circle.
    """
    Provider.objects.bulk_create(
        [
            Provider(gateway=gateway, slug=slug, display_name=name[:200], first_seen_at=now, last_seen_at=now)
            for slug, name in sorted(names.items())
        ],
        update_conflicts=True,
        unique_fields=["gateway", "slug"],
        update_fields=["display_name", "last_seen_at"],
    )
    return {provider.slug: provider for provider in gateway.providers.filter(slug__in=list(names))}


def _settle_model(model: RoutedModel, believed: Believed, now: datetime) -> None:
    """The model's own columns; a list that is not believed does not make the catalogue younger."""
    model.is_gone = False
    model.shrunk_tags = list(believed.shrunk) if believed.shrunk is not None else None
    if believed.shrunk is None:
        model.discovered_at = now
    else:
        logger.warning("%s: a list without %s is not believed yet", model.slug, ", ".join(believed.held_back))
    model.save(update_fields=["is_gone", "shrunk_tags", "discovered_at"])
