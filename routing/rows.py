"""Between the exclusion table and the plain rows of `routing.domain.exclusion_rows`."""

from collections.abc import Iterable
from datetime import datetime

from django.db.models import Q, QuerySet

from routing.builtin_exclusions import builtin_entries
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.modes import Tier
from routing.models import Exclusion


def open_exclusions(now: datetime) -> QuerySet[Exclusion]:
    """The exclusions of the table that are in force at `now`, all models' and all tiers'."""
    return Exclusion.objects.filter(
        Q(expires_at__isnull=True) | Q(expires_at__gt=now), lifted_at__isnull=True
    ).select_related("model")


def row_of(exclusion: Exclusion) -> ExclusionRow:
    """One exclusion of the table as a plain row; its key holds the primary key."""
    return ExclusionRow(
        key=f"{exclusion.tier}:{exclusion.pk}",
        tier=Tier(exclusion.tier),
        entry=exclusion.entry,
        model=exclusion.model.slug if exclusion.model else None,
        reason=exclusion.reason,
        starts_at=exclusion.created_at,
        ends_at=exclusion.expires_at,
        may_give_way=exclusion.may_give_way,
        contracts=tuple(exclusion.contracts),
    )


def rows_in_force(now: datetime, tiers: Iterable[Tier] = tuple(Tier)) -> tuple[ExclusionRow, ...]:
    """Every exclusion of `tiers` in force at `now`: reviewed ones of the code, then the table's oldest first."""
    wanted = frozenset(tiers)
    table = open_exclusions(now).filter(tier__in=[tier.value for tier in wanted]).order_by("created_at", "pk")
    reviewed = (row for entry in builtin_entries() for row in entry.rows()) if Tier.BUILTIN in wanted else ()
    return (*reviewed, *(row_of(exclusion) for exclusion in table if exclusion.tier != Tier.BUILTIN))
