"""Decisions into the log and, once an episode, into the outbox: in the transaction of their effect.

What is told is a plain sentence with contract, count and evidence; it accuses nobody (rules, aim; I1).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from canary import model_state
from canary.domain.capacity import ModelState, production_providers
from canary.domain.decision import Decision, Outcome
from canary.domain.verdicts import Contract
from canary.models import ModelStanding, ProbeRun, Round
from incidents import decisions, notifications
from incidents.domain.actions import Action, Severity
from incidents.models import Decision as DecisionRow
from incidents.models import Notification

if TYPE_CHECKING:
    from canary.enforcement import Step

# Rule C6: so long without a conclusive control, filtering is unproved.
CONTROL_PROOF = timedelta(hours=24)
SEVERITIES = {
    Action.BLIND: Severity.SEVERE,
    Action.BELOW_FLOOR: Severity.SEVERE,
    Action.COMMON_CAUSE: Severity.SEVERE,
    Action.OUR_SIDE: Severity.SEVERE,
    Action.SUSPEND: Severity.WARNING,
    Action.RENEW: Severity.WARNING,
    Action.REFUSE: Severity.WARNING,
    Action.PROTECT: Severity.WARNING,
    Action.WEAKENED: Severity.WARNING,
    Action.BUDGET: Severity.WARNING,
}
NEXT = {
    Action.SUSPEND: "It is probed like any other; two clean rounds in a row end the suspension early.",
    Action.RENEW: "It is probed like any other; two clean rounds in a row end the suspension early.",
    Action.REFUSE: "It stays in service; every further failing round asks again.",
    Action.PROTECT: "It stays in service; take the protection away to let the canary suspend it.",
    Action.RECOVER: "Requests may reach it again.",
    Action.EXPIRE: "Requests may reach it again.",
    Action.LIFT: "Requests may reach it again.",
    Action.BLIND: "Nothing is decided for the model until rounds come to results again.",
    Action.BELOW_FLOOR: "Nothing is released automatically; lift an exclusion or add a provider.",
    Action.COMMON_CAUSE: "The contract scored nobody in this round; look at probe, gateway and network first.",
    Action.WEAKENED: "Passes of the filtering probe count for nothing until a control fails again.",
}


def automatic(step: Step, decision: Decision, outcome: Outcome) -> DecisionRow:
    """Log one decision of the rules and tell it."""
    row = decisions.record(
        decisions.Entry(
            at=decision.at,
            action=decision.action,
            rule=decision.rule,
            reason=decision.reason,
            model=step.model.slug,
            endpoint=decision.endpoint or "",
            round_id=str(step.round.pk) if step.round else "",
            is_enforced=decision.is_enforced,
            mode=str(step.before.mode),
            level=decision.level,
            until=decision.until,
            actor=step.actor,
            inputs=_inputs(decision),
            policy=step.policy.as_json(),
            evidence=_evidence(step.round, step.model.pk, decision),
        )
    )
    _tell(step, row, decision, outcome.state)
    return row


def human(
    step: Step, action: Action, rule: str, reason: str, *, inputs: Mapping[str, Any], endpoint: str = ""
) -> DecisionRow:
    """Log and tell something a person did to a model or endpoint."""
    row = decisions.record(
        decisions.Entry(
            at=step.now,
            action=action,
            rule=rule,
            reason=reason,
            model=step.model.slug,
            endpoint=endpoint,
            mode=str(step.before.mode),
            actor=step.actor,
            inputs=inputs,
            policy=step.policy.as_json(),
        )
    )
    notifications.tell(
        row,
        key=f"decision:{row.pk}",
        severity=Severity.INFO,
        subject=f"{step.model.slug}: {action.replace('_', ' ')}",
        body=f"{reason}\nBy {step.actor}.",
        now=step.now,
    )
    return row


def once_a_key(step: Step, action: Action, rule: str, reason: str, *, key: str) -> None:
    """Log and tell something about the model unless `key` was told already (one row an episode)."""
    told = notifications.tell(
        None,
        key=key,
        severity=SEVERITIES.get(action, Severity.INFO),
        subject=f"{step.model.slug}: {action.replace('_', ' ')}",
        body=reason,
        now=step.now,
    )
    if told is None:
        return
    row = decisions.record(
        decisions.Entry(
            at=step.now,
            action=action,
            rule=rule,
            reason=reason,
            model=step.model.slug,
            mode=str(step.before.mode),
            actor=step.actor,
            policy=step.policy.as_json(),
        )
    )
    told.decision = row
    told.save(update_fields=["decision"])


def our_side(step: Step, round_: Round, sentence: str) -> None:
    """Tell once an episode (rounds in a row stopped on our side) that account, key or gateway are at fault (C3)."""
    rounds = Round.objects.filter(model=step.model, status__in=["closed", "stopped"]).order_by("-started_at")
    since = round_.started_at
    for status, started_at in rounds.values_list("status", "started_at")[:500]:
        if status != "stopped":
            break
        since = started_at
    days = (round_.started_at - since).days
    key = f"{step.model.slug}:our_side:{since.isoformat()}:{days}"
    once_a_key(step, Action.OUR_SIDE, "C3", f"The round stopped on our own side: {sentence}", key=key)


def reminder_keys(anchors: ModelStanding, slug: str, *, now: datetime) -> dict[str, str]:
    """Keys of today's reminders of a model's open episodes (Terms, episode), each with the episode's name."""
    keys = {}
    for name, since in anchors.episodes.items():
        days = (now - datetime.fromisoformat(since)).days
        if days >= 1:
            keys[f"{slug}:{name}:{since}:{days}"] = name
    return keys


