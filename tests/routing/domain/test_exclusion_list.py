"""Rules R1 and R2: three tiers, one list, never empty."""

from datetime import timedelta

import pytest

from routing.domain.exclusion_list import NoRouteLeft
from tests.routing.domain.rows import MODEL, NOW, builtin, canary, excluded, model, preferences, snapshot

# R1: the union


def test_the_list_is_the_union_of_the_three_tiers_and_the_callers_own() -> None:
    compiled = snapshot(builtin("one"), excluded("two"), canary("three/fp8"))
    assert preferences(compiled, {"ignore": ["four"]})["ignore"] == ["one", "two", "three/fp8", "four"]


def test_a_name_stands_in_the_list_once() -> None:
    compiled = snapshot(builtin("one"), excluded("one"), canary("one/fp8"), tags=["one/fp8"])
    assert preferences(compiled, {"ignore": ["ONE", "one/fp8", "two", "Two "]})["ignore"] == [
        "one",
        "one/fp8",
        "two",
    ]


def test_the_list_holds_lower_case_names_only() -> None:
    assert preferences(snapshot(), {"ignore": [" DeepInfra/FP8 "]})["ignore"] == ["deepinfra/fp8"]


def test_a_request_without_any_exclusion_carries_an_empty_list() -> None:
    assert preferences(snapshot()) == {"ignore": []}


def test_an_exclusion_for_a_named_model_is_in_no_other_models_request() -> None:
    compiled = snapshot(excluded("one"), models=[model(serving=["alpha"]), model("author/other", ["alpha"])])
    assert preferences(compiled)["ignore"] == ["one"]
    assert preferences(compiled, None, "author/other")["ignore"] == []


def test_an_exclusion_for_all_models_is_in_every_request_also_for_models_nobody_knows() -> None:
    compiled = snapshot(excluded("one", model=None))
    assert preferences(compiled)["ignore"] == ["one"]
    assert preferences(compiled, None, "some/unknown")["ignore"] == ["one"]


def test_an_exclusion_of_an_endpoint_that_does_not_serve_stays_in_the_list() -> None:
    assert preferences(snapshot(excluded("gone/fp8"), serving=["alpha"]))["ignore"] == ["gone/fp8"]


def test_an_exclusion_of_a_provider_is_sent_as_its_base_slug_and_every_tag_of_it_ever_seen() -> None:
    compiled = snapshot(excluded("one"), tags=["one/fp8", "one/flex", "onetwo/fp8", "one"])
    assert preferences(compiled)["ignore"] == ["one", "one/flex", "one/fp8"]


def test_an_exclusion_of_an_endpoint_is_sent_as_its_tag_only() -> None:
    assert preferences(snapshot(excluded("one/fp8"), tags=["one/fp4", "one"]))["ignore"] == ["one/fp8"]


def test_a_suspended_endpoint_whose_tag_is_a_base_slug_is_sent_as_that_tag_only() -> None:
    assert preferences(snapshot(canary("one"), tags=["one/flex", "one"]))["ignore"] == ["one"]


def test_the_callers_other_preferences_stay() -> None:
    wishes = {
        "allow_fallbacks": False,
        "require_parameters": True,
        "data_collection": "deny",
        "zdr": True,
        "quantizations": ["fp8"],
        "sort": {"by": "price", "partition": "none"},
        "max_price": {"prompt": 1, "completion": "2"},
        "preferred_min_throughput": 30,
        "preferred_max_latency": {"p90": 2.5},
        "enforce_distillable_text": False,
    }
    assert preferences(snapshot(excluded("one")), wishes) == {**wishes, "ignore": ["one"]}


