"""A model's state between rounds, its production capacity and its ladder (rules C14, C15, Terms)."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from canary.domain.policy import Policy
from canary.domain.scoring import Standing
from canary.domain.verdicts import Contract
from routing.domain.matching import base_slug, matches
from routing.domain.modes import Mode


@dataclass(frozen=True, kw_only=True, slots=True)
class Rung:
    """One suspension or shadow of the past or present, as the ladder counts it."""

    started_at: datetime
    level: int
    is_shadow: bool
    is_false_positive: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Held:
    """An active suspension: in force from `started_at` up to, not including, `until`."""

    started_at: datetime
    until: datetime
    level: int
    is_shadow: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class EndpointState:
    """One endpoint between rounds. `in_other_tier`: excluded by the builtin or runtime tier."""

    tag: str
    provider: str
    standing: Standing = field(default_factory=Standing)
    is_serving: bool = True
    in_other_tier: bool = False
    is_protected: bool = False
    is_admitted: bool = True
    suspension: Held | None = None
    rungs: tuple[Rung, ...] = ()
    not_before: datetime | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelState:
    """A model between rounds.

    `is_stopped` is the enforcement switch; `observed_contracts` are contracts in a lower mode than the
    model; `assumes_reachable` counts an endpoint as capacity before its first answer (files only).
    """

    model: str
    mode: Mode
    endpoints: Mapping[str, EndpointState] = field(default_factory=dict)
    last_scored_at: datetime | None = None
    last_finished_at: datetime | None = None
    unscored_rounds: int = 0
    is_blind: bool = False
    is_below_floor: bool = False
    is_stopped: bool = False
    observed_contracts: frozenset[Contract] = frozenset()
    assumes_reachable: bool = False

    @property
    def is_enforcing(self) -> bool:
        """Whether a suspension made now takes the endpoint out of requests."""
        return self.mode is Mode.ENFORCE and not self.is_stopped


def production_providers(state: ModelState, *, counts_shadows: bool, without: str | None = None) -> set[str]:
    """Distinct providers of the model's production endpoints, `without` one tag suspended besides.

    `counts_shadows`: take shadow suspensions as real, as observe mode does (C17).
    """
    out = tags_out(state, counts_shadows=counts_shadows, besides=without)
    return {
        endpoint.provider
        for tag, endpoint in state.endpoints.items()
        if tag not in out
        and endpoint.is_serving
        and not endpoint.in_other_tier
        and endpoint.is_admitted
        and endpoint.standing.is_reachable
    }


def tags_out(state: ModelState, *, counts_shadows: bool, besides: str | None = None) -> set[str]:
    """Tags the canary tier takes out of requests: the suspended, and what the gateway reads their names as.

    A tag that is a base slug stands for every lane of its provider (Terms, `matches`).
    """
    entries = {tag for tag, one in state.endpoints.items() if is_out(one, counts_shadows=counts_shadows)}
    if besides is not None:
        entries.add(besides)
    out = set(entries)
    for entry in entries:
        out |= taken_along(state, entry)
    return out


def taken_along(state: ModelState, tag: str) -> set[str]:
    """The other tags of the model that leave requests together with `tag`."""
    if base_slug(tag) != tag:
        return set()
    return {other for other in state.endpoints if other != tag and matches(tag, other)}


def is_out(endpoint: EndpointState, *, counts_shadows: bool) -> bool:
    """Whether a suspension of its own takes the endpoint out."""
    held = endpoint.suspension
    return held is not None and (counts_shadows or not held.is_shadow)


def is_floor_kept(state: ModelState, tag: str, policy: Policy, *, counts_shadows: bool) -> bool:
    """Whether enough distinct providers remain in production when `tag` is suspended (C14)."""
    return len(production_providers(state, counts_shadows=counts_shadows, without=tag)) >= policy.floor


def is_share_kept(state: ModelState, tag: str, policy: Policy, *, counts_shadows: bool) -> bool:
    """Whether at most `max_share` of the serving providers are suspended when `tag` is (C14; off when None)."""
    if policy.max_share is None:
        return True
    out = tags_out(state, counts_shadows=counts_shadows, besides=tag)
    serving = {one.provider for one in state.endpoints.values() if one.is_serving}
    suspended = {one.provider for one in state.endpoints.values() if one.is_serving and one.tag in out}
    return len(suspended) <= policy.max_share * len(serving)


def next_level(rungs: Iterable[Rung], policy: Policy, *, at: datetime, is_shadow: bool) -> int:
    """The ladder's level for a suspension starting at `at` (C15); 1 is the first.

    Enforced suspensions and shadows have ladders of their own; false positives are left out as if they
    had never been, so the levels of the others are counted afresh.
    """
    counted = sorted(
        rung.started_at for rung in rungs if rung.is_shadow == is_shadow and not rung.is_false_positive
    )
    level = 0
    latest = None
    for started_at in (*counted, at):
        is_fresh = latest is None or started_at - latest >= policy.ladder_reset
        level = 1 if is_fresh else min(level + 1, len(policy.ladder_days))
        latest = started_at
    return level
