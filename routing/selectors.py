"""Reads for people and for the noun modules: names ever seen, exclusions in force."""

from collections.abc import Iterable, Mapping
from datetime import datetime

from routing.domain.exclusion_rows import CATALOGUE_GOOD_FOR, ExclusionRow
from routing.domain.modes import Tier
from routing.models import Endpoint, Provider, RoutedModel
from routing.rows import rows_in_force


def known_names() -> frozenset[str]:
    """Every base slug and tag ever seen, of any model (rule R4)."""
    slugs = Provider.objects.values_list("slug", flat=True)
    return frozenset((*slugs, *known_tags()))


def known_tags() -> frozenset[str]:
    """Every tag ever seen, of any model."""
    return frozenset(Endpoint.objects.order_by().values_list("tag", flat=True).distinct())


def rows_about(
    model: RoutedModel, *, now: datetime, tiers: Iterable[Tier] = tuple(Tier)
) -> tuple[ExclusionRow, ...]:
    """The exclusions of `tiers` in force at `now` for `model`, those for all models included."""
    return tuple(row for row in rows_in_force(now, tiers) if row.model in (None, model.slug))


def excluded_tags(model: RoutedModel, *, now: datetime, tiers: Iterable[Tier]) -> Mapping[str, ExclusionRow]:
    """The endpoints of `model` ever seen that `tiers` exclude at `now`, each with the first entry that does."""
    rows = rows_about(model, now=now, tiers=tiers)
    found = {}
    for tag in model.endpoints.values_list("tag", flat=True):
        holder = next((row for row in rows if row.holds(tag)), None)
        if holder is not None:
            found[tag] = holder
    return found


def has_good_list(model: RoutedModel, *, now: datetime) -> bool:
    """Whether the last believed list is young enough to work with when a new one cannot be read (C1, R2)."""
    return (
        not model.is_gone
        and model.discovered_at is not None
        and now - model.discovered_at < CATALOGUE_GOOD_FOR
    )