def untold(keys: Iterable[str]) -> set[str]:
    """Those of `keys` that nobody was told yet: one query."""
    wanted = set(keys)
    return (
        wanted - set(Notification.objects.filter(key__in=wanted).values_list("key", flat=True))
        if wanted
        else set()
    )


def remind(step: Step) -> None:
    """Tell every open episode of the model once more for every 24 h it lasts."""
    anchors = ModelStanding.objects.filter(model=step.model).first()
    if anchors is None:
        return
    for key, name in reminder_keys(anchors, step.model.slug, now=step.now).items():
        words = name.replace("_", " ").replace(":", ": ")
        notifications.tell(
            None,
            key=key,
            severity=Severity.WARNING,
            subject=f"{step.model.slug}: still {words}",
            body=f"{words.capitalize()} since {anchors.episodes[name]}.",
            now=step.now,
        )


def note_common_causes(step: Step, outcome: Outcome) -> None:
    """Open or close each contract's episode *common cause* (C13), told once an episode."""
    common = outcome.verdicts.common if outcome.verdicts else {}
    anchors = ModelStanding.objects.get(model=step.model)
    present = {_common_name(contract): contract in common for contract in Contract}
    episodes = model_state.with_episodes(anchors.episodes, present, now=step.now)
    ModelStanding.objects.filter(pk=anchors.pk).update(episodes=episodes)


def _common_name(contract: Contract) -> str:
    return f"common_cause:{contract}"


def note_filtering_proof(step: Step, *, weakened: bool | None) -> None:
    """Open or close the episodes *weakened* and *unproved* (C6). `weakened` None: this round says nothing."""
    anchors = ModelStanding.objects.get(model=step.model)
    proved_at = anchors.control_proved_at
    is_unproved = proved_at is None or step.now - proved_at > CONTROL_PROOF
    present = {model_state.UNPROVED: is_unproved}
    if weakened is not None:
        present[model_state.WEAKENED] = weakened
    episodes = model_state.with_episodes(anchors.episodes, present, now=step.now)
    ModelStanding.objects.filter(pk=anchors.pk).update(episodes=episodes)
    if is_unproved and model_state.UNPROVED not in anchors.episodes:
        reason = "No control came to a pass or fail in 24 h, or none is configured: what filtering passes is unproved."
        human(step, Action.UNPROVED, "C6", reason, inputs={})


def _inputs(decision: Decision) -> dict[str, Any]:
    """The numbers a decision rests on, as they were when it was taken."""
    inputs: dict[str, Any] = {
        "providers_in_production": sorted(decision.providers),
        "culprits": [list(pair) for pair in decision.pairs],
    }
    if decision.endpoint:
        inputs |= {
            "failing": decision.failing,
            "clean": decision.clean,
            "streak_contracts": sorted(map(str, decision.contracts)),
        }
    return inputs


def _evidence(round_: Round | None, model_pk: int, decision: Decision) -> dict[str, Any]:
    """The probe runs of this round that failed, by id: of the endpoint, or of the model."""
    if round_ is None:
        return {}
    runs = ProbeRun.objects.filter(round=round_, verdict="fail", endpoint__model_id=model_pk)
    if decision.endpoint:
        runs = runs.filter(endpoint__tag=decision.endpoint)
    fields = ("id", "endpoint__tag", "contract", "language", "reason")
    return {
        "failed_runs": [
            dict(zip(fields, run, strict=True)) for run in runs.order_by("pk").values_list(*fields)[:50]
        ]
    }


def _tell(step: Step, row: DecisionRow, decision: Decision, state: ModelState) -> None:
    key = _episode_key(step, row, decision, state)
    if key is None:
        return
    verb = (
        decision.action.replace("_", " ")
        if decision.is_enforced or not decision.level
        else f"would {decision.action}"
    )
    left = production_providers(state, counts_shadows=not state.is_enforcing)
    names = ", ".join(sorted(left)) or "none"
    capacity = f"Providers left in production: {len(left)} ({names}); floor {step.policy.floor}."
    body = "\n".join(filter(None, (decision.reason, capacity, NEXT.get(decision.action))))
    subject = f"{step.model.slug}{' / ' + decision.endpoint if decision.endpoint else ''}: {verb}"
    notifications.tell(
        row,
        key=key,
        severity=SEVERITIES.get(decision.action, Severity.INFO),
        subject=subject,
        body=body,
        now=step.now,
    )


def _episode_key(step: Step, row: DecisionRow, decision: Decision, state: ModelState) -> str | None:
    """The deduplication key: one an episode and day for what repeats every round, else one a decision."""
    if decision.action in (Action.REFUSE, Action.PROTECT):
        standing = state.endpoints[decision.endpoint or ""].standing
        since = min((one.since for one in standing.culprits if one.in_streak), default=decision.at)
        days = (decision.at - since).days
        return f"{step.model.slug}:{decision.endpoint}:{decision.action}:{since.isoformat()}:{days}"
    episode = _episode_name(decision)
    if episode is not None:
        anchors = ModelStanding.objects.get(model=step.model)
        return f"{step.model.slug}:{episode}:{anchors.episodes.get(episode, step.now.isoformat())}:0"
    return f"decision:{row.pk}"


def _episode_name(decision: Decision) -> str | None:
    """The model's episode a decision repeats in, as ModelStanding keeps it."""
    if decision.action is Action.WEAKENED:
        return model_state.WEAKENED
    if decision.action is Action.COMMON_CAUSE:
        return _common_name(decision.pairs[0].contract)
    return None
