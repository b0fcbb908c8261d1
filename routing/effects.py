"""What adding an exclusion would do to each model, told to the person before it is done (rule R2)."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from routing.domain.admission import is_named
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.giving_way import Index, decide
from routing.domain.matching import base_slug
from routing.models import RoutedModel
from routing.offers import fitting_tags
from routing.rows import rows_in_force
from routing.selectors import has_good_list

FLOOR_PROVIDERS = 2
"""Distinct providers that should remain (rule C14), unless the model's own policy says otherwise."""


@dataclass(frozen=True, kw_only=True)
class Effect:
    """One model with one more exclusion. `providers_left`: distinct ones no tier excludes; None when unknown."""

    model: str
    leaves_nothing: bool = False
    gives_way: tuple[str, ...] = ()
    providers_left: int | None = None
    floor: int = FLOOR_PROVIDERS

    def warnings(self) -> tuple[str, ...]:
        """What a person should know, in sentences."""
        if self.leaves_nothing:
            return (f"Nothing could serve {self.model}: every request for it would fail.",)
        if self.gives_way:
            return (
                f"Nothing else could serve {self.model}, so {', '.join(self.gives_way)} would be let in again.",
            )
        if self.providers_left is not None and self.providers_left < self.floor:
            return (
                f"{self.model} keeps {self.providers_left} of the {self.floor} providers it should have.",
            )
        return ()


def effects_of(row: ExclusionRow, models: Collection[RoutedModel], *, now: datetime) -> tuple[Effect, ...]:
    """The effect of one more `row` on each of `models`; a list not read for 24 h tells nothing (R2)."""
    standing = rows_in_force(now)
    fitting = fitting_tags(models)
    return tuple(
        _effect(
            model, [*(one for one in standing if one.model in (None, model.slug)), row], fitting[model.pk]
        )
        if has_good_list(model, now=now)
        else Effect(model=model.slug)
        for model in models
    )


def _effect(model: RoutedModel, rows: list[ExclusionRow], fitting: tuple[str, ...]) -> Effect:
    tags = [tag for tag in fitting if is_named(tag, model.preferences)]
    index = Index(rows)
    given_way = decide(tags, index)
    floor = model.policy.get("floor", FLOOR_PROVIDERS)
    return Effect(
        model=model.slug,
        leaves_nothing=bool(tags) and given_way is None,
        gives_way=tuple(sorted(row.entry for row in given_way or ())),
        providers_left=len({base_slug(tag) for tag in tags if not index.holders(tag)}),
        floor=floor if isinstance(floor, int) else FLOOR_PROVIDERS,
    )
