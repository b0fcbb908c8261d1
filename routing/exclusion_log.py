"""How a change of a runtime exclusion is recorded and told."""

from collections.abc import Sequence
from datetime import datetime

from incidents.decisions import Entry
from incidents.domain.actions import Action, Severity
from routing.announcements import Telling, announce
from routing.models import Exclusion


def scope_of(exclusion: Exclusion) -> str:
    """What an exclusion is about, in words."""
    return exclusion.model.slug if exclusion.model else "all models"


def announce_exclusion(
    exclusion: Exclusion,
    action: Action,
    sentence: str,
    *,
    at: datetime,
    actor: str,
    warnings: Sequence[str] = (),
) -> None:
    """Record and tell one change; the part of `sentence` before a colon is the subject. Each change is told once."""
    entry = Entry(
        at=at,
        action=action,
        rule="R4" if action is Action.UNMATCHED else "R1",
        reason=" ".join((sentence, *warnings)),
        model=exclusion.model.slug if exclusion.model else "",
        endpoint=exclusion.entry,
        is_enforced=action is Action.EXCLUDE,
        until=exclusion.expires_at,
        actor=actor,
        inputs={
            "exclusion": exclusion.pk,
            "tier": exclusion.tier,
            "may_give_way": exclusion.may_give_way,
            "is_unmatched": exclusion.is_unmatched,
            "warnings": list(warnings),
        },
    )
    needs_care = bool(warnings) or (action is Action.UNMATCHED and exclusion.is_unmatched)
    telling = Telling(
        key=f"{action}:{exclusion.pk}:{at.isoformat()}",
        subject=sentence.partition(": ")[0].removesuffix("."),
        severity=Severity.WARNING if needs_care else Severity.INFO,
    )
    announce(entry, telling)