@pytest.mark.parametrize("key", ["only", "order"])
@pytest.mark.parametrize(
    ("exclusion", "listed", "kept"),
    [
        pytest.param(excluded("one"), ["One", "alpha"], ["alpha"], id="the name itself"),
        pytest.param(excluded("one"), ["one/fp8", "alpha"], ["alpha"], id="an endpoint of the provider"),
        pytest.param(excluded("one"), ["one/flex", "alpha"], ["alpha"], id="a service tier never seen"),
        pytest.param(
            excluded("one/fp8"), ["one", "alpha"], ["one", "alpha"], id="a provider that has more endpoints"
        ),
        pytest.param(canary("one"), ["one/fast", "alpha"], ["alpha"], id="what the gateway reads the tag as"),
        pytest.param(
            canary("one"),
            ["one/flex", "alpha"],
            ["one/flex", "alpha"],
            id="a service tier of a suspended tag",
        ),
        pytest.param(excluded("one"), ["alpha"], ["alpha"], id="nothing excluded"),
    ],
)
def test_excluded_entries_leave_the_callers_only_and_order(key: str, exclusion, listed, kept) -> None:
    assert preferences(snapshot(exclusion), {key: listed})[key] == kept


def test_what_the_caller_ignores_leaves_the_callers_only_and_order_too() -> None:
    found = preferences(
        snapshot(), {"ignore": ["alpha"], "only": ["alpha", "beta"], "order": ["alpha", "beta"]}
    )
    assert found == {"ignore": ["alpha"], "only": ["beta"], "order": ["beta"]}


def test_an_order_of_which_nothing_is_left_is_not_sent() -> None:
    assert preferences(snapshot(excluded("one")), {"order": ["one"]}) == {"ignore": ["one"]}


def test_an_empty_only_is_never_sent() -> None:
    assert preferences(snapshot(excluded("one")), {"only": []}) == {"ignore": ["one"]}


def test_the_models_production_preferences_are_sent_and_the_callers_go_over_them() -> None:
    watched = model(
        serving=["alpha", "beta"], preferences={"quantizations": ["fp8"], "zdr": True, "ignore": ["Beta"]}
    )
    compiled = snapshot(excluded("one"), models=[watched])
    assert preferences(compiled) == {"quantizations": ["fp8"], "zdr": True, "ignore": ["one", "beta"]}
    found = preferences(compiled, {"zdr": None, "quantizations": ["fp4"], "ignore": ["two"]})
    assert found == {"quantizations": ["fp4"], "ignore": ["one", "beta", "two"]}


def test_production_preferences_that_cannot_be_sent_are_left_out_and_noted() -> None:
    compiled = snapshot(
        models=[model(serving=["alpha"], preferences={"zdr": "yes", "data_collection": "deny"})]
    )
    assert preferences(compiled) == {"data_collection": "deny", "ignore": []}
    assert compiled.problems == (
        "The preferences of author/model: provider.zdr is true or false, not 'yes'.",
    )


def test_fallback_models_get_the_union_for_all_of_them() -> None:
    compiled = snapshot(
        excluded("one", model="author/first"),
        excluded("two", model="author/second"),
        excluded("three", model=None),
        models=[model("author/first", ["alpha"]), model("author/second", ["beta"])],
    )
    found = preferences(compiled, None, "author/first", "author/second", "some/unknown")
    assert sorted(found["ignore"]) == ["one", "three", "two"]


@pytest.mark.parametrize("variant", ["author/model:free", "author/model:nitro", "Author/Model:Free"])
def test_a_variant_follows_its_base_model(variant: str) -> None:
    assert preferences(snapshot(excluded("one")), None, variant)["ignore"] == ["one"]


def test_a_variant_that_is_watched_itself_has_a_list_of_its_own() -> None:
    free = model("author/model:free", ["alpha"])
    compiled = snapshot(
        excluded("one"), canary("two", model="author/model:free"), models=[model(serving=["alpha"]), free]
    )
    assert preferences(compiled, None, "author/model:free")["ignore"] == ["two"]
    assert preferences(compiled)["ignore"] == ["one"]


def test_a_variant_that_is_known_but_not_watched_follows_its_base_model_and_keeps_what_names_it() -> None:
    free = model("author/model:free", ["alpha"], is_watched=False)
    compiled = snapshot(
        excluded("one"), excluded("two", model="author/model:free"), models=[model(serving=["alpha"]), free]
    )
    assert preferences(compiled, None, "author/model:free")["ignore"] == ["one", "two"]
    assert preferences(compiled)["ignore"] == ["one"]


# R2: never empty


