"""Rounds from claim to close: claimed once, worked under a lease, continued after a death, closed once.

The row is the truth: `tick` claims due rounds and finds those whose worker died; `work` carries one out. A task
message that is lost, doubled or late changes nothing.
"""

import logging
from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from uuid import UUID, uuid4

from asgiref.sync import async_to_sync
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import F, OuterRef, Q, QuerySet, Subquery

from canary import enforcement, model_state, planning, telling
from canary.domain import schedule
from canary.domain.capacity import ModelState
from canary.domain.pooling import pool
from canary.domain.schedule import BudgetStage
from canary.domain.transition import BLIND_ROUNDS
from canary.domain.verdicts import Contract
from canary.enforcement import ClosedRound
from canary.models import ProbeRun, Round, RoundStatus, RunState, Suspension
from canary.planning import EVERYTHING, Selection
from canary.round_runner import LeaseLost, RoundRunner, SkipRound
from canary.run_records import OurSide, facts_of
from incidents.domain.actions import Action
from routing.clock import database_now
from routing.domain.modes import Mode
from routing.judges.languages import LANGUAGES
from routing.models import RoutedModel

logger = logging.getLogger(__name__)

QUEUE = "queue"
# A round that was sent to the workers is sent again when none has taken it for so long.
QUEUE_WAIT = timedelta(seconds=120)
# A round that killed so many workers is closed with what it has.
TAKEOVERS = 4


class RoundRunning(ValueError):
    """A round of the model is running already."""


def tick() -> list[UUID]:
    """Let time pass for every model and say which rounds a worker must take now.

    What is wrong with one model is logged and costs no other model its round.
    """
    now = database_now()
    for model_pk in _models_with_something_due(now):
        _isolated(partial(enforcement.advance_model, model_pk), model_pk)
    for model in _watched_with_last_round():
        _isolated(partial(claim_due, model, now=now), model.pk)
    return _hand_out(now)


def _isolated(step: Callable[[], object], model_pk: int) -> None:
    try:
        step()
    except Exception:  # another model's rounds must not wait for a person to mend this one
        logger.exception("model %s cannot be ticked", model_pk)


def _watched_with_last_round() -> "QuerySet[RoutedModel]":
    """Watched models, each with `last_slot` and `last_started_at` of its latest scheduled round: one query."""
    last = Round.objects.filter(model=OuterRef("pk"), is_manual=False).order_by("-started_at")
    return (
        RoutedModel.objects.exclude(mode=Mode.OFF.value)
        .select_related("gateway")
        .annotate(
            last_slot=Subquery(last.values("slot")[:1]),
            last_started_at=Subquery(last.values("started_at")[:1]),
        )
    )


def _models_with_something_due(now: datetime) -> list[int]:
    """Models with a suspension at its end, too long a silence, or a reminder not told yet: three queries."""
    active = Suspension.objects.filter(ended_at__isnull=True, ends_at__lte=now)
    due = set(active.values_list("endpoint__model_id", flat=True))
    reminders: dict[str, int] = {}
    for model in RoutedModel.objects.exclude(mode=Mode.OFF.value).select_related("standing"):
        anchors = getattr(model, "standing", None)
        last = (anchors.last_closed_at if anchors else None) or model.created_at
        is_blind = anchors is not None and model_state.BLIND in anchors.episodes
        if not is_blind and now - last > timedelta(seconds=BLIND_ROUNDS * model.interval_s):
            due.add(model.pk)
        if anchors is not None:
            reminders |= dict.fromkeys(telling.reminder_keys(anchors, model.slug, now=now), model.pk)
    due |= {reminders[key] for key in telling.untold(reminders)}
    return sorted(due)


def claim_due(model: RoutedModel, *, now: datetime) -> Round | None:
    """Claim the model's present slot when a round is due; None when not, or when somebody else has it."""
    slot = schedule.slot_at(now, model.slug, model.interval_s)
    last_slot, last_started_at = _last_round(model)
    if last_slot is not None and last_slot >= slot:
        return None
    policy = model_state.policy_of(model)
    if not schedule.is_due(now, last_started_at=last_started_at, policy=policy):
        return None
    stretch = _stretch(model, now)
    if not schedule.is_due(now, last_started_at=last_started_at, policy=policy, stretch=stretch):
        return None
    return _create(model, now=now, slot=slot)


