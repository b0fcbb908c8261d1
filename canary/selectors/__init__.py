"""Reads for people: the fleet as the first page shows it in a fixed number of queries, and suspensions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from canary import model_state
from canary.domain import schedule
from canary.domain.overview import (
    EndpointLine,
    ModelCard,
    ModelFacts,
    RoundLine,
    Tally,
    Weight,
    concerns,
    tally,
)
from canary.domain.policy import Policy, PolicyError
from canary.domain.statistics import FalsePositiveShare, false_positive_share
from canary.models import ProbeRun, Review, Round, RoundStatus, RunState, Suspension
from canary.selectors.lines import Rounds, endpoint_lines, recent_rounds
from incidents import selectors as incident_selectors
from incidents.models import Decision, Delivery
from routing.domain.modes import Mode
from routing.models import Endpoint, EnforcementSwitch, RoutedModel

LATEST_DECISIONS = 12
_WEIGHTS = list(Weight)


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """Everything the first page shows. `undelivered` counts notifications by delivery status."""

    at: datetime
    cards: Sequence[ModelCard]
    tally: Tally
    switch: EnforcementSwitch
    decisions: Sequence[Decision]
    undelivered: Mapping[str, int]

    @property
    def undelivered_words(self) -> str:
        """What was not told, in a sentence."""
        dead, unaddressed = (
            self.undelivered.get(Delivery.DEAD, 0),
            self.undelivered.get(Delivery.UNADDRESSED, 0),
        )
        parts = [
            f"Notifications given up: {dead}." if dead else "",
            f"Notifications that reached nobody, because no mail is configured: {unaddressed}."
            if unaddressed
            else "",
        ]
        return " ".join(part for part in parts if part)


def fleet(now: datetime) -> Fleet:
    """The whole fleet as of `now`; blind models first, then those with the heaviest concerns."""
    models = list(RoutedModel.objects.select_related("standing").order_by("slug"))
    rounds = recent_rounds(models, now=now)
    turned = switch()
    lines = endpoint_lines(models, rounds, now=now, is_stopped=turned.is_stopped)
    progress = _progress(rounds)
    spent = _spent_today(now)
    cards = [
        _card(
            model,
            lines.get(model.pk, ()),
            _latest(rounds.get(model.pk, ()), progress),
            spent.get(model.pk),
            now,
        )
        for model in models
    ]
    return Fleet(
        at=now,
        cards=sorted(cards, key=_urgency),
        tally=tally(cards),
        switch=turned,
        decisions=list(incident_selectors.latest_decisions(LATEST_DECISIONS)),
        undelivered=incident_selectors.undelivered(),
    )


def switch() -> EnforcementSwitch:
    """The enforcement switch; running when its row is missing."""
    return EnforcementSwitch.objects.filter(pk=1).first() or EnforcementSwitch()


def with_serving_count(models: QuerySet[RoutedModel]) -> QuerySet[RoutedModel]:
    """The models, each with `serving_count`."""
    serving = Endpoint.objects.filter(model=OuterRef("pk"), is_serving=True).order_by()
    count = serving.values("model").annotate(count=Count("pk")).values("count")
    return models.annotate(serving_count=Coalesce(Subquery(count), 0))


def review_share(model: RoutedModel) -> FalsePositiveShare:
    """How people judged the model's suspensions and would-suspends (C17)."""
    judged = Suspension.objects.filter(endpoint__model=model).exclude(judgement="").order_by()
    counts = dict(judged.values_list("judgement").annotate(Count("pk")))
    return false_positive_share(
        false=counts.get(Review.FALSE_POSITIVE, 0), correct=counts.get(Review.CORRECT, 0)
    )


def active_suspensions(model: RoutedModel, *, now: datetime) -> Mapping[bool, int]:
    """How many suspensions of the model are in force: shadows (True) and enforced ones (False)."""
    active = Suspension.objects.filter(
        endpoint__model=model, ended_at__isnull=True, ends_at__gt=now
    ).order_by()
    return dict(active.values_list("is_shadow").annotate(Count("pk")))


