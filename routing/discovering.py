"""Discovery asked for by a person: read the gateway, store what it says."""

from collections.abc import Mapping
from dataclasses import dataclass

from asgiref.sync import async_to_sync
from django.db import transaction

from incidents.decisions import Entry
from incidents.domain.actions import Action
from routing import catalogue
from routing.announcements import Telling, announce
from routing.clock import database_now
from routing.connections import open_gateway
from routing.domain.discovery import CatalogueChange
from routing.domain.modes import Mode
from routing.gateways.base import Discovery, DiscoveryUnreadable, GatewayUnavailable, ModelNotFound
from routing.models import Gateway, RoutedModel
from routing.versions import bump_version


@dataclass(frozen=True, kw_only=True)
class Discovered:
    """A stored discovery. `is_new`: the model was not known before."""

    model: RoutedModel
    change: CatalogueChange
    is_new: bool


def discover(slug: str, *, is_watched: bool, actor: str) -> Discovered:
    """Read which endpoints serve `slug` now and store it, also what cannot be read of a model known before.

    A model not known before is made: watched in observe mode when `is_watched`, else with mode off, so that
    its names are known and nothing is spent on it. Raises `ModelNotFound`, `GatewayUnavailable`, `KeyRefused`,
    and ValueError for an address that is none.
    """
    gateway = catalogue.first_gateway()
    known = RoutedModel.objects.filter(gateway=gateway, slug=slug).first()
    try:
        discovery, names = async_to_sync(_read)(gateway, slug)
    except ModelNotFound:
        if known is not None:
            catalogue.mark_gone(known, now=database_now())
        raise
    except DiscoveryUnreadable as error:
        if known is not None:
            catalogue.discovery_failed(known, str(error), now=database_now())
        raise
    catalogue.store_providers(gateway, names, now=database_now())
    model = known or _add(gateway, slug, is_watched=is_watched, actor=actor)
    change = catalogue.apply_discovery(model, discovery, now=database_now())
    return Discovered(model=model, change=change, is_new=known is None)


async def _read(gateway: Gateway, slug: str) -> tuple[Discovery, Mapping[str, str]]:
    """The list of endpoints and, when it can be had, that of all providers: more names to check against (R4)."""
    client = open_gateway(gateway)
    try:
        discovery = await client.discover(slug)
        try:
            names = await client.providers()
        except GatewayUnavailable:
            names = {}
        return discovery, names
    finally:
        await client.aclose()


def _add(gateway: Gateway, slug: str, *, is_watched: bool, actor: str) -> RoutedModel:
    mode = Mode.OBSERVE if is_watched else Mode.OFF
    words = "Watched from now on, in observe mode." if is_watched else "Known from now on, not watched."
    now = database_now()
    with transaction.atomic():
        model = RoutedModel.objects.create(gateway=gateway, slug=slug, mode=mode.value)
        entry = Entry(
            at=now, action=Action.MODE, rule="C17", reason=words, model=slug, mode=mode, actor=actor
        )
        announce(
            entry,
            Telling(key=f"model_added:{model.pk}", subject=f"{slug}: {words.lower().removesuffix('.')}"),
        )
        bump_version()
    return model
