"""What a snapshot is compiled from: plain rows of exclusions, models and names, with no database behind them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from routing.domain.matching import base_slug, matches
from routing.domain.modes import Tier

CATALOGUE_GOOD_FOR = timedelta(hours=24)
"""How long a list of endpoints is believed after it was read (rules C1 and R2)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ExclusionRow:
    """One entry of any tier. `key` is unique over all tiers; `model` None means all models.

    In force up to, not including, `ends_at` (None: until lifted).
    """

    key: str
    tier: Tier
    entry: str
    reason: str
    starts_at: datetime
    model: str | None = None
    ends_at: datetime | None = None
    may_give_way: bool = False
    contracts: tuple[str, ...] = ()

    @property
    def is_provider(self) -> bool:
        """Whether it excludes a whole provider. The canary excludes endpoints only, also where a tag is a base slug."""
        return self.tier is not Tier.CANARY and "/" not in self.entry

    def is_in_force(self, now: datetime) -> bool:
        """Whether it has not ended by `now`. A row that exists has begun: clocks may differ, commits do not."""
        return self.ends_at is None or now < self.ends_at

    def holds(self, tag: str) -> bool:
        """Whether requests that carry it cannot reach the endpoint `tag` (a provider's service tiers included)."""
        if self.is_provider:
            return base_slug(tag) == self.entry
        return matches(self.entry, tag)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelRow:
    """One model of the catalogue.

    `admitted` are the tags that serve now and whose quantisation and price the production `preferences`
    admit; `discovered_at` says as of when, None when the list was never read.
    """

    slug: str
    is_watched: bool = True
    is_gone: bool = False
    admitted: tuple[str, ...] = ()
    discovered_at: datetime | None = None
    preferences: Mapping[str, Any] = field(default_factory=dict)

    @property
    def known_until(self) -> datetime | None:
        """Up to when `admitted` can be relied on; None when it cannot at all."""
        if self.is_gone or self.discovered_at is None:
            return None
        return self.discovered_at + CATALOGUE_GOOD_FOR


@dataclass(frozen=True, kw_only=True, slots=True)
class Rows:
    """Everything a snapshot needs. `tags` are all tags ever seen, of any model; `version` as of the reading."""

    version: int = 0
    is_stopped: bool = False
    exclusions: tuple[ExclusionRow, ...] = ()
    models: tuple[ModelRow, ...] = ()
    tags: frozenset[str] = frozenset()
