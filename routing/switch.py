"""The one switch that stops all enforcement everywhere (rule C17)."""

from datetime import datetime

from django.db import transaction

from incidents.decisions import Entry
from incidents.domain.actions import Action, Severity
from routing.announcements import Telling, announce
from routing.models import EnforcementSwitch
from routing.versions import bump_version


class SwitchError(ValueError):
    """The switch cannot be turned as asked; the message is one sentence."""


def is_enforcement_stopped() -> bool:
    """Whether the switch is off: no canary entry is in force anywhere."""
    return EnforcementSwitch.objects.filter(pk=1, is_stopped=True).exists()


def stop_enforcement(*, actor: str, reason: str, now: datetime) -> None:
    """Take every canary entry out of all requests, until resumed. Raises `SwitchError`."""
    _turn(True, Action.STOP, "All enforcement is stopped", actor=actor, reason=reason, now=now)


def resume_enforcement(*, actor: str, reason: str, now: datetime) -> None:
    """Put the canary entries that have not ended back in force. Raises `SwitchError`."""
    _turn(False, Action.RESUME, "Enforcement is resumed", actor=actor, reason=reason, now=now)


def _turn(to_stopped: bool, action: Action, words: str, *, actor: str, reason: str, now: datetime) -> None:
    reason = reason.strip()
    if not reason:
        raise SwitchError("A reason is needed.")
    with transaction.atomic():
        EnforcementSwitch.objects.get_or_create(pk=1)
        changed = EnforcementSwitch.objects.filter(pk=1, is_stopped=not to_stopped).update(
            is_stopped=to_stopped, changed_at=now, changed_by=actor[:150], reason=reason[:500]
        )
        if not changed:
            raise SwitchError(f"{words} already.")
        entry = Entry(
            at=now, action=action, rule="C17", reason=f"{words}: {reason}", is_enforced=True, actor=actor
        )
        announce(entry, Telling(key=f"{action}:{now.isoformat()}", subject=words, severity=Severity.SEVERE))
        bump_version()
