"""Rule R3, the part without threads: an entry ends at its end in a snapshot that nobody refreshes."""

from copy import deepcopy
from datetime import timedelta

import pytest

from routing.domain.exclusion_list import NoRouteLeft
from routing.domain.exclusion_rows import CATALOGUE_GOOD_FOR
from tests.routing.domain.rows import MODEL, NOW, NOW_S, canary, excluded, model, preferences, snapshot

END = NOW + timedelta(hours=1)
TICK = timedelta(microseconds=1)


def test_an_entry_holds_up_to_and_not_including_its_end_without_a_refresh() -> None:
    compiled = snapshot(canary("one", ends_at=END), excluded("two"))
    assert preferences(compiled, at=END - timedelta(seconds=1))["ignore"] == ["one", "two"]
    assert preferences(compiled, at=END)["ignore"] == ["two"]
    assert preferences(compiled, at=END + timedelta(days=30))["ignore"] == ["two"]


def test_an_entry_for_all_models_ends_for_several_models_at_once_too() -> None:
    compiled = snapshot(excluded("one", model=None, ends_at=END))
    both = (MODEL, "some/unknown")
    assert preferences(compiled, None, *both, at=NOW)["ignore"] == ["one"]
    assert preferences(compiled, None, *both, at=END)["ignore"] == []


def test_an_entry_that_has_ended_when_the_snapshot_is_compiled_is_not_sent() -> None:
    assert preferences(snapshot(canary("one", ends_at=NOW)))["ignore"] == []


def test_what_gave_way_comes_back_when_another_entry_ends() -> None:
    compiled = snapshot(
        canary("alpha", days_old=1), canary("beta", days_old=2, ends_at=END), serving=["alpha", "beta"]
    )
    assert preferences(compiled)["ignore"] == ["beta"]
    assert preferences(compiled, at=END)["ignore"] == ["alpha"]


def test_no_route_left_ends_with_the_entry_that_caused_it() -> None:
    compiled = snapshot(excluded("alpha", ends_at=END), serving=["alpha"])
    with pytest.raises(NoRouteLeft):
        preferences(compiled, at=END - TICK)
    assert preferences(compiled, at=END)["ignore"] == []


def test_what_gave_way_is_back_once_the_catalogue_is_a_day_old() -> None:
    watched = model(serving=["alpha"], discovered_at=NOW)
    compiled = snapshot(canary("alpha", ends_at=NOW + timedelta(days=3)), models=[watched])
    assert preferences(compiled, at=NOW + CATALOGUE_GOOD_FOR - timedelta(seconds=1))["ignore"] == []
    assert preferences(compiled, at=NOW + CATALOGUE_GOOD_FOR)["ignore"] == ["alpha"]


def test_the_next_change_is_the_first_end_of_an_entry_or_of_a_catalogue() -> None:
    known = snapshot(
        excluded("one", ends_at=NOW + timedelta(days=9)), models=[model(serving=["alpha"], discovered_at=NOW)]
    )
    assert known.next_change_s == NOW_S + CATALOGUE_GOOD_FOR.total_seconds()
    assert snapshot(excluded("one", ends_at=END)).next_change_s == END.timestamp()
    assert snapshot(models=[]).next_change_s == float("inf")


@pytest.mark.parametrize("provider", [None, {}, {"only": ["alpha"]}, {"order": ["alpha"], "ignore": ["x"]}])
def test_no_two_requests_share_a_list_and_none_shares_one_with_the_snapshot(provider) -> None:
    watched = model(serving=["alpha"], preferences={"quantizations": ["fp8"], "max_price": {"prompt": 1}})
    compiled = snapshot(excluded("one"), models=[watched])
    before = deepcopy(preferences(compiled, provider))
    spoiled = preferences(compiled, provider)
    for value in spoiled.values():
        value.clear()
    assert preferences(compiled, provider) == before


def test_what_the_caller_passed_is_neither_changed_nor_kept() -> None:
    wishes = {"only": ["Alpha"], "ignore": ["x"], "sort": {"by": "price"}}
    found = preferences(snapshot(excluded("one")), wishes)
    found["sort"]["by"] = "latency"
    found["only"].append("beta")
    assert wishes == {"only": ["Alpha"], "ignore": ["x"], "sort": {"by": "price"}}


def test_plans_of_several_models_are_kept_in_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("routing.domain.snapshot.MOST_PLANS", 5)
    models = [model(f"author/m{number}", ["alpha"]) for number in range(3)]
    compiled = snapshot(excluded("one", model=None), models=models)
    for pair in [(a.slug, b.slug) for a in models for b in models]:
        assert preferences(compiled, None, *pair)["ignore"] == ["one"]
    assert len(compiled._plans) == 5
