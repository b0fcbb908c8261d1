"""Which exclusions give way when a list would exclude everything that serves (rule R2)."""

from collections.abc import Callable, Iterable, Sequence

from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.matching import base_slug, is_service_tier
from routing.domain.modes import Tier

LATENCY_ONLY = ("latency",)


class Index:
    """Exclusion rows by what they name, so that who holds a tag is found without reading them all."""

    def __init__(self, rows: Iterable[ExclusionRow]) -> None:
        self._providers: dict[str, list[ExclusionRow]] = {}
        self._names: dict[str, list[ExclusionRow]] = {}
        for row in rows:
            names = self._providers if row.is_provider else self._names
            names.setdefault(row.entry, []).append(row)

    def holders(self, tag: str) -> tuple[ExclusionRow, ...]:
        """The rows for which `row.holds(tag)`."""
        base = base_slug(tag)
        found = [*self._providers.get(base, ()), *self._names.get(tag, ())]
        if base != tag and not is_service_tier(tag):
            found.extend(self._names.get(base, ()))
        return tuple(found)


def may_give_way(row: ExclusionRow) -> bool:
    """Canary entries may, runtime ones if they were added so, reviewed ones never."""
    return row.tier is Tier.CANARY or (row.tier is Tier.RUNTIME and row.may_give_way)


def rank(row: ExclusionRow) -> tuple[int, float, str]:
    """The order of giving way, lowest first: canary (latency-only first) before runtime, the latest before older."""
    latest_first = -row.starts_at.timestamp()
    if row.tier is not Tier.CANARY:
        return (2, latest_first, row.key)
    return (0 if row.contracts == LATENCY_ONLY else 1, latest_first, row.key)


def decide(
    tags: Sequence[str], index: Index, *, is_held: Callable[[str], bool] = lambda _: False
) -> tuple[ExclusionRow, ...] | None:
    """The rows to leave out so that one of `tags` can serve: () when one can already, None when nothing can.

    `is_held` says which tags the caller's own words hold; those never give way. An endpoint held by several
    rows costs all of them, so the one is freed whose dearest row comes first in the order, and no row is left
    out in vain.
    """
    offers = []
    for tag in tags:
        if is_held(tag):
            continue
        holders = index.holders(tag)
        if not holders:
            return ()
        if all(may_give_way(row) for row in holders):
            offers.append((sorted((rank(row) for row in holders), reverse=True), tag, holders))
    return min(offers, key=lambda offer: offer[:2])[2] if offers else None