def test_the_list_never_excludes_every_serving_endpoint() -> None:
    compiled = snapshot(canary("alpha"), canary("beta", days_old=2), serving=["alpha", "beta"])
    assert preferences(compiled)["ignore"] == ["beta"]


def test_nothing_gives_way_while_one_endpoint_can_serve() -> None:
    compiled = snapshot(canary("alpha"), canary("beta"), serving=["alpha", "beta", "gamma"])
    assert preferences(compiled)["ignore"] == ["alpha", "beta"]


@pytest.mark.parametrize(
    ("entries", "left"),
    [
        pytest.param(
            [canary("alpha", days_old=3), canary("beta", days_old=1)], "beta", id="the latest first"
        ),
        pytest.param(
            [canary("alpha", days_old=3, contracts=["latency"]), canary("beta", days_old=1)],
            "alpha",
            id="latency-only before others",
        ),
        pytest.param(
            [canary("alpha", days_old=3, contracts=["language", "latency"]), canary("beta", days_old=1)],
            "beta",
            id="latency and more is not latency-only",
        ),
        pytest.param(
            [canary("alpha", days_old=3), excluded("beta", days_old=1, may_give_way=True)],
            "alpha",
            id="canary before runtime",
        ),
        pytest.param([canary("alpha"), excluded("beta")], "alpha", id="runtime does not, unless added so"),
        pytest.param(
            [excluded("alpha", may_give_way=True), excluded("beta")], "alpha", id="runtime, if added so"
        ),
        pytest.param([canary("alpha"), builtin("beta")], "alpha", id="reviewed ones never"),
        pytest.param(
            [canary("alpha"), excluded("alpha"), canary("beta", days_old=9)],
            "beta",
            id="an endpoint that something else holds is not freed in vain",
        ),
    ],
)
def test_the_order_of_giving_way(entries, left: str) -> None:
    compiled = snapshot(*entries, serving=["alpha", "beta"])
    gone = {entry.entry for entry in entries} - set(preferences(compiled)["ignore"])
    assert gone == {left}
    assert {key.split(":")[1] for _, key in compiled.gave_way()} == {left}


def test_all_entries_that_hold_the_freed_endpoint_give_way_together() -> None:
    compiled = snapshot(
        canary("alpha"), excluded("alpha", may_give_way=True), excluded("beta"), serving=["alpha", "beta"]
    )
    assert preferences(compiled)["ignore"] == ["beta"]


@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(builtin("alpha"), id="builtin"),
        pytest.param(excluded("alpha"), id="runtime that may not give way"),
    ],
)
def test_nothing_that_can_serve_is_no_route_left(entry) -> None:
    with pytest.raises(
        NoRouteLeft, match=r"No endpoint is left that could serve author/model: alpha by the \w+ tier"
    ):
        preferences(snapshot(entry, serving=["alpha"]))


def test_the_callers_own_never_gives_way() -> None:
    compiled = snapshot(canary("beta"), serving=["alpha", "beta"])
    assert preferences(compiled, {"ignore": ["alpha"]})["ignore"] == ["alpha"]
    with pytest.raises(NoRouteLeft, match="the caller's own list"):
        preferences(compiled, {"ignore": ["alpha", "beta"]})


def test_an_exclusion_that_gave_way_stays_when_the_caller_ignores_it_himself() -> None:
    compiled = snapshot(canary("alpha"), canary("beta", days_old=2), serving=["alpha", "beta"])
    assert preferences(compiled, {"ignore": ["alpha"]})["ignore"] == ["alpha"]


def test_inside_the_callers_only_the_same_order_decides() -> None:
    compiled = snapshot(
        canary("alpha", days_old=3), canary("beta", days_old=1), serving=["alpha", "beta", "gamma"]
    )
    found = preferences(compiled, {"only": ["alpha", "beta"]})
    assert found == {"only": ["beta"], "ignore": ["alpha"]}


def test_inside_the_callers_only_what_may_not_give_way_leaves_no_route() -> None:
    with pytest.raises(NoRouteLeft, match="alpha by the runtime tier"):
        preferences(snapshot(excluded("alpha"), serving=["alpha", "beta"]), {"only": ["alpha"]})


