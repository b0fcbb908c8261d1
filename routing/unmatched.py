"""Exclusions of names that were never seen: the gateway ignores such a name silently (rule R4)."""

from datetime import datetime

from incidents.domain.actions import Action, Severity
from incidents.notifications import tell
from routing.announcements import ACTOR
from routing.builtin_exclusions import builtin_entries
from routing.exclusion_log import announce_exclusion, scope_of
from routing.models import Exclusion
from routing.selectors import known_names
from routing.versions import require_transaction


def match_unmatched(now: datetime) -> int:
    """Write down which of them are about something by now; says how many.

    In the transaction of the discovery that brought the names.
    """
    require_transaction("Matching a name")
    unmatched = list(
        Exclusion.objects.filter(is_unmatched=True, lifted_at__isnull=True).select_related("model")
    )
    if not unmatched:
        return 0
    known = known_names()
    matched = [exclusion for exclusion in unmatched if exclusion.entry in known]
    for exclusion in matched:
        exclusion.is_unmatched = False
        exclusion.save(update_fields=["is_unmatched"])
        what = f"{exclusion.entry}, excluded for {scope_of(exclusion)} although never seen,"
        announce_exclusion(exclusion, Action.UNMATCHED, f"{what} is a known name now.", at=now, actor=ACTOR)
    return len(matched)


def tell_unmatched_builtin(now: datetime) -> tuple[str, ...]:
    """The reviewed entries that name nothing ever seen, each told once. None before there is a catalogue."""
    known = known_names()
    unknown = tuple(entry.entry for entry in builtin_entries() if known and entry.entry not in known)
    for name in unknown:
        tell(
            None,
            key=f"unmatched:builtin:{name}",
            severity=Severity.WARNING,
            subject=f"The reviewed exclusion of {name} names nothing ever seen",
            body=f"No provider or endpoint {name} was ever seen, so the gateway ignores this name.",
            now=now,
        )
    return unknown
