"""Episodes in which an exclusion is left out because nothing else could serve: recorded and told once (rule R2)."""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction

from incidents.decisions import Entry
from incidents.domain.actions import Action, Severity
from routing.announcements import ACTOR, Telling, announce
from routing.models import Exclusion, GivingWay, RoutedModel
from routing.versions import current_version, lock_version

logger = logging.getLogger(__name__)

Pair = tuple[str, str]
"""A model's slug and the key of an entry (`canary:17`), as a snapshot names them."""


def tell_giving_way(gave_way: frozenset[Pair], *, version: int, now: datetime) -> bool:
    """Begin and end episodes so that the open ones are those of the snapshot of `version`.

    Every process that compiled the snapshot asks for it, the first one does it. False when there is a newer
    version by now, whose compilers will know better.
    """
    if {_pair(episode) for episode in _open_episodes()} == gave_way:
        return current_version() == version
    with transaction.atomic():
        slugs = {slug for slug, _ in gave_way} | {episode.model.slug for episode in _open_episodes()}
        models = {model.slug: model for model in _locked(slugs)}
        if lock_version() != version:
            return False
        episodes = {_pair(episode): episode for episode in _open_episodes()}
        for pair in sorted(gave_way - episodes.keys()):
            _begin(models[pair[0]], pair[1], now)
        ended = [episode.pk for pair, episode in episodes.items() if pair not in gave_way]
        GivingWay.objects.filter(pk__in=ended).update(ended_at=now)
    return True


def _open_episodes() -> list[GivingWay]:
    return list(GivingWay.objects.filter(ended_at__isnull=True).select_related("model", "exclusion"))


def _pair(episode: GivingWay) -> Pair:
    return (episode.model.slug, f"{episode.exclusion.tier}:{episode.exclusion.pk}")


def _locked(slugs: Iterable[str]) -> list[RoutedModel]:
    """The models in the order of all locks: models first, by key, then the version."""
    return list(RoutedModel.objects.select_for_update(no_key=True).filter(slug__in=slugs).order_by("pk"))


def _begin(model: RoutedModel, key: str, now: datetime) -> None:
    exclusion = Exclusion.objects.get(pk=int(key.partition(":")[2]))
    episode = GivingWay.objects.create(model=model, exclusion=exclusion, since=now)
    sentence = (
        f"The {exclusion.tier} exclusion of {exclusion.entry} is left out of requests for {model.slug}, "
        "because nothing else could serve it."
    )
    entry = Entry(
        at=now,
        action=Action.GAVE_WAY,
        rule="R2",
        model=model.slug,
        endpoint=exclusion.entry,
        is_enforced=True,
        actor=ACTOR,
        reason=sentence,
        inputs={"exclusion": exclusion.pk, "tier": exclusion.tier, "reason": exclusion.reason},
    )
    subject = f"{exclusion.entry} gives way for {model.slug}"
    announce(entry, Telling(key=f"gave_way:{episode.pk}", subject=subject, severity=Severity.WARNING))
    logger.warning("%s", sentence)
