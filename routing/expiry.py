"""The sweep of runtime exclusions that ended or soon will (rule I1).

The end itself needs nobody: every process stops applying an entry at its end.
"""

from datetime import datetime, timedelta

from django.db import transaction

from incidents.domain.actions import Action
from routing.announcements import ACTOR
from routing.domain.modes import Tier
from routing.exclusion_log import announce_exclusion, scope_of
from routing.models import Exclusion

TOLD_BEFORE_END = timedelta(hours=24)
EXPIRED = "Its time was up."


def expire_due(now: datetime) -> int:
    """Write down the ends of runtime exclusions, tell of those that end within 24 h; says how many ended.

    Safe to run from several processes: each row is claimed by a conditional UPDATE.
    """
    runtime = Exclusion.objects.filter(tier=Tier.RUNTIME.value, lifted_at__isnull=True)
    soon = runtime.filter(
        expires_at__gt=now, expires_at__lte=now + TOLD_BEFORE_END, expiry_told_at__isnull=True
    )
    for exclusion in list(soon.select_related("model")):
        _tell_coming_end(exclusion, now)
    due = list(runtime.filter(expires_at__lte=now).select_related("model"))
    return sum(_expire(exclusion, now) for exclusion in due)


def _expire(exclusion: Exclusion, now: datetime) -> bool:
    """Close one row as of its end; False when another process was faster."""
    with transaction.atomic():
        is_open = Exclusion.objects.filter(pk=exclusion.pk, lifted_at__isnull=True)
        if not is_open.update(lifted_at=exclusion.expires_at, lift_reason=EXPIRED):
            return False
        sentence = f"The exclusion of {exclusion.entry} for {scope_of(exclusion)} has ended: {EXPIRED}"
        at = exclusion.expires_at or now
        announce_exclusion(exclusion, Action.EXCLUSION_EXPIRE, sentence, at=at, actor=ACTOR)
    return True


def _tell_coming_end(exclusion: Exclusion, now: datetime) -> None:
    """Tell once that an exclusion ends within a day, unless it was made for no longer than that."""
    ends_at = exclusion.expires_at
    if ends_at is None or ends_at - exclusion.created_at <= TOLD_BEFORE_END:
        return
    with transaction.atomic():
        is_untold = Exclusion.objects.filter(pk=exclusion.pk, expiry_told_at__isnull=True)
        if is_untold.update(expiry_told_at=now):
            what = f"The exclusion of {exclusion.entry} for {scope_of(exclusion)}"
            sentence = f"{what} ends at {ends_at:%Y-%m-%d %H:%M} UTC."
            announce_exclusion(exclusion, Action.EXCLUSION_EXPIRE, sentence, at=now, actor=ACTOR)
