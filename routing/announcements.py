"""A decision of routing together with what the admins are told of it, in one transaction (rules C19 and I1)."""

from dataclasses import dataclass

from incidents.decisions import Entry, record
from incidents.domain.actions import Severity
from incidents.notifications import tell

ACTOR = "routing"
"""Who decides when no person does: the catalogue, the compiler, the sweep."""


@dataclass(frozen=True, kw_only=True)
class Telling:
    """How a decision is told. `key` names the episode: the same key is told once."""

    key: str
    subject: str
    severity: Severity = Severity.INFO


def announce(entry: Entry, telling: Telling) -> None:
    """Record `entry` and put it into the outbox with its reason as the text. Inside a transaction only."""
    tell(
        record(entry),
        key=telling.key,
        severity=telling.severity,
        subject=telling.subject,
        body=entry.reason,
        now=entry.at,
    )
