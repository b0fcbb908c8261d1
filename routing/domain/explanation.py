"""Why each endpoint of a model can or cannot serve a request, and which rule says so."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from routing.domain.exclusion_list import NoRouteLeft, Plan, reaches
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.giving_way import Index
from routing.domain.preferences import checked


@dataclass(frozen=True, kw_only=True)
class Lane:
    """One endpoint ever seen: whether it serves now, and whether its quantisation and price are admitted."""

    tag: str
    is_serving: bool
    is_fitting: bool


@dataclass(frozen=True, kw_only=True)
class Line:
    """One endpoint, in or out. `by` is a tier, `caller`, `preferences` or `catalogue`; "" when nothing is said."""

    tag: str
    is_in: bool
    rule: str
    by: str
    reason: str


def explain(plan: Plan, provider: Mapping[str, Any] | None, lanes: Iterable[Lane]) -> tuple[Line, ...]:
    """A line for each of `lanes`, in their order, for a caller who wishes `provider`. Raises `CallerMistake`."""
    wishes = checked(provider)
    try:
        gave_way = plan.choose(wishes).gave_way
    except NoRouteLeft:
        gave_way = ()
    index = Index(plan.entries)
    return tuple(_line(lane, plan, wishes, index.holders(lane.tag), gave_way) for lane in lanes)


def _line(
    lane: Lane,
    plan: Plan,
    wishes: Mapping[str, Any],
    holders: tuple[ExclusionRow, ...],
    gave_way: tuple[ExclusionRow, ...],
) -> Line:
    left_in = [row for row in holders if row not in gave_way]
    objection = next(_objections(lane, plan, wishes, left_in), None)
    if objection is not None:
        rule, by, reason = objection
        return Line(tag=lane.tag, is_in=False, rule=rule, by=by, reason=reason)
    if holders:
        reason = f"Excluded as {holders[0].entry}, which gives way: nothing else could serve."
        return Line(tag=lane.tag, is_in=True, rule="R2", by=str(holders[0].tier), reason=reason)
    return Line(tag=lane.tag, is_in=True, rule="R1", by="", reason="Nothing excludes it.")


def _objections(
    lane: Lane, plan: Plan, wishes: Mapping[str, Any], holders: Sequence[ExclusionRow]
) -> Iterator[tuple[str, str, str]]:
    """What keeps the endpoint out, the weightiest first: rule, by whom, and the sentence."""
    if not lane.is_serving:
        yield "C1", "catalogue", "It does not serve the model now."
    for row in holders:
        until = f" until {row.ends_at:%Y-%m-%d %H:%M:%S} UTC" if row.ends_at else ""
        yield "R1", str(row.tier), f"Excluded as {row.entry}{until}: {row.reason}"
    for by, preferences in (("caller", wishes), ("preferences", plan.defaults)):
        if reaches(preferences.get("ignore") or (), lane.tag):
            yield "R1", by, "It is in ignore."
    only = {**plan.defaults, **wishes}.get("only")
    if only and not reaches(only, lane.tag):
        yield "R1", "caller" if "only" in wishes else "preferences", "It is not in only."
    if not lane.is_fitting:
        yield "Terms", "preferences", "Its quantisation or price is not admitted."
