"""Short ways to write the plain rows the domain tests are about."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from routing.domain.exclusion_rows import ExclusionRow, ModelRow, Rows
from routing.domain.modes import Tier
from routing.domain.snapshot import Snapshot

NOW = datetime(2026, 5, 4, 12, 0, tzinfo=UTC)
NOW_S = NOW.timestamp()
MODEL = "author/model"


def excluded(
    entry: str,
    tier: Tier = Tier.RUNTIME,
    *,
    model: str | None = MODEL,
    days_old: float = 1,
    ends_at: datetime | None = None,
    may_give_way: bool = False,
    contracts: Sequence[str] = ("language",),
) -> ExclusionRow:
    """One entry, added `days_old` days before `NOW`."""
    is_canary = tier is Tier.CANARY
    return ExclusionRow(
        key=f"{tier}:{entry}:{model}:{days_old}",
        tier=tier,
        entry=entry,
        reason=f"{entry} failed",
        starts_at=NOW - timedelta(days=days_old),
        model=model,
        ends_at=ends_at or (NOW + timedelta(days=1) if is_canary else None),
        may_give_way=may_give_way,
        contracts=tuple(contracts) if is_canary else (),
    )


def canary(entry: str, **columns: Any) -> ExclusionRow:
    """One entry of the canary tier."""
    return excluded(entry, Tier.CANARY, **columns)


def builtin(entry: str, **columns: Any) -> ExclusionRow:
    """One reviewed entry."""
    return excluded(entry, Tier.BUILTIN, **columns)


def model(slug: str = MODEL, serving: Iterable[str] = (), **columns: Any) -> ModelRow:
    """A model whose list was read an hour before `NOW`."""
    return ModelRow(
        slug=slug,
        admitted=tuple(serving),
        **{"discovered_at": NOW - timedelta(hours=1), **columns},
    )


def snapshot(
    *exclusions: ExclusionRow,
    serving: Iterable[str] = ("alpha", "beta", "gamma"),
    models: Sequence[ModelRow] | None = None,
    tags: Iterable[str] = (),
    is_stopped: bool = False,
) -> Snapshot:
    """The snapshot of `exclusions` at `NOW`; one model that `serving` serve unless `models` are given."""
    serving = tuple(serving)
    rows = Rows(
        version=1,
        is_stopped=is_stopped,
        exclusions=exclusions,
        models=(model(serving=serving),) if models is None else tuple(models),
        tags=frozenset((*serving, *tags)),
    )
    return Snapshot(rows, now=NOW)


def preferences(
    compiled: Snapshot,
    provider: Mapping[str, Any] | None = None,
    *models: str,
    at: datetime = NOW,
) -> dict[str, Any]:
    """What a request for `models` (one, unless given) carries at a moment."""
    return compiled.plan(models or (MODEL,), at.timestamp()).preferences(provider)
