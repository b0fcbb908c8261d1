"""A model's state between rows and the domain: load what the rules need, save what they changed."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from canary.domain.capacity import EndpointState, Held, ModelState, Rung
from canary.domain.policy import Policy, with_overrides
from canary.domain.scoring import Culprit, Pair, Standing
from canary.domain.verdicts import Contract, Verdict
from canary.models import ModelStanding, Suspension
from canary.models import Standing as StandingRow
from routing.domain.admission import is_admitted
from routing.domain.modes import Mode, Tier
from routing.models import Endpoint, RoutedModel
from routing.offers import serving_offers
from routing.selectors import excluded_tags
from routing.switch import is_enforcement_stopped

BLIND, BELOW_FLOOR, WEAKENED, UNPROVED = "blind", "below_floor", "weakened", "unproved"
OTHER_TIERS = (Tier.BUILTIN, Tier.RUNTIME)
STANDING_FIELDS = (
    "failing_streak",
    "clean_streak",
    "last_result_at",
    "culprits",
    "failed_contracts",
    "streak_contracts",
    "silent_rounds",
    "has_answered",
    "was_serving",
    "not_before",
)


def policy_of(model: RoutedModel) -> Policy:
    """The model's policy: the defaults, its interval, and the values set on it."""
    return with_overrides(Policy(interval_s=float(model.interval_s)), model.policy)


def contract_mode(model: RoutedModel, contract: Contract) -> Mode:
    """A contract's mode: its own when lower than the model's, else the model's."""
    order = list(Mode)
    own = model.contract_modes.get(str(contract), model.mode)
    return min(Mode(model.mode), Mode(own), key=order.index)


def observed_contracts(model: RoutedModel) -> frozenset[Contract]:
    """Contracts in a lower mode than the model."""
    return frozenset(one for one in Contract if contract_mode(model, one) is not Mode(model.mode))


def admitted_tags(model: RoutedModel) -> frozenset[str]:
    """Serving tags that the model's production preferences admit, by what they offer now."""
    offers = serving_offers([model])[model.pk]
    return frozenset(offer.tag for offer in offers if is_admitted(offer, model.preferences))


def load(model: RoutedModel, *, now: datetime) -> ModelState:
    """The model's state as the rules see it. The caller holds the model's lock."""
    anchors, _ = ModelStanding.objects.get_or_create(model=model)
    rungs = _rungs(model)
    excluded = excluded_tags(model, now=now, tiers=OTHER_TIERS)
    admitted = admitted_tags(model)
    rows = model.endpoints.select_related("provider", "standing").order_by("tag")
    endpoints = {row.tag: _endpoint_state(row, rungs.get(row.pk, []), excluded, admitted) for row in rows}
    return ModelState(
        model=model.slug,
        mode=Mode(model.mode),
        endpoints=endpoints,
        last_scored_at=anchors.last_scored_at,
        last_finished_at=anchors.last_closed_at or model.created_at,
        unscored_rounds=anchors.unscored_rounds,
        is_blind=BLIND in anchors.episodes,
        is_below_floor=BELOW_FLOOR in anchors.episodes,
        is_stopped=is_enforcement_stopped(),
        observed_contracts=observed_contracts(model),
    )


def _rungs(model: RoutedModel) -> dict[int, list[Suspension]]:
    """All suspensions and shadows of the model by endpoint, oldest first."""
    rungs: dict[int, list[Suspension]] = {}
    for held in Suspension.objects.filter(endpoint__model=model).order_by("started_at", "pk"):
        rungs.setdefault(held.endpoint_id, []).append(held)
    return rungs


def _endpoint_state(
    row: Endpoint, history: list[Suspension], excluded: Mapping[str, Any], admitted: frozenset[str]
) -> EndpointState:
    standing: StandingRow | None = getattr(row, "standing", None)
    active = next((held for held in history if held.ended_at is None), None)
    return EndpointState(
        tag=row.tag,
        provider=row.provider.slug,
        standing=standing_of(row),
        is_serving=standing.was_serving if standing else row.is_serving,
        in_other_tier=row.tag in excluded,
        is_protected=row.is_protected,
        is_admitted=row.tag in admitted,
        suspension=_held(active) if active else None,
        rungs=tuple(_rung(held) for held in history),
        not_before=standing.not_before if standing else None,
    )


