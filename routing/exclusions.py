"""The exclusion table of all tiers: adding and ending entries (rules R1-R4).

Each change is one transaction: the row, its decision, what is told, and the version every process watches.
The sweep of what has ended is in `routing.expiry`, names never seen are in `routing.unmatched`, the enforcement
switch in `routing.switch`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import User
from django.db import transaction

from incidents.domain.actions import Action
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.matching import nearest, normalise
from routing.domain.modes import Tier
from routing.effects import Effect, effects_of
from routing.exclusion_log import announce_exclusion, scope_of
from routing.expiry import expire_due
from routing.locks import lock_all_models, lock_model
from routing.models import Endpoint, Exclusion, RoutedModel
from routing.rows import open_exclusions
from routing.selectors import excluded_tags, known_names
from routing.switch import resume_enforcement, stop_enforcement
from routing.versions import bump_version, require_transaction

REASON_LIMIT = 500

__all__ = [
    "BadExclusion",
    "LeavesNothing",
    "NewExclusion",
    "UnknownName",
    "add_canary",
    "add_runtime",
    "bump_version",
    "end_canary",
    "excluded_tags",
    "expire_due",
    "lift_runtime",
    "lock_all_models",
    "lock_model",
    "preview",
    "resume_enforcement",
    "stop_enforcement",
]


class BadExclusion(ValueError):
    """An exclusion that cannot be made or lifted as asked; the message is one sentence for the person."""


class UnknownName(BadExclusion):
    """The name was never seen; `nearest` are the known names most like it. Goes through when confirmed."""

    def __init__(self, name: str, similar: tuple[str, ...]) -> None:
        self.name = name
        self.nearest = similar
        hint = f" Did you mean {', '.join(similar)}?" if similar else ""
        super().__init__(
            f"No provider or endpoint {name} was ever seen, so excluding it would do nothing.{hint}"
        )


class LeavesNothing(BadExclusion):
    """Nothing could serve any more. Goes through when confirmed, or when it may give way."""

    def __init__(self, name: str, models: Sequence[str]) -> None:
        self.models = tuple(models)
        super().__init__(
            f"Excluding {name} leaves no endpoint that could serve {', '.join(models)}: every request would "
            "fail, because a runtime exclusion gives way only if it was added as one that may."
        )


@dataclass(frozen=True, kw_only=True)
class NewExclusion:
    """A runtime exclusion as a person asks for it. `model_pk` None: all models; `expires_at` None: until lifted.

    `is_confirmed`: also with a name never seen, also when it leaves nothing.
    """

    entry: str
    reason: str
    actor: str
    model_pk: int | None = None
    expires_at: datetime | None = None
    may_give_way: bool = False
    is_confirmed: bool = False
    user: User | None = None


def preview(request: NewExclusion, *, now: datetime) -> tuple[str, ...]:
    """What a person should read before adding it: what gives way, where capacity falls below the floor.

    Warnings only. Raises `BadExclusion` for what cannot be added at all.
    """
    entry = _checked_entry(request, now)
    models = RoutedModel.objects.all() if request.model_pk is None else [_model(request.model_pk)]
    return _warnings(effects_of(_row(request, entry, now), models, now=now))


def add_runtime(request: NewExclusion, *, now: datetime) -> Exclusion:
    """Add a runtime exclusion, under the lock of each model it is about.

    Raises `UnknownName` and `LeavesNothing`, which a confirmation overrules, and `BadExclusion` for what
    makes no sense.
    """
    entry = _checked_entry(request, now)
    with transaction.atomic():
        models = _locked_models(request.model_pk)
        _refuse_twin(entry, request.model_pk, now)
        is_unmatched = _is_unmatched(entry, request)
        effects = effects_of(_row(request, entry, now), models, now=now)
        _refuse_emptying(entry, request, effects)
        exclusion = Exclusion.objects.create(
            tier=Tier.RUNTIME.value,
            entry=entry,
            model_id=request.model_pk,
            reason=request.reason.strip(),
            may_give_way=request.may_give_way,
            is_unmatched=is_unmatched,
            created_at=now,
            created_by=request.user,
            expires_at=request.expires_at,
        )
        _announce_added(exclusion, request.actor, _warnings(effects))
        bump_version()
    return exclusion


def lift_runtime(
    exclusion_pk: int, *, reason: str, actor: str, now: datetime, user: User | None = None
) -> Exclusion:
    """End a runtime exclusion now. Raises `BadExclusion` without a reason, or when no such one is in force."""
    _check_reason(reason)
    with transaction.atomic():
        found = Exclusion.objects.filter(pk=exclusion_pk, tier=Tier.RUNTIME.value).first()
        if found is None:
            raise BadExclusion(f"There is no runtime exclusion {exclusion_pk}.")
        _locked_models(found.model_id)
        is_open = open_exclusions(now).filter(pk=exclusion_pk)
        if not is_open.update(lifted_at=now, lifted_by=user, lift_reason=reason.strip()):
            raise BadExclusion(f"The exclusion of {found.entry} has ended already.")
        exclusion = Exclusion.objects.select_related("model").get(pk=exclusion_pk)
        sentence = f"The exclusion of {exclusion.entry} for {scope_of(exclusion)} is lifted: {reason.strip()}"
        announce_exclusion(exclusion, Action.EXCLUSION_LIFT, sentence, at=now, actor=actor)
        bump_version()
    return exclusion


def add_canary(
    endpoint: Endpoint, *, expires_at: datetime, reason: str, contracts: Iterable[str], now: datetime
) -> Exclusion:
    """The exclusion of an enforced suspension, from `now` to `expires_at`.

    In the suspension's transaction, which also holds its decision.
    """
    require_transaction("A suspension's exclusion")
    exclusion = Exclusion.objects.create(
        tier=Tier.CANARY.value,
        entry=endpoint.tag,
        model_id=endpoint.model_id,
        reason=reason[:REASON_LIMIT],
        contracts=sorted(contracts),
        created_at=now,
        expires_at=expires_at,
    )
    bump_version()
    return exclusion


def end_canary(exclusion: Exclusion, *, at: datetime, reason: str) -> bool:
    """End the exclusion of a suspension, in the transaction that ends the suspension. False: it had ended."""
    require_transaction("The end of a suspension's exclusion")
    is_open = Exclusion.objects.filter(pk=exclusion.pk, tier=Tier.CANARY.value, lifted_at__isnull=True)
    if not is_open.update(lifted_at=at, lift_reason=reason[:REASON_LIMIT]):
        return False
    exclusion.refresh_from_db()
    bump_version()
    return True


def _checked_entry(request: NewExclusion, now: datetime) -> str:
    """The normalised name of `request`. Raises `BadExclusion` with one sentence for what cannot be."""
    _check_reason(request.reason)
    if request.expires_at is not None and request.expires_at <= now:
        raise BadExclusion("An exclusion must end in the future.")
    try:
        return normalise(request.entry)
    except ValueError as error:
        raise BadExclusion(str(error)) from error


def _check_reason(reason: str) -> None:
    if not reason.strip():
        raise BadExclusion("A reason is needed.")
    if len(reason.strip()) > REASON_LIMIT:
        raise BadExclusion(f"A reason has at most {REASON_LIMIT} characters.")


def _model(model_pk: int) -> RoutedModel:
    try:
        return RoutedModel.objects.get(pk=model_pk)
    except RoutedModel.DoesNotExist as error:
        raise BadExclusion(f"There is no model {model_pk}.") from error


def _locked_models(model_pk: int | None) -> list[RoutedModel]:
    """The models an exclusion is about, locked."""
    if model_pk is None:
        return lock_all_models()
    try:
        return [lock_model(model_pk)]
    except RoutedModel.DoesNotExist as error:
        raise BadExclusion(f"There is no model {model_pk}.") from error


def _refuse_twin(entry: str, model_pk: int | None, now: datetime) -> None:
    twin = open_exclusions(now).filter(tier=Tier.RUNTIME.value, entry=entry, model_id=model_pk).first()
    if twin is not None:
        raise BadExclusion(f"{entry} is excluded for {scope_of(twin)} already: {twin.reason}")


def _is_unmatched(entry: str, request: NewExclusion) -> bool:
    known = known_names()
    if entry in known:
        return False
    if not request.is_confirmed:
        raise UnknownName(entry, nearest(entry, known))
    return True


def _refuse_emptying(entry: str, request: NewExclusion, effects: Sequence[Effect]) -> None:
    emptied = [effect.model for effect in effects if effect.leaves_nothing]
    if emptied and not request.is_confirmed:
        raise LeavesNothing(entry, emptied)


def _row(request: NewExclusion, entry: str, now: datetime) -> ExclusionRow:
    """The exclusion as it would stand in every snapshot."""
    return ExclusionRow(
        key="runtime:new",
        tier=Tier.RUNTIME,
        entry=entry,
        reason=request.reason,
        starts_at=now,
        ends_at=request.expires_at,
        may_give_way=request.may_give_way,
    )


def _warnings(effects: Iterable[Effect]) -> tuple[str, ...]:
    return tuple(warning for effect in effects for warning in effect.warnings())


def _announce_added(exclusion: Exclusion, actor: str, warnings: Sequence[str]) -> None:
    until = (
        f"until {exclusion.expires_at:%Y-%m-%d %H:%M} UTC" if exclusion.expires_at else "until it is lifted"
    )
    at = exclusion.created_at
    sentence = f"{exclusion.entry} is excluded for {scope_of(exclusion)} {until}: {exclusion.reason}"
    announce_exclusion(exclusion, Action.EXCLUDE, sentence, at=at, actor=actor, warnings=warnings)
    if exclusion.is_unmatched:
        unmatched = (
            f"{exclusion.entry} is excluded although no such name was ever seen: the gateway ignores it."
        )
        announce_exclusion(exclusion, Action.UNMATCHED, unmatched, at=at, actor=actor)
