"""The decision log: one row for every decision, written in the transaction of its effect (rule C19)."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import transaction

from incidents.domain.actions import Action
from incidents.domain.storable import one_line, storable_json, storable_text
from incidents.models import Decision


class NotInTransaction(RuntimeError):
    """A decision was recorded outside the transaction of its effect: a mistake in our code."""


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One decision in plain values. `at` is rule time; models, endpoints and rounds are named by their text.

    `inputs`, `policy` and `evidence` hold whatever `storable_json` takes. `is_enforced` is false for what
    would have happened (observe mode) and for what enforces nothing.
    """

    at: datetime
    action: Action
    rule: str
    reason: str
    model: str = ""
    endpoint: str = ""
    round_id: str = ""
    is_enforced: bool = False
    mode: str = ""
    level: int | None = None
    until: datetime | None = None
    actor: str = "canary"
    inputs: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, Any] = field(default_factory=dict)
    evidence: Mapping[str, Any] = field(default_factory=dict)


def record(entry: Entry) -> Decision:
    """Append `entry` to the log with one INSERT. Raises `NotInTransaction` outside an atomic block."""
    if not transaction.get_connection().in_atomic_block:
        raise NotInTransaction("A decision is recorded in the transaction of its effect.")
    return Decision.objects.create(
        at=entry.at,
        action=entry.action.value,
        rule=entry.rule,
        reason=storable_text(entry.reason),
        model_slug=one_line(entry.model, 200),
        endpoint_tag=one_line(entry.endpoint, 200),
        round_id=str(entry.round_id),
        is_enforced=entry.is_enforced,
        mode=str(entry.mode),
        level=entry.level,
        until=entry.until,
        actor=one_line(entry.actor, 150),
        inputs=storable_json(entry.inputs),
        policy=storable_json(entry.policy),
        evidence=storable_json(entry.evidence),
    )