def test_inside_a_base_slug_in_only_every_endpoint_of_it_counts() -> None:
    compiled = snapshot(
        canary("one/fp8"), canary("one/fp4", days_old=2), serving=["one/fp8", "one/fp4", "alpha"]
    )
    assert preferences(compiled, {"only": ["one"]}) == {"only": ["one"], "ignore": ["one/fp4"]}


def test_an_order_without_fallbacks_is_treated_like_only() -> None:
    compiled = snapshot(canary("alpha"), serving=["alpha", "beta"])
    wishes = {"order": ["alpha"], "allow_fallbacks": False}
    assert preferences(compiled, wishes) == {"order": ["alpha"], "allow_fallbacks": False, "ignore": []}
    with pytest.raises(NoRouteLeft):
        preferences(snapshot(excluded("alpha")), wishes)


def test_only_that_becomes_empty_beside_an_order_is_no_route_left_all_the_same() -> None:
    wishes = {"only": ["alpha"], "order": ["beta"], "allow_fallbacks": False}
    with pytest.raises(NoRouteLeft):
        preferences(snapshot(excluded("alpha")), wishes)


def test_a_production_only_decides_what_gives_way_when_the_snapshot_is_compiled() -> None:
    watched = model(serving=["alpha", "beta"], preferences={"only": ["alpha"]})
    compiled = snapshot(canary("alpha"), models=[watched])
    assert preferences(compiled) == {"only": ["alpha"], "ignore": []}
    assert compiled.gave_way() == {(MODEL, canary("alpha").key)}
    assert preferences(compiled, {"only": None}) == {"ignore": []}


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"discovered_at": None}, id="never read"),
        pytest.param({"discovered_at": NOW - timedelta(hours=24)}, id="a day old"),
        pytest.param({"is_gone": True}, id="model gone"),
    ],
)
def test_with_an_unknown_or_day_old_catalogue_nothing_gives_way_on_guesswork(columns) -> None:
    compiled = snapshot(canary("alpha"), models=[model(serving=["alpha"], **columns)])
    assert preferences(compiled)["ignore"] == ["alpha"]
    assert compiled.gave_way() == frozenset()
    with pytest.raises(NoRouteLeft):
        preferences(compiled, {"only": ["alpha"]})


ADMITS_NONE = {"quantizations": ["fp8"]}


@pytest.mark.parametrize(
    ("watched", "provider"),
    [
        pytest.param(model(preferences=ADMITS_NONE), None, id="none of that quantization serves"),
        pytest.param(model(preferences=ADMITS_NONE), {"only": ["alpha"]}, id="whatever the caller names"),
        pytest.param(model(preferences=ADMITS_NONE), ADMITS_NONE, id="also when the caller says it again"),
        pytest.param(model(preferences={"max_price": {"prompt": 1}}), None, id="none so cheap serves"),
        pytest.param(model(serving=["alpha"], preferences={"only": ["gone"]}), None, id="what is named left"),
        pytest.param(model(), None, id="nothing serves"),
    ],
)
def test_r2_where_the_production_preferences_admit_nothing_that_serves_the_call_fails_at_once(
    watched, provider
) -> None:
    with pytest.raises(
        NoRouteLeft, match="none that serves is admitted by the production preferences"
    ) as caught:
        preferences(snapshot(excluded("beta"), models=[watched]), provider)
    assert (caught.value.models, caught.value.held) == ((MODEL,), {})


@pytest.mark.parametrize(
    ("watched", "provider"),
    [
        pytest.param(model(preferences=ADMITS_NONE), {"quantizations": ["fp4"]}, id="another quantization"),
        pytest.param(model(preferences=ADMITS_NONE), {"quantizations": None}, id="any quantization"),
        pytest.param(model(), {"max_price": {"prompt": 9}}, id="a price of the caller's"),
        pytest.param(model(serving=["a"], preferences={"only": ["gone"]}), {"only": None}, id="no only"),
        pytest.param(model(serving=["a"], preferences={"only": ["gone"]}), {"only": ["b"]}, id="his only"),
        pytest.param(model(preferences={"quantizations": 8}), None, id="a preference that is not sent"),
    ],
)
def test_r2_what_the_caller_puts_in_their_place_is_his_own_knowledge(watched, provider) -> None:
    assert preferences(snapshot(canary("alpha"), models=[watched]), provider)["ignore"] == ["alpha"]


