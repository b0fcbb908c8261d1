"""How a change of what serves a model is recorded and told."""

from collections.abc import Sequence
from datetime import datetime

from incidents.decisions import Entry
from incidents.domain.actions import Action
from routing.announcements import ACTOR, Telling, announce
from routing.domain.discovery import CatalogueChange
from routing.models import RoutedModel


def announce_change(model: RoutedModel, change: CatalogueChange, *, is_first: bool, now: datetime) -> None:
    """Decisions about who joined and left: a first list is one decision, later each endpoint has its own."""
    if is_first:
        _announce(model, Action.JOINED, change.joined, words="is served by", now=now)
        return
    for tag in change.joined:
        _announce(model, Action.JOINED, [tag], words="is now served by", now=now)
    for tag in change.returned:
        _announce(model, Action.JOINED, [tag], words="is served again by", now=now)
    for tag in change.left:
        _announce(model, Action.LEFT, [tag], words="is no longer served by", now=now)


def announce_return(model: RoutedModel, *, now: datetime) -> None:
    """A model that was gone is listed again."""
    entry = Entry(
        at=now,
        action=Action.JOINED,
        rule="C1",
        model=model.slug,
        actor=ACTOR,
        reason=f"The gateway has a model {model.slug} again.",
    )
    announce(entry, Telling(key=f"model_back:{model.pk}:{now.isoformat()}", subject=f"{model.slug} is back"))


def _announce(model: RoutedModel, action: Action, tags: Sequence[str], *, words: str, now: datetime) -> None:
    if not tags:
        return
    sentence = f"{model.slug} {words} {', '.join(tags)}"
    entry = Entry(
        at=now,
        action=action,
        rule="C1",
        model=model.slug,
        endpoint=tags[0] if len(tags) == 1 else "",
        actor=ACTOR,
        reason=f"{sentence}.",
        inputs={"endpoints": list(tags)},
    )
    announce(entry, Telling(key=f"{action}:{model.pk}:{'+'.join(tags)}:{now.isoformat()}", subject=sentence))