def standing_of(endpoint: Endpoint) -> Standing:
    """The endpoint's standing, fresh when it has none yet."""
    row: StandingRow | None = getattr(endpoint, "standing", None)
    return _standing(row) if row else Standing()


def _held(row: Suspension) -> Held:
    return Held(started_at=row.started_at, until=row.ends_at, level=row.level, is_shadow=row.is_shadow)


def _rung(row: Suspension) -> Rung:
    return Rung(
        started_at=row.started_at,
        level=row.level,
        is_shadow=row.is_shadow,
        is_false_positive=row.judgement == "false positive",
    )


def _standing(row: StandingRow) -> Standing:
    return Standing(
        failing=row.failing_streak,
        clean=row.clean_streak,
        last_result_at=row.last_result_at,
        culprits=tuple(_culprit(item) for item in row.culprits),
        streak_contracts=frozenset(Contract(name) for name in row.streak_contracts),
        recent_failed=tuple(frozenset(Contract(name) for name in names) for names in row.failed_contracts),
        silent_rounds=row.silent_rounds,
        has_answered=row.has_answered,
    )


def _culprit(item: Mapping[str, Any]) -> Culprit:
    return Culprit(
        pair=Pair(Contract(item["contract"]), item["language"]),
        since=datetime.fromisoformat(item["since"]),
        asked_at=datetime.fromisoformat(item["asked_at"]),
        version=item.get("version", 0),
        latest=Verdict(item["latest"]),
        dry_rounds=item["dry_rounds"],
        in_streak=item["in_streak"],
        is_held=item["is_held"],
    )


def _culprit_json(culprit: Culprit) -> dict[str, Any]:
    return {
        "contract": str(culprit.pair.contract),
        "language": culprit.pair.language,
        "since": culprit.since.isoformat(),
        "asked_at": culprit.asked_at.isoformat(),
        "version": culprit.version,
        "latest": str(culprit.latest),
        "dry_rounds": culprit.dry_rounds,
        "in_streak": culprit.in_streak,
        "is_held": culprit.is_held,
    }


def save(model: RoutedModel, before: ModelState, after: ModelState, *, now: datetime) -> None:
    """Write back what a step changed: standings in one statement, the model's anchors and episodes."""
    changed = [state for tag, state in after.endpoints.items() if state != before.endpoints.get(tag)]
    if changed:
        pks = dict(model.endpoints.values_list("tag", "pk"))
        StandingRow.objects.bulk_create(
            [_standing_row(pks[state.tag], state) for state in changed],
            update_conflicts=True,
            unique_fields=["endpoint"],
            update_fields=list(STANDING_FIELDS),
        )
    anchors = ModelStanding.objects.get(model=model)
    ModelStanding.objects.filter(pk=anchors.pk).update(
        last_scored_at=after.last_scored_at,
        last_closed_at=anchors.last_closed_at
        if after.last_finished_at == before.last_finished_at
        else after.last_finished_at,
        unscored_rounds=after.unscored_rounds,
        episodes=with_episodes(
            anchors.episodes, {BLIND: after.is_blind, BELOW_FLOOR: after.is_below_floor}, now=now
        ),
    )


def with_episodes(
    episodes: Mapping[str, str], present: Mapping[str, bool], *, now: datetime
) -> dict[str, str]:
    """`episodes` (name → since) with those that begin now, without those that are over."""
    kept = {name: since for name, since in episodes.items() if present.get(name, True)}
    for name, is_on in present.items():
        if is_on:
            kept.setdefault(name, now.isoformat())
    return kept


def _standing_row(pk: int, state: EndpointState) -> StandingRow:
    standing = state.standing
    return StandingRow(
        endpoint_id=pk,
        failing_streak=standing.failing,
        clean_streak=standing.clean,
        last_result_at=standing.last_result_at,
        culprits=[_culprit_json(culprit) for culprit in standing.culprits],
        failed_contracts=[sorted(map(str, failed)) for failed in standing.recent_failed],
        streak_contracts=sorted(map(str, standing.streak_contracts)),
        silent_rounds=standing.silent_rounds,
        has_answered=standing.has_answered,
        was_serving=state.is_serving,
        not_before=state.not_before,
    )


def note_control(model: RoutedModel, *, now: datetime) -> None:
    """Remember when a control last came to a conclusive verdict (C6: without one filtering is unproved)."""
    ModelStanding.objects.filter(model=model).update(control_proved_at=now)
