"""Who served a request, whether that breaks the list it carried, and the row that says so (rules R4 and R17).

The list is the request's own when the caller passes it. Else it is what this process would have sent when the
answer began: an entry counts once this process has used it for a second, so that requests under way when an
exclusion came are no breach.
"""

import logging
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import InterfaceError, OperationalError, transaction
from django.utils.crypto import salted_hmac

from incidents.decisions import Entry
from incidents.domain.actions import Action, Severity
from routing import snapshot
from routing.announcements import ACTOR, Telling, announce
from routing.domain.exclusion_list import reaches
from routing.domain.matching import base_slug
from routing.domain.preferences import CallerMistake, names_in
from routing.gateways.answers import NAME_CHARS, Answer, read_answer
from routing.models import Attempt, Endpoint, Provider

logger = logging.getLogger(__name__)

MOST_STORED_NAMES = 200
"""Names of the list kept with an attempt, those about the provider that served first."""
UNDER_WAY_S = 1.0
EPISODE = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Served:
    """Who served: display name and base slug ("" when unknown). `attempt_id` None: it could not be written."""

    served_by: str
    provider: str
    is_breach: bool
    attempt_id: UUID | None


@dataclass(frozen=True, kw_only=True)
class Context:
    """Whose request it was: both as the caller names them, the subject is stored as a keyed hash only."""

    operation_id: str | None = None
    subject: str | None = None
    request: Mapping[str, Any] | None = None


def record_attempt(model: str, response: object, context: Context) -> Served:
    """Write the attempt down. Raises `CallerMistake`; a database that cannot be reached is logged, not raised."""
    refresher = snapshot.refresher()
    now = datetime.fromtimestamp(refresher.now_s(), tz=UTC)
    answer = read_answer(response, now=now)
    sent = _sent_names(model, answer, context.request, refresher)
    try:
        return _store(model, answer, sent, context, now)
    except (OperationalError, InterfaceError) as error:
        logger.warning("An attempt could not be written down: %s", error)
        return Served(served_by=answer.served_by, provider="", is_breach=False, attempt_id=None)


def _sent_names(
    model: str, answer: Answer, request: Mapping[str, Any] | None, refresher: snapshot.Refresher
) -> tuple[str, ...]:
    """The names of the list the answered request carried, or would have carried."""
    if request is not None:
        return tuple(_names_of(request))
    names = refresher.snapshot().plan((model,), refresher.now_s()).sent
    if answer.began_at is None:
        return names.names
    return refresher.sent_at(model, answer.began_at.timestamp() - UNDER_WAY_S).names


def _names_of(request: Mapping[str, Any]) -> list[str]:
    """The `ignore` of a built request."""
    provider = request.get("provider") if isinstance(request, Mapping) else None
    if not isinstance(provider, Mapping):
        raise CallerMistake("request is the object that was sent, with its provider.")
    try:
        return names_in(provider.get("ignore") or [])
    except (TypeError, ValueError) as error:
        raise CallerMistake(f"request.provider.ignore is {error}.") from None


def _store(model: str, answer: Answer, sent: Sequence[str], context: Context, now: datetime) -> Served:
    slugs = _slugs_of(answer.served_by, sent)
    provider = min(slugs, default="")
    is_breach = _is_breach(model, slugs, frozenset(sent))
    with transaction.atomic():
        if is_breach:
            _tell_breach(model, answer, provider, now)
        attempt = Attempt.objects.create(
            operation_id="" if context.operation_id is None else str(context.operation_id)[:NAME_CHARS],
            generation_id=answer.generation_id,
            subject_hash=_hashed(context.subject),
            model_slug=model[:NAME_CHARS],
            served_by=answer.served_by,
            provider_slug=provider[:100],
            sent_ignore=_stored_names(sent, slugs),
            is_breach=is_breach,
            finish_reason=answer.finish_reason,
            cost_usd=answer.cost_usd,
            at=now,
        )
    return Served(served_by=answer.served_by, provider=provider, is_breach=is_breach, attempt_id=attempt.pk)


def _slugs_of(display_name: str, sent: Sequence[str]) -> frozenset[str]:
    """The base slugs a display name stands for: by the catalogue, else by a name of the list written alike.

    The second finds `OpenInference` under an `openinference` that was excluded although never seen: the
    gateway ignored that name, and this is how it shows.
    """
    if not display_name:
        return frozenset()
    known = Provider.objects.filter(display_name__iexact=display_name).values_list("slug", flat=True)
    alike = _squashed(display_name)
    return frozenset(known) or frozenset(
        base_slug(name) for name in sent if _squashed(base_slug(name)) == alike
    )


def _squashed(name: str) -> str:
    return "".join(char for char in name.casefold() if char.isalnum())


def _is_breach(model: str, slugs: Collection[str], sent: frozenset[str]) -> bool:
    """Whether every endpoint by which one of `slugs` could have served `model` was on the list.

    A provider of which another endpoint was allowed has broken nothing that can be proved.
    """
    if not slugs or not any(base_slug(name) in slugs for name in sent):
        return False
    serving = Endpoint.objects.filter(
        model__slug__in=(model, model.partition(":")[0]), provider__slug__in=slugs, is_serving=True
    )
    lanes = set(serving.values_list("tag", flat=True)) or set(slugs)
    return all(reaches(sent, lane) for lane in lanes)


def _tell_breach(model: str, answer: Answer, provider: str, now: datetime) -> None:
    """Log every breach; decide and tell once an episode, again every 24 h while it lasts."""
    logger.warning("%s was served by %s, which the request excluded", model, provider)
    recent = Attempt.objects.filter(model_slug=model[:NAME_CHARS], at__gt=now - EPISODE, at__lte=now)
    if recent.filter(is_breach=True, provider_slug=provider).exists():
        return
    entry = Entry(
        at=now,
        action=Action.BREACH,
        rule="R4",
        model=model,
        endpoint=provider,
        is_enforced=True,
        actor=ACTOR,
        reason=f"A request for {model} that excluded {provider} was served by it all the same.",
        inputs={"served_by": answer.served_by, "generation": answer.generation_id},
    )
    telling = Telling(
        key=f"breach:{model}:{provider}:{now.isoformat()}",
        subject=f"{model} served by {provider}, which was excluded",
        severity=Severity.WARNING,
    )
    announce(entry, telling)


def _stored_names(sent: Sequence[str], slugs: Collection[str]) -> list[str]:
    """At most so many names of the list, those about the provider that served first."""
    return sorted(sent, key=lambda name: base_slug(name) not in slugs)[:MOST_STORED_NAMES]


def _hashed(subject: str | None) -> str:
    """The subject under the installation's key: the same one is found again, nobody is read out of it."""
    if not subject:
        return ""
    return salted_hmac("routing.attempt.subject", str(subject), algorithm="sha256").hexdigest()
