"""Applying what the pure rules decide: every transition of a model's state, under the model's one lock.

Each function opens one transaction, locks the model, loads its state, calls `canary.domain.suspension` and writes
the rows, the exclusions, the decisions and the notifications of every decision together (rule C19).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction

from canary import model_state, telling
from canary.domain import suspension as rules
from canary.domain.capacity import ModelState
from canary.domain.decision import Decision, Outcome, RoundFacts
from canary.domain.policy import Policy
from canary.domain.pooling import Pooled
from canary.domain.scoring import EndpointFacts, Result
from canary.domain.verdicts import Contract, Verdict
from canary.models import EndKind, EndpointRound, Round, RoundStatus, Suspension
from incidents.domain.actions import Action
from routing import exclusions
from routing.clock import database_now
from routing.domain.modes import Mode
from routing.locks import lock_model
from routing.models import Endpoint, RoutedModel
from routing.selectors import excluded_tags
from routing.versions import bump_version

END_KINDS = {
    Action.EXPIRE: EndKind.EXPIRE,
    Action.RECOVER: EndKind.RECOVER,
    Action.LIFT: EndKind.LIFT,
    Action.RENEW: EndKind.RENEW,
}


class NotActive(ValueError):
    """The suspension to lift is not active any more."""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One locked step: the model, its state and policy before, and who acts."""

    model: RoutedModel
    policy: Policy
    before: ModelState
    now: datetime
    actor: str = "canary"
    round: Round | None = None


@dataclass(frozen=True, kw_only=True)
class ClosedRound:
    """What a round brought, as the rounds module hands it over, by the endpoints' keys.

    `owner` is the mark of the lease it was worked under; None closes it whoever holds it.
    """

    round_id: UUID
    pooled: Mapping[int, Pooled]
    languages: Mapping[int, str]
    versions: Mapping[int, Mapping[Contract, int]] = field(default_factory=dict)
    owner: str | None = None
    is_our_side: bool = False
    is_exhausted: bool = False
    note: str = ""


def begin(model_pk: int, *, now: datetime | None = None, actor: str = "canary") -> Step:
    """Lock the model and load its state. Must run inside a transaction."""
    model = lock_model(model_pk)
    moment = now or database_now()
    return Step(
        model=model,
        policy=model_state.policy_of(model),
        before=model_state.load(model, now=moment),
        now=moment,
        actor=actor,
    )


@transaction.atomic
def close_round(closed: ClosedRound) -> Outcome | None:
    """Close a running round: score it, decide, write everything. None when it is closed or somebody else's."""
    model_pk = Round.objects.values_list("model_id", flat=True).get(pk=closed.round_id)
    step = begin(model_pk)
    round_ = Round.objects.filter(pk=closed.round_id, status=RoundStatus.RUNNING).first()
    if round_ is None or closed.owner not in (None, round_.lease_owner):
        return None
    step = replace(step, round=round_)
    facts = _round_facts(step, round_, closed)
    outcome = rules.apply_round(step.before, facts, step.policy)
    _write_round(step, round_, closed, facts, outcome)
    if outcome.is_scored:
        _note_filtering_proof(step, facts)
        telling.note_common_causes(step, outcome)
    commit(step, outcome)
    return outcome


@transaction.atomic
def advance_model(model_pk: int) -> Outcome:
    """Let time pass for a model: ends, renewals, silence. Cheap when nothing is due."""
    step = begin(model_pk)
    outcome = rules.advance(step.before, step.now, step.policy)
    commit(step, outcome)
    telling.remind(step)
    return outcome


@transaction.atomic
def set_mode(model_pk: int, mode: Mode, *, actor: str, reason: str) -> Outcome:
    """Switch a model's mode (rule C17): streaks restart, what is active ends at once and is not revived."""
    step = begin(model_pk, actor=actor)
    outcome = rules.switch_mode(step.before, mode, step.policy, at=step.now)
    before = step.before.mode
    if mode is not before:
        RoutedModel.objects.filter(pk=model_pk).update(mode=mode.value)
        _overtake_running_round(model_pk)
        telling.human(
            step,
            Action.MODE,
            "C17",
            f"Mode switched from {before} to {mode}: {reason}",
            inputs={"from": before},
        )
    commit(step, outcome, end_kind=EndKind.MODE if mode is not before else None)
    bump_version()
    return outcome