def _last_round(model: RoutedModel) -> tuple[int | None, datetime | None]:
    """(slot, start) of the model's latest scheduled round, as annotated or read now."""
    if hasattr(model, "last_slot"):
        return model.last_slot, getattr(model, "last_started_at", None)
    last = (
        model.rounds.filter(is_manual=False).order_by("-started_at").values_list("slot", "started_at").first()
    )
    return last or (None, None)


def _stretch(model: RoutedModel, now: datetime) -> float:
    spend = planning.spend_of(model, now=now)
    if schedule.budget_stage(spend) is not BudgetStage.SPREAD:
        return 1.0
    return schedule.stretch(spend, now=now, interval_s=model.interval_s)


def _create(model: RoutedModel, *, now: datetime, slot: int | None, holder: str = "") -> Round | None:
    """The row is the claim: of several beats exactly one makes it."""
    leased_until = now + timedelta(seconds=settings.ROUND_LEASE_S) if holder else None
    try:
        with transaction.atomic():
            return Round.objects.create(
                model=model,
                slot=slot,
                is_manual=slot is None,
                started_at=now,
                lease_owner=holder,
                leased_until=leased_until,
            )
    except IntegrityError:
        return None


def request_round(model_pk: int, *, actor: str, holder: str = "") -> Round:
    """Ask for a round by hand; it scores nobody (C12). Raises `RoundRunning`.

    The next tick hands it to a worker, unless a `holder` is named who carries it out itself.
    """
    model = RoutedModel.objects.get(pk=model_pk)
    now = database_now()
    _close_abandoned(model, now)
    round_ = _create(model, now=now, slot=None, holder=holder)
    if round_ is None:
        raise RoundRunning(f"A round of {model.slug} is running; ask again when it has closed.")
    logger.info("round %s of %s was asked for by %s", round_.pk, model.slug, actor)
    return round_


def _close_abandoned(model: RoutedModel, now: datetime) -> None:
    """Close a round by hand whose holder has gone, when no worker has taken it over."""
    gone = model.rounds.filter(status=RoundStatus.RUNNING, is_manual=True, leased_until__lt=now).first()
    if gone is not None:
        close(gone, gone.lease_owner, note="Its holder went away.")


def _hand_out(now: datetime) -> list[UUID]:
    """Running rounds nobody holds, marked as sent to the workers: each is handed out once a while."""
    free = Round.objects.filter(_is_free(now), status=RoundStatus.RUNNING)
    return [
        pk
        for pk in free.values_list("pk", flat=True)
        if Round.objects.filter(_is_free(now), pk=pk, status=RoundStatus.RUNNING).update(
            leased_until=now + QUEUE_WAIT, lease_owner=QUEUE
        )
    ]


def _is_free(now: datetime) -> Q:
    return Q(leased_until__isnull=True) | Q(leased_until__lt=now)


def work_by_hand(model_pk: int, *, actor: str, selection: Selection = EVERYTHING) -> Round | None:
    """A round asked for by hand and carried out here and now. Raises `RoundRunning`."""
    holder = uuid4().hex
    asked = request_round(model_pk, actor=actor, holder=holder)
    return work(asked.pk, selection=selection, holder=holder)


def work(
    round_pk: UUID,
    *,
    selection: Selection = EVERYTHING,
    holder: str = QUEUE,
    started_at: datetime | None = None,
) -> Round | None:
    """Carry out a round that is free or held by `holder`, and close it. None when somebody else holds it.

    It starts when it is first taken, not when it was claimed: rounds that waited for a worker must not count
    as two in a row (C12). `started_at` replaces that moment (recorded histories).
    """
    owner = _take(round_pk, holder)
    if owner is None:
        return None
    Round.objects.filter(pk=round_pk, is_planned=False).update(started_at=started_at or database_now())
    round_ = Round.objects.select_related("model__gateway").get(pk=round_pk)
    if round_.takeovers > TAKEOVERS:
        close(round_, owner, note="Closed with what it had: its workers died too often.")
        return round_
    _mark_lost(round_)
    runner = RoundRunner(
        round_, owner=owner, plan=lambda: _plan(round_, selection), confirms=selection.repeat == 1
    )
    try:
        async_to_sync(runner.run)()
    except OurSide as error:
        _stop(round_, owner, str(error))
    except SkipRound as error:
        _skip(round_, owner, str(error))
    except LeaseLost as error:
        logger.warning("%s", error)
        return None
    else:
        close(round_, owner)
    round_.refresh_from_db()
    return round_