@pytest.mark.parametrize(
    "columns",
    [
        {"discovered_at": None},
        {"discovered_at": NOW - timedelta(hours=24)},
        {"is_gone": True},
    ],
    ids=["never read", "a day old", "model gone"],
)
def test_r2_with_an_unknown_or_day_old_catalogue_no_call_fails_on_guesswork(columns) -> None:
    compiled = snapshot(models=[model(preferences=ADMITS_NONE, **columns)])
    assert preferences(compiled) == {**ADMITS_NONE, "ignore": []}


def test_r2_that_the_base_model_has_nothing_says_nothing_of_a_variant() -> None:
    compiled = snapshot(models=[model(preferences=ADMITS_NONE)])
    assert preferences(compiled, None, f"{MODEL}:free") == {**ADMITS_NONE, "ignore": []}
    own = model(f"{MODEL}:free", preferences=ADMITS_NONE)
    with pytest.raises(NoRouteLeft):
        preferences(snapshot(models=[model(), own]), None, f"{MODEL}:free")


def test_a_catalogue_just_younger_than_a_day_is_known() -> None:
    young = model(serving=["alpha"], discovered_at=NOW - timedelta(hours=24) + timedelta(seconds=1))
    assert preferences(snapshot(canary("alpha"), models=[young]))["ignore"] == []


def test_only_of_endpoints_that_do_not_serve_is_sent_as_it_is() -> None:
    found = preferences(snapshot(canary("alpha"), serving=["alpha", "beta"]), {"only": ["newcomer"]})
    assert found == {"only": ["newcomer"], "ignore": ["alpha"]}


def test_of_several_models_one_must_be_able_to_serve() -> None:
    first, second = model("author/first", ["alpha", "beta"]), model("author/second", ["alpha", "beta"])
    compiled = snapshot(
        canary("alpha", model="author/first", days_old=2),
        canary("beta", model="author/second", days_old=1),
        models=[first, second],
    )
    assert preferences(compiled, None, "author/first")["ignore"] == ["alpha"]
    assert preferences(compiled, None, "author/first", "author/second")["ignore"] == ["alpha"]


def test_of_several_models_one_without_a_route_does_not_stop_the_others() -> None:
    first, second = model("author/first", ["alpha"]), model("author/second", ["beta"])
    compiled = snapshot(builtin("alpha", model="author/first"), models=[first, second])
    assert preferences(compiled, None, "author/first", "author/second")["ignore"] == ["alpha"]


def test_of_several_models_an_unknown_one_leaves_nothing_to_guess() -> None:
    compiled = snapshot(builtin("alpha", model=None), models=[model(serving=["alpha"])])
    assert preferences(compiled, None, MODEL, "some/unknown")["ignore"] == ["alpha"]


def test_r2_of_several_models_one_that_has_nothing_leaves_the_others_to_decide_what_gives_way() -> None:
    empty, other = model("author/first"), model("author/second", ["beta"])
    compiled = snapshot(canary("beta", model="author/second"), models=[empty, other])
    assert preferences(compiled, None, "author/first", "author/second")["ignore"] == []


@pytest.mark.parametrize(("second", "fails"), [(ADMITS_NONE, True), ({"quantizations": ["fp4"]}, False)])
def test_r2_of_several_models_that_have_nothing_the_first_ones_preferences_decide(
    second, fails: bool
) -> None:
    both = ("author/first", "author/second")
    models = [model(both[0], preferences=ADMITS_NONE), model(both[1], preferences=second)]
    if fails:
        with pytest.raises(NoRouteLeft):
            preferences(snapshot(models=models), None, *both)
    else:
        assert preferences(snapshot(models=models), None, *both) == {**ADMITS_NONE, "ignore": []}


# C17: the switch


def test_while_enforcement_is_stopped_no_canary_entry_is_sent_and_the_others_are() -> None:
    compiled = snapshot(canary("one"), excluded("two"), builtin("three"), is_stopped=True)
    assert preferences(compiled)["ignore"] == ["two", "three"]