def _overtake_running_round(model_pk: int) -> None:
    """A round that began before a switch of mode would carry a streak over it: it scores nobody (C17)."""
    Round.objects.filter(model_id=model_pk, status=RoundStatus.RUNNING).update(is_overtaken=True)


@transaction.atomic
def set_contract_modes(model_pk: int, modes: Mapping[str, str], *, actor: str, reason: str) -> Outcome:
    """Set the lower modes of single contracts: a switch of mode like any other (rule C17)."""
    step = begin(model_pk, actor=actor)
    before = dict(step.model.contract_modes)
    step.model.contract_modes = dict(modes)
    lower = model_state.observed_contracts(step.model)
    outcome = rules.observe_contracts(step.before, lower, step.policy, at=step.now)
    if before != step.model.contract_modes:
        RoutedModel.objects.filter(pk=model_pk).update(contract_modes=step.model.contract_modes)
        _overtake_running_round(model_pk)
        inputs = {"from": before, "to": step.model.contract_modes}
        telling.human(step, Action.MODE, "C17", f"Modes of contracts switched: {reason}", inputs=inputs)
    commit(step, outcome, end_kind=EndKind.MODE)
    bump_version()
    return outcome


def lift_suspension(
    suspension_pk: int,
    *,
    actor: str,
    reason: str,
    is_false_positive: bool,
    not_before: datetime | None = None,
) -> Outcome:
    """Lift an active suspension or shadow by hand (rule C18). Raises `NotActive`, ValueError without a reason."""
    if not reason.strip():
        raise ValueError("Lifting a suspension needs a reason.")
    with transaction.atomic():
        held = Suspension.objects.select_related("endpoint").get(pk=suspension_pk)
        step = begin(held.endpoint.model_id, actor=actor)
        held.refresh_from_db(fields=["ended_at", "ends_at"])
        if held.ended_at is not None or held.ends_at <= step.now:
            raise NotActive(f"The suspension of {held.endpoint.tag} has ended already.")
        outcome = rules.lift(
            step.before,
            held.endpoint.tag,
            step.policy,
            at=step.now,
            is_false_positive=is_false_positive,
            reason=reason.strip(),
            not_before=not_before,
        )
        commit(step, outcome)
        return outcome


def commit(step: Step, outcome: Outcome, *, end_kind: EndKind | None = None) -> None:
    """Write an outcome: effects of each decision, the decision itself, what must be told, the standings."""
    for decision in outcome.decisions:
        _take_effect(step, decision, end_kind)
        telling.automatic(step, decision, outcome)
    model_state.save(step.model, step.before, outcome.state, now=step.now)


def _take_effect(step: Step, decision: Decision, end_kind: EndKind | None) -> None:
    """The rows a decision changes besides the log."""
    match decision.action:
        case Action.SUSPEND:
            _start(step, decision)
        case Action.RENEW:
            _end(step, decision, EndKind.RENEW)
            _start(step, decision)
        case Action.EXPIRE | Action.RECOVER | Action.LIFT:
            _end(step, decision, end_kind or END_KINDS[decision.action])
        case _:
            return


def _start(step: Step, decision: Decision) -> None:
    if decision.until is None or decision.level is None:
        raise ValueError("A suspension has an end and a level.")
    endpoint = Endpoint.objects.select_related("provider", "model").get(
        model=step.model, tag=decision.endpoint
    )
    held = Suspension.objects.create(
        endpoint=endpoint,
        round=step.round,
        is_shadow=not decision.is_enforced,
        level=decision.level,
        started_at=decision.at,
        ends_at=decision.until,
        culprits=[list(pair) for pair in decision.pairs],
    )
    if decision.is_enforced:
        held.exclusion = exclusions.add_canary(
            endpoint,
            expires_at=decision.until,
            reason=decision.reason,
            contracts=sorted({str(pair.contract) for pair in decision.pairs}),
            now=decision.at,
        )
        held.save(update_fields=["exclusion"])


def _end(step: Step, decision: Decision, kind: EndKind) -> None:
    held = Suspension.objects.select_related("exclusion").get(
        endpoint__model=step.model, endpoint__tag=decision.endpoint, ended_at__isnull=True
    )
    changes: dict[str, Any] = {"ended_at": decision.at, "end_kind": kind}
    if decision.is_false_positive:
        changes |= {"judgement": "false positive", "judged_at": decision.at}
    Suspension.objects.filter(pk=held.pk, ended_at__isnull=True).update(**changes)
    if held.exclusion is not None:
        exclusions.end_canary(held.exclusion, at=decision.at, reason=decision.reason)