def _take(round_pk: UUID, holder: str = QUEUE) -> str | None:
    """Take the lease of a running round that is free or held by `holder`. Returns the owner's mark."""
    now = database_now()
    owner = uuid4().hex
    taken = Round.objects.filter(
        _is_free(now) | Q(lease_owner=holder), pk=round_pk, status=RoundStatus.RUNNING
    ).update(
        leased_until=now + timedelta(seconds=settings.ROUND_LEASE_S),
        lease_owner=owner,
        takeovers=F("takeovers") + 1,
    )
    return owner if taken else None


def _mark_lost(round_: Round) -> None:
    """Runs a dead worker had sent may have been paid for: they are never sent again and count as missing."""
    lost = ProbeRun.objects.filter(round=round_, state=RunState.SENT).update(state=RunState.LOST)
    if lost:
        logger.warning("round %s goes on after a death; %d runs have no result", round_.pk, lost)


@transaction.atomic
def _plan(round_: Round, selection: Selection) -> None:
    """Plan the round's runs; a budget that is used up is told with it and leaves little or nothing to run (C21)."""
    slot = round_.slot if round_.slot is not None else int(round_.started_at.timestamp())
    rotation = selection.language or schedule.rotation_language(
        tuple(LANGUAGES), slot, round_.model.interval_s
    )
    usual = int(slot // round_.model.interval_s) // len(LANGUAGES)
    stage = planning.plan(round_, rotation=rotation, usual_variant=usual, selection=selection)
    if stage in (BudgetStage.ESSENTIAL, BudgetStage.EXHAUSTED):
        _tell_budget(round_, stage)
    round_.refresh_from_db()


def _tell_budget(round_: Round, stage: BudgetStage) -> None:
    step = enforcement.begin(round_.model_id)
    what = "Only what is essential is probed." if stage is BudgetStage.ESSENTIAL else "Nothing is probed."
    day = round_.started_at.date().isoformat()
    telling.once_a_key(
        step,
        Action.BUDGET,
        "C21",
        f"The budget of {round_.model.budget_usd} USD for {day} is used up. {what}",
        key=f"{round_.model.slug}:budget:{day}:{stage}",
    )


@transaction.atomic
def _stop(round_: Round, owner: str, sentence: str) -> None:
    """Close a round as our side (C3): nobody is scored, what was recorded stays, told once an episode."""
    step = enforcement.begin(round_.model_id)
    if not Round.objects.filter(pk=round_.pk, status=RoundStatus.RUNNING, lease_owner=owner).exists():
        return
    ProbeRun.objects.filter(round=round_, state__in=[RunState.DUE, RunState.SENT]).update(
        state=RunState.DROPPED
    )
    close(round_, owner, is_our_side=True, note=sentence)
    telling.our_side(step, round_, sentence)


@transaction.atomic
def _skip(round_: Round, owner: str, sentence: str) -> None:
    """Close a round that could not begin: no list of endpoints, or of what the model can do, to trust (C1)."""
    enforcement.begin(round_.model_id)
    Round.objects.filter(pk=round_.pk, status=RoundStatus.RUNNING, lease_owner=owner).update(
        status=RoundStatus.SKIPPED, closed_at=database_now(), leased_until=None, note=sentence[:500]
    )


def close(round_: Round, owner: str, *, is_our_side: bool = False, note: str = "") -> ModelState | None:
    """Pool the round's runs and let enforcement decide. None when it is closed or somebody else's."""
    runs: dict[int, list[ProbeRun]] = {}
    planned = ProbeRun.objects.filter(round=round_)
    for run in planned.exclude(state=RunState.DROPPED).order_by("pk"):
        runs.setdefault(run.endpoint_id, []).append(run)
    outcome = enforcement.close_round(
        ClosedRound(
            round_id=round_.pk,
            pooled={pk: pool([facts_of(run) for run in mine]) for pk, mine in runs.items()},
            languages={pk: asked_language(mine) for pk, mine in runs.items()},
            versions={
                pk: {Contract(run.contract): run.probe_version for run in mine} for pk, mine in runs.items()
            },
            owner=owner,
            is_our_side=is_our_side,
            is_exhausted=round_.is_planned and not round_.is_manual and not planned.exists(),
            note=note,
        )
    )
    return outcome.state if outcome else None


def asked_language(runs: Iterable[ProbeRun]) -> str:
    """The language an endpoint was asked in a round; empty when its language was not asked."""
    return next((run.language for run in runs if run.contract == Contract.LANGUAGE), "")
