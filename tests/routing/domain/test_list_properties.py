"""Rules R1 and R2 as properties, compared with the slow, plain reading of the rule's sentences."""

from collections.abc import Sequence
from copy import deepcopy
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st

from routing.domain.exclusion_list import NoRouteLeft
from routing.domain.exclusion_rows import ExclusionRow
from routing.domain.giving_way import Index, may_give_way
from routing.domain.matching import matches
from routing.domain.modes import Tier
from tests.routing.domain.rows import MODEL, NOW, excluded, model, preferences, snapshot

PROVIDERS = ("one", "two", "three")
TAGS = tuple(f"{provider}{lane}" for provider in PROVIDERS for lane in ("", "/fp8", "/flex"))

entries = st.builds(
    excluded,
    st.sampled_from((*PROVIDERS, *TAGS)),
    st.sampled_from(Tier),
    model=st.sampled_from([None, MODEL, "author/other"]),
    days_old=st.integers(0, 5),
    may_give_way=st.booleans(),
    contracts=st.sampled_from([("latency",), ("language",), ("language", "latency")]),
    ends_at=st.sampled_from([None, NOW + timedelta(hours=1)]),
)
exclusion_lists = st.lists(entries, max_size=7, unique_by=lambda row: row.key)
servings = st.lists(st.sampled_from(TAGS), min_size=1, max_size=5, unique=True)
names = st.lists(st.sampled_from((*PROVIDERS, *TAGS)), max_size=3)


def is_free(tag: str, ignore: Sequence[str]) -> bool:
    return not any(matches(entry, tag) for entry in ignore)


def about(rows: Sequence[ExclusionRow]) -> list[ExclusionRow]:
    return [row for row in rows if row.model in (None, MODEL)]


@given(exclusion_lists, servings, names)
def test_the_list_leaves_one_serving_endpoint_unless_reviewed_runtime_or_own_entries_hold_all(
    rows, serving, own
) -> None:
    compiled = snapshot(*rows, serving=serving, tags=TAGS)
    hard = [row for row in about(rows) if not may_give_way(row)]
    can_serve = [tag for tag in serving if is_free(tag, own) and not any(row.holds(tag) for row in hard)]
    try:
        ignore = preferences(compiled, {"ignore": own})["ignore"]
    except NoRouteLeft:
        assert not can_serve
    else:
        assert can_serve
        assert any(is_free(tag, ignore) for tag in serving)


@given(exclusion_lists, servings, names)
def test_the_union_is_complete_but_for_what_gave_way(rows, serving, own) -> None:
    compiled = snapshot(*rows, serving=serving, tags=TAGS)
    try:
        ignore = preferences(compiled, {"ignore": own})["ignore"]
    except NoRouteLeft:
        return
    assert len(ignore) == len(set(ignore))
    assert set(own) <= set(ignore)
    missing = [row for row in about(rows) if any(is_free(tag, ignore) for tag in TAGS if row.holds(tag))]
    assert all(may_give_way(row) for row in missing)
    if any(is_free(tag, own) and not Index(about(rows)).holders(tag) for tag in serving):
        assert not missing, "nothing gives way while something can serve"


@given(exclusion_lists, servings, names, names)
def test_only_keeps_what_is_not_excluded_and_is_never_sent_empty(rows, serving, own, only) -> None:
    compiled = snapshot(*rows, serving=serving, tags=TAGS)
    try:
        found = preferences(compiled, {"ignore": own, "only": only})
    except NoRouteLeft:
        return
    assert ("only" in found) == bool(only)
    assert set(found.get("only", ())) <= set(only)
    assert all(is_free(name, found["ignore"]) for name in found.get("only", ()))
    inside = [tag for tag in serving if not only or not is_free(tag, only)]
    assert not inside or any(is_free(tag, found["ignore"]) for tag in inside)


@given(exclusion_lists, servings)
def test_without_a_catalogue_the_list_is_the_whole_union(rows, serving) -> None:
    compiled = snapshot(*rows, models=[model(serving=serving, discovered_at=None)], tags=TAGS)
    ignore = preferences(compiled)["ignore"]
    assert all(not is_free(tag, ignore) for row in about(rows) for tag in TAGS if row.holds(tag))


@given(exclusion_lists, st.sampled_from(TAGS))
def test_the_index_finds_the_rows_that_hold_a_tag(rows, tag: str) -> None:
    assert {row.key for row in Index(rows).holders(tag)} == {row.key for row in rows if row.holds(tag)}


@given(exclusion_lists, servings, st.sampled_from([None, {}, {"ignore": ["x"]}, {"only": list(TAGS)}]))
def test_nothing_is_shared_between_requests(rows, serving, provider) -> None:
    compiled = snapshot(*rows, serving=serving, tags=TAGS)
    try:
        found = preferences(compiled, provider)
    except NoRouteLeft:
        return
    before = deepcopy(found)
    found["ignore"].append("spoiled")
    assert preferences(compiled, provider) == before
