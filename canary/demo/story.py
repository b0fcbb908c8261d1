"""The decisions of a demo as they are told, what is still missing, and whether the log says the same."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from canary.demo.cast import Part
from incidents.domain.actions import Action
from incidents.models import Decision


@dataclass(frozen=True, kw_only=True)
class Told:
    """One stored decision in the words it is told in; times as ISO 8601 text."""

    id: int
    at: str
    action: str
    rule: str
    model: str
    endpoint: str
    enforced: bool
    level: int | None
    until: str | None
    reason: str

    @property
    def sentence(self) -> str:
        """One line for people."""
        where = f"{self.model} {self.endpoint}".strip() or "everywhere"
        return f"#{self.id:<4} {self.at[11:19]}  {self.action:<16} {where:<44} {self.rule:<4} {self.reason}"

    def as_json(self) -> Mapping[str, Any]:
        """One object for programs."""
        return asdict(self)


def told(row: Decision) -> Told:
    """A stored decision as it is told."""
    return Told(
        id=row.pk,
        at=row.at.isoformat(),
        action=row.action,
        rule=row.rule,
        model=row.model_slug,
        endpoint=row.endpoint_tag,
        enforced=row.is_enforced,
        level=row.level,
        until=row.until.isoformat() if row.until else None,
        reason=row.reason,
    )


def decisions_after(decision_id: int) -> list[Told]:
    """Stored decisions with a higher id, oldest first. SQLite commits them in the order of their ids."""
    return [told(row) for row in Decision.objects.filter(pk__gt=decision_id).order_by("pk")]


def differences(narrated: Iterable[Told]) -> list[str]:
    """What was told and is not stored so, or stored meanwhile and not told: nothing, if the story is true."""
    mine = {one.id: one for one in narrated}
    stored = {one.id: one for one in decisions_after(0) if one.id <= max(mine, default=0)}
    return [
        f"decision #{number} was told as {mine.get(number)} and is stored as {stored.get(number)}"
        for number in sorted(mine.keys() | stored.keys())
        if mine.get(number) != stored.get(number)
    ]


def suspension_of(part: Part, narrated: Iterable[Told], *, is_enforced: bool) -> Told | None:
    """The first suspension (or, not enforced, would-suspend) of the endpoint that mixes languages."""
    return next(
        (
            one
            for one in narrated
            if one.action == Action.SUSPEND.value
            and (one.model, one.endpoint, one.enforced) == (part.slug, part.mixing_tag, is_enforced)
        ),
        None,
    )