def _progress(rounds: Rounds) -> Mapping[UUID, tuple[int, int]]:
    """(runs with a result, all runs) of the rounds that are running."""
    running = [one.pk for some in rounds.values() for one in some if one.status == RoundStatus.RUNNING]
    done = Count("pk", filter=~Q(state__in=[RunState.DUE, RunState.SENT]))
    runs = ProbeRun.objects.filter(round__in=running).order_by()
    rows = runs.values("round").annotate(done=done, total=Count("pk")).values_list("round", "done", "total")
    return {pk: (finished, total) for pk, finished, total in rows}


def _latest(rounds: Sequence[Round], progress: Mapping[UUID, tuple[int, int]]) -> RoundLine | None:
    if not rounds:
        return None
    latest = rounds[0]
    done, total = progress.get(latest.pk, (0, 0))
    return RoundLine(
        pk=str(latest.pk), started_at=latest.started_at, status=latest.status, language=latest.language,
        is_scored=latest.is_scored, is_manual=latest.is_manual, note=latest.note, done=done, total=total,
    )  # fmt: skip


def _spent_today(now: datetime) -> Mapping[int, Decimal]:
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    runs = ProbeRun.objects.filter(round__started_at__gte=midnight, cost_usd__isnull=False)
    return dict(runs.order_by().values_list("round__model").annotate(Sum("cost_usd")))


def _card(
    model: RoutedModel,
    lines: tuple[EndpointLine, ...],
    last_round: RoundLine | None,
    spent_usd: Decimal | None,
    now: datetime,
) -> ModelCard:
    anchors = getattr(model, "standing", None)
    floor, policy_error = _floor(model)
    facts = ModelFacts(
        slug=model.slug,
        mode=Mode(model.mode),
        floor=floor,
        policy_error=policy_error,
        providers=len({line.tag.partition("/")[0] for line in lines if line.state.is_production}),
        is_gone=model.is_gone,
        discovered_at=model.discovered_at,
        episodes={
            name: datetime.fromisoformat(since)
            for name, since in (anchors.episodes if anchors else {}).items()
        },
        last_round=last_round,
        spent_usd=spent_usd or Decimal(0),
        budget_usd=model.budget_usd,
    )
    return ModelCard(
        pk=model.pk,
        facts=facts,
        endpoints=lines,
        concerns=concerns(facts, now=now),
        next_round_at=_next_round_at(model, now),
    )


def _floor(model: RoutedModel) -> tuple[int, str]:
    """The floor of its policy, and what is wrong with that: one bad row must not take the first page away."""
    try:
        return model_state.policy_of(model).floor, ""
    except PolicyError as error:
        return Policy().floor, str(error)


def _next_round_at(model: RoutedModel, now: datetime) -> datetime | None:
    """The start of the model's next interval; None when it is off."""
    if model.mode == Mode.OFF:
        return None
    slot = schedule.slot_at(now, model.slug, model.interval_s)
    return datetime.fromtimestamp(slot + model.interval_s, tz=now.tzinfo)


def _urgency(card: ModelCard) -> tuple[bool, int, str]:
    return "blind" not in card.facts.episodes, _WEIGHTS.index(card.weight), card.facts.slug


def suspensions_in(state: str | None, rows: QuerySet[Suspension], *, now: datetime) -> QuerySet[Suspension]:
    """The suspensions of `rows` that are `active`, `shadow` (would-suspends in force) or `past`; else all."""
    lasts = Q(ended_at__isnull=True, ends_at__gt=now)
    wanted = {"active": lasts & Q(is_shadow=False), "shadow": lasts & Q(is_shadow=True), "past": ~lasts}
    return rows.filter(wanted[state]) if state in wanted else rows


def failed_runs_of(held: Suspension) -> QuerySet[ProbeRun]:
    """The failing probe runs of the round that caused a suspension, of its endpoint."""
    runs = ProbeRun.objects.filter(round=held.round_id, endpoint=held.endpoint_id, verdict="fail")
    return runs.select_related("endpoint").order_by("contract", "ordinal")
