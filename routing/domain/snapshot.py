"""Every model's plan, compiled from one reading of the tables (rules R1-R3).

All is worked out when the snapshot is compiled, also until when it holds; a call looks its plan up and copies
it. A plan whose time is over is worked out anew from the same rows by the first call that needs it: an
exclusion ends at its end even where nobody can refresh the snapshot.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from routing.domain.admission import FITTING_KEYS
from routing.domain.exclusion_list import Plan, SentList
from routing.domain.exclusion_rows import ExclusionRow, ModelRow, Rows
from routing.domain.matching import base_slug
from routing.domain.modes import Tier
from routing.domain.preferences import CallerMistake, checked

ANY_OTHER = ""
"""The plan of models nobody watches and no exclusion names."""
FOREVER_S = float("inf")
MOST_PLANS = 4096
"""Plans kept of one snapshot, those of several models at once included; more are worked out for each call."""


class Snapshot:
    """What requests carried when it was compiled and until it changes. Shared by threads, changed by none."""

    def __init__(self, rows: Rows, *, now: datetime) -> None:
        self.rows = rows
        self.compiled_at = now
        self.problems: tuple[str, ...] = ()
        self._models = {row.slug.lower(): row for row in rows.models}
        self._tags_of = _by_provider(rows.tags)
        self._entries = _by_model(rows)
        self._plans: dict[tuple[str, ...], Plan] = {}
        self._for_all: tuple[Sequence[ExclusionRow], SentList] = ((), SentList.of((), self._tags_of))
        for key in self._models.keys() | self._entries.keys() | {ANY_OTHER}:
            self._plans[key,] = self._plan_of_one(key, now)

    @property
    def next_change_s(self) -> float:
        """When the first plan is over, in seconds since the epoch."""
        return min(plan.valid_until_s for plan in self._plans.values())

    def gave_way(self) -> frozenset[tuple[str, str]]:
        """What is left out because nothing else could serve: (model, key of the entry)."""
        return frozenset(
            (self._models[key[0]].slug, row.key)
            for key, plan in list(self._plans.items())
            if len(key) == 1 and key[0] in self._models
            for row in plan.gave_way
        )

    def plan(self, models: Sequence[str], now_s: float) -> Plan:
        """The plan of requests for `models`, the first one and its fallbacks, at `now_s` (epoch seconds)."""
        keys = tuple(dict.fromkeys(map(self._key, models)))
        plan = self._plans.get(keys)
        if plan is not None and now_s < plan.valid_until_s:
            return plan
        now = datetime.fromtimestamp(now_s, tz=UTC)
        plan = self._plan_of_one(keys[0], now) if len(keys) == 1 else self._plan_of_many(keys, now_s)
        if keys in self._plans or len(self._plans) < MOST_PLANS:
            self._plans[keys] = plan
        return plan

    def _key(self, model: str) -> str:
        """The key of the model's plan: its own, its base model's when it is a variant, or everybody else's.

        A variant of a model that has nothing gets a plan of its own, in which that is not known.
        """
        if (model,) in self._plans:
            return model
        slug = model.strip().lower()
        for key in (slug, slug.partition(":")[0]):
            if (key,) in self._plans:
                return slug if self._plans[key,].candidates == () else key
        return ANY_OTHER

    def _plan_of_one(self, key: str, now: datetime) -> Plan:
        source, entries = self._models.get(key), list(self._entries.get(ANY_OTHER, ()))
        base = key.partition(":")[0]
        if base != key and not (source and source.is_watched):
            source = self._models.get(base, source)
            entries += self._entries.get(base, ())
        if key != ANY_OTHER:
            entries += self._entries.get(key, ())
        return self._finished_plan(key, source, [row for row in entries if row.is_in_force(now)], now)

    def _finished_plan(
        self, key: str, source: ModelRow | None, entries: Sequence[ExclusionRow], now: datetime
    ) -> Plan:
        ends = [row.ends_at for row in entries if row.ends_at is not None]
        known_until = source.known_until if source else None
        is_known = known_until is not None and now < known_until
        if known_until is not None and is_known:
            ends.append(known_until)
        defaults = self._readable(source) if source else {}
        return Plan(
            models=(key,) if key else (),
            entries=tuple(entries),
            sent=self._sent(entries),
            candidates=_candidates(key, source, defaults) if source and is_known else None,
            defaults=defaults,
            tags_of=self._tags_of,
            valid_until_s=min(ends).timestamp() if ends else FOREVER_S,
        ).finished()

    def _sent(self, entries: Sequence[ExclusionRow]) -> SentList:
        """The list of `entries`; most models have the same ones, those for all models, so the last is kept."""
        if self._for_all[0] != entries:
            self._for_all = (entries, SentList.of(entries, self._tags_of))
        return self._for_all[1]

    def _plan_of_many(self, keys: tuple[str, ...], now_s: float) -> Plan:
        """One list for several models: the union of theirs; something must be left for one of them at least.

        The production preferences are those of the first model, for a request has only one set.
        """
        plans = [self.plan((key,), now_s) for key in keys]
        entries = {row.key: row for plan in plans for row in plan.entries if row not in plan.gave_way}
        candidates = dict.fromkeys(tag for plan in plans for tag in plan.candidates or ())
        is_known = all(plan.candidates is not None for plan in plans) and (candidates or _fit_alike(plans))
        return Plan(
            models=tuple(key for key in keys if key),
            entries=tuple(entries.values()),
            sent=SentList.of(entries.values(), self._tags_of),
            candidates=tuple(candidates) if is_known else None,
            defaults=plans[0].defaults,
            tags_of=self._tags_of,
            valid_until_s=min(plan.valid_until_s for plan in plans),
        ).finished()

    def _readable(self, source: ModelRow) -> Mapping[str, Any]:
        """The model's production preferences without what cannot be sent, which is noted in `problems`."""
        found: dict[str, Any] = {}
        for key, value in source.preferences.items():
            try:
                found.update(checked({key: value}))
            except CallerMistake as mistake:
                problem = f"The preferences of {source.slug}: {mistake}"
                self.problems = tuple(dict.fromkeys((*self.problems, problem)))
        return found


def _candidates(key: str, source: ModelRow, defaults: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What serves and is admitted, by a list that is known; None when it does not say.

    That nothing is admitted is known of the listed model itself, not of a variant, which may have endpoints of
    its own, and by preferences that are sent, not by one that cannot be read.
    """
    if source.admitted:
        return source.admitted
    are_sent = all(name in defaults for name in FITTING_KEYS if source.preferences.get(name))
    return () if source.slug.lower() == key and are_sent else None


def _fit_alike(plans: Sequence[Plan]) -> bool:
    """Whether what the first model's preferences admit of each is what its own do."""
    wanted = [[plan.defaults.get(name) for name in FITTING_KEYS] for plan in plans]
    return all(own == wanted[0] for own in wanted)


def _by_provider(tags: Iterable[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for tag in sorted(tags):
        found.setdefault(base_slug(tag), []).append(tag)
    return {slug: tuple(names) for slug, names in found.items()}


def _by_model(rows: Rows) -> dict[str, tuple[ExclusionRow, ...]]:
    """The entries by the model they are about; those of the canary only while enforcement is not stopped (C17)."""
    found: dict[str, list[ExclusionRow]] = {}
    for row in rows.exclusions:
        if not (rows.is_stopped and row.tier is Tier.CANARY):
            found.setdefault((row.model or ANY_OTHER).lower(), []).append(row)
    return {model: tuple(entries) for model, entries in found.items()}