def _round_facts(step: Step, round_: Round, closed: ClosedRound) -> RoundFacts:
    """The round in the words of the domain, from the endpoints serving now and the pooled verdicts."""
    excluded = excluded_tags(step.model, now=step.now, tiers=model_state.OTHER_TIERS)
    admitted = model_state.admitted_tags(step.model)
    lifted = _lifted_since(step.model, round_.started_at)
    facts = []
    for endpoint in step.model.endpoints.select_related("provider").order_by("tag"):
        pooled = None if endpoint.pk in lifted else closed.pooled.get(endpoint.pk)
        facts.append(
            EndpointFacts(
                tag=endpoint.tag,
                provider=endpoint.provider.slug,
                is_serving=endpoint.is_serving,
                in_other_tier=endpoint.tag in excluded,
                is_control=endpoint.is_control,
                is_protected=endpoint.is_protected,
                is_admitted=endpoint.tag in admitted,
                language=closed.languages.get(endpoint.pk),
                verdicts=pooled.verdicts if pooled else {},
                versions=closed.versions.get(endpoint.pk, {}),
                is_incomplete=pooled.is_incomplete if pooled else False,
            )
        )
    return RoundFacts(
        at=round_.started_at,
        finished_at=step.now,
        endpoints=tuple(facts),
        is_manual=round_.is_manual or round_.is_overtaken,
        is_our_side=closed.is_our_side,
        is_exhausted=closed.is_exhausted,
    )


def _lifted_since(model: RoutedModel, since: datetime) -> set[int]:
    """Endpoints lifted by hand since a round began: what it found before the lift must not count after it (C18)."""
    lifts = Suspension.objects.filter(endpoint__model=model, end_kind=EndKind.LIFT, ended_at__gt=since)
    return set(lifts.values_list("endpoint_id", flat=True))


def _write_round(step: Step, round_: Round, closed: ClosedRound, facts: RoundFacts, outcome: Outcome) -> None:
    verdicts = outcome.verdicts
    Round.objects.filter(pk=round_.pk).update(
        status=RoundStatus.STOPPED if closed.is_our_side else RoundStatus.CLOSED,
        closed_at=step.now,
        leased_until=None,
        is_scored=outcome.is_scored,
        is_weakened=bool(verdicts and verdicts.controls_passed),
        common_causes=[str(contract) for contract in verdicts.common] if verdicts else [],
        note=closed.note[:500],
    )
    pks = dict(step.model.endpoints.values_list("tag", "pk"))
    EndpointRound.objects.bulk_create(
        _endpoint_round(round_, pks[item.tag], item, closed, outcome)
        for item in facts.endpoints
        if item.is_serving
    )


def _note_filtering_proof(step: Step, facts: RoundFacts) -> None:
    """What this round's controls say of the filtering probe (C6): weakened, proved, or nothing."""
    if model_state.contract_mode(step.model, Contract.FILTERING) is Mode.OFF:
        return
    controls = [item for item in facts.endpoints if item.is_control and item.is_serving]
    seen = {item.verdicts.get(Contract.FILTERING) for item in controls}
    weakened = True if Verdict.PASS in seen else (False if Verdict.FAIL in seen or not controls else None)
    if controls and weakened is not None:
        model_state.note_control(step.model, now=step.now)
    telling.note_filtering_proof(step, weakened=weakened)


def _endpoint_round(
    round_: Round, pk: int, item: EndpointFacts, closed: ClosedRound, outcome: Outcome
) -> EndpointRound:
    pooled = closed.pooled.get(pk)
    effective = outcome.verdicts.effective.get(item.tag, {}) if outcome.verdicts else {}
    result: Result | None = outcome.results.get(item.tag)
    state = outcome.state.endpoints[item.tag]
    return EndpointRound(
        round=round_,
        endpoint_id=pk,
        result=result or "",
        language=item.language or "",
        raw={str(contract): str(verdict) for contract, verdict in item.verdicts.items()},
        effective={str(contract): str(verdict) for contract, verdict in effective.items()},
        reasons={str(contract): str(reason) for contract, reason in pooled.reasons.items()} if pooled else {},
        was_excluded=item.in_other_tier or (state.suspension is not None and not state.suspension.is_shadow),
    )
