"""The `provider` object a request carries: all tiers in one list, the caller's wishes, and never empty (R1, R2)."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from routing.domain.admission import FITTING_KEYS
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.giving_way import Index, decide
from routing.domain.matching import base_slug, is_service_tier
from routing.domain.preferences import checked, fresh


class NoRouteLeft(Exception):
    """Nothing could serve the request, so it is not sent (rule R2).

    `held` says what holds each endpoint; it is empty where none serves that the production preferences admit.
    """

    def __init__(self, models: Sequence[str], held: Mapping[str, str]) -> None:
        self.models = tuple(models)
        self.held = dict(held)
        shown = "; ".join(f"{tag} by {holder}" for tag, holder in list(self.held.items())[:10])
        shown = shown or "none that serves is admitted by the production preferences"
        super().__init__(
            f"No endpoint is left that could serve {', '.join(models) or 'the request'}: {shown}."
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SentList:
    """The names a request carries in `ignore`, each once; `providers` are those excluded as a whole."""

    names: tuple[str, ...]
    name_set: frozenset[str]
    providers: frozenset[str]

    @classmethod
    def of(cls, rows: Iterable[ExclusionRow], tags_of: Mapping[str, Sequence[str]]) -> "SentList":
        """The list of `rows`: a provider as its base slug and every tag of it ever seen (`tags_of`)."""
        names: dict[str, None] = {}
        providers = set()
        for row in rows:
            names[row.entry] = None
            if row.is_provider:
                providers.add(row.entry)
                names.update(dict.fromkeys(tags_of.get(row.entry, ())))
        return cls(names=tuple(names), name_set=frozenset(names), providers=frozenset(providers))

    def holds(self, name: str) -> bool:
        """Whether the list excludes `name`, a tag or a slug, as the gateway reads it or as it is meant."""
        if name in self.name_set:
            return True
        base = base_slug(name)
        return base in self.providers or (base in self.name_set and not is_service_tier(name))


class Choice(NamedTuple):
    """What a request carries, and which entries were left out of it because nothing else could serve."""

    preferences: dict[str, Any]
    gave_way: tuple[ExclusionRow, ...]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What requests for one model, or for several at once, carry.

    `entries` are all in force; `sent` is the list without what gave way. `candidates` are the endpoints that
    serve and are admitted, None when that is not known: then nothing is decided on guesswork. `defaults` are
    the model's production preferences, `tags_of` every tag ever seen by base slug. `valid_until_s` is in
    seconds since the epoch. `ready` is the finished object for callers without wishes, None when nothing is
    left for them.
    """

    models: tuple[str, ...]
    entries: tuple[ExclusionRow, ...]
    sent: SentList
    candidates: tuple[str, ...] | None
    defaults: Mapping[str, Any]
    tags_of: Mapping[str, Sequence[str]]
    valid_until_s: float
    gave_way: tuple[ExclusionRow, ...] = ()
    ready: Mapping[str, Any] | None = None

    @cached_property
    def free(self) -> frozenset[str]:
        """The candidates that the list does not exclude."""
        return frozenset(tag for tag in self.candidates or () if not self.sent.holds(tag))

    @cached_property
    def reached(self) -> Mapping[str, Sequence[str]]:
        """The candidates that each name reaches, as the gateway reads it."""
        found: dict[str, list[str]] = {}
        for tag in self.candidates or ():
            base = base_slug(tag)
            found.setdefault(tag, []).append(tag)
            if base != tag and not is_service_tier(tag):
                found.setdefault(base, []).append(tag)
        return found

    def finished(self) -> "Plan":
        """The same plan with what gives way decided, and the object for callers without wishes made (R2)."""
        try:
            preferences, gave_way = self.choose({})
        except NoRouteLeft:
            return self
        rows = [row for row in self.entries if row not in gave_way]
        sent = SentList.of(rows, self.tags_of) if gave_way else self.sent
        return replace(self, sent=sent, gave_way=gave_way, ready=preferences)

    def preferences(self, provider: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The `provider` object to send, all its own. Raises `CallerMistake` and `NoRouteLeft`."""
        if provider or self.ready is None:
            return self.choose(checked(provider)).preferences
        if len(self.ready) == 1:
            return {"ignore": list(self.sent.names)}
        copied: dict[str, Any] = fresh(self.ready)
        return copied

    def choose(self, wishes: Mapping[str, Any]) -> Choice:
        """Merge `wishes`, a copy that `checked` made, over the model's own preferences. Raises `NoRouteLeft`."""
        merged = {**fresh(self.defaults), **wishes} if self.defaults else wishes
        own = _united(self.defaults.get("ignore"), wishes.get("ignore"))
        limit = _limiting_key(merged)
        if self._admits_nothing(merged, limit):
            raise NoRouteLeft(self.models, {})
        inside: Sequence[str] = merged[limit] if limit else ()
        sent, gave_way = self._list_for(inside, own)
        preferences = {key: value for key, value in merged.items() if value is not None}
        for key in ("only", "order"):
            if names := preferences.pop(key, None):
                kept = [name for name in names if not sent.holds(name) and not reaches(own, name)]
                if kept:
                    preferences[key] = kept
        if limit and limit not in preferences:
            raise NoRouteLeft(self.models, self._holders(inside, own))
        ignore = list(sent.names)  # copied in one go: twice as fast as unpacking
        if own:
            ignore.extend([name for name in own if name not in sent.name_set])
        preferences["ignore"] = ignore
        return Choice(preferences, gave_way)

    def _admits_nothing(self, merged: Mapping[str, Any], limit: str | None) -> bool:
        """Whether it is known that the production preferences, as far as `merged` keeps them, admit nothing.

        What the caller put in their place is his own knowledge: what he names may serve since the list was read.
        """
        if self.candidates is None:
            return False
        if not self.candidates:
            return all(merged.get(key) == self.defaults.get(key) for key in FITTING_KEYS)
        if limit is None or merged[limit] != self.defaults.get(limit):
            return False
        return self.reached.keys().isdisjoint(merged[limit])

    def _list_for(
        self, inside: Sequence[str], own: Sequence[str]
    ) -> tuple[SentList, tuple[ExclusionRow, ...]]:
        """The list for a caller who allows `inside` (nothing: everything) and ignores `own` (rule R2)."""
        candidates: Sequence[str] = self.candidates or ()
        if inside:
            candidates = [tag for name in inside for tag in self.reached.get(name, ())]
        if not candidates:
            return self.sent, self.gave_way
        for tag in candidates:
            if tag in self.free and not reaches(own, tag):
                return self.sent, self.gave_way
        gave_way = decide(candidates, Index(self.entries), is_held=lambda tag: reaches(own, tag))
        if gave_way is None:
            raise NoRouteLeft(self.models, self._holders(candidates, own))
        rows = [row for row in self.entries if row not in gave_way]
        return SentList.of(rows, self.tags_of), gave_way

    def _holders(self, names: Iterable[str], own: Sequence[str]) -> dict[str, str]:
        """What holds each of `names`, in words."""
        index = Index(self.entries)
        found = {}
        for name in names:
            rows = index.holders(name)
            found[name] = (
                "the caller's own list" if reaches(own, name) or not rows else f"the {rows[0].tier} tier"
            )
        return found


def _united(one: Sequence[str] | None, other: Sequence[str] | None) -> Sequence[str]:
    """The names of both lists, each once. A caller's list is short, so it is searched as it is."""
    if one and other:
        return tuple(dict.fromkeys((*one, *other)))
    return one or other or ()


def _limiting_key(merged: Mapping[str, Any]) -> str | None:
    """Which list the request must be served from: `only`, or `order` where the caller allows no fallback."""
    if merged.get("only"):
        return "only"
    return "order" if merged.get("order") and merged.get("allow_fallbacks") is False else None


def reaches(names: Collection[str], name: str) -> bool:
    """Whether any of `names` matches `name`, as the gateway reads them (`matching.matches`)."""
    return name in names or (base_slug(name) in names and not is_service_tier(name))
