"""Rule C1, the catalogue's part, and the names of rule R4."""

import json
from datetime import timedelta
from decimal import Decimal

import pytest

from routing.catalogue import (
    apply_discovery,
    discovery_failed,
    display_names,
    first_gateway,
    has_good_list,
    known_names,
    mark_gone,
    store_providers,
)
from routing.domain.discovery import CatalogueChange
from routing.exclusions import add_runtime
from routing.gateways.openrouter_catalogue import read_discovery, read_providers
from routing.models import Capability, Endpoint, Exclusion, Provider
from routing.versions import current_version
from tests.routing.conftest import NOW, MakeModel, asked, decided, discovery, latest_decision, offered, told

LATER = NOW + timedelta(minutes=30)
LATER_STILL = NOW + timedelta(hours=1)


def serving(model) -> list[str]:
    return sorted(model.endpoints.filter(is_serving=True).values_list("tag", flat=True))


def test_a_first_list_is_stored_and_told_as_one_decision(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta/fp8")
    assert serving(model) == ["alpha", "beta/fp8"]
    assert model.discovered_at == NOW
    assert decided() == [("joined", "C1", "")]
    assert told() == ["author/model is served by alpha, beta/fp8"]


def test_two_rows_with_one_tag_are_one_endpoint(make_model: MakeModel) -> None:
    model = make_model()
    change = apply_discovery(model, discovery("alpha/fp4", "alpha/fp4", "beta"), now=NOW)
    assert change.joined == ("alpha/fp4", "beta")
    assert Endpoint.objects.count() == 2


def test_an_endpoint_that_joins_is_told(make_model: MakeModel) -> None:
    model = make_model("alpha")
    since = latest_decision()
    change = apply_discovery(model, discovery("alpha", "beta"), now=LATER)
    assert change == CatalogueChange(joined=("beta",))
    assert decided(since) == [("joined", "C1", "beta")]
    assert told(since) == ["author/model is now served by beta"]


def test_an_endpoint_that_left_keeps_its_row_and_says_since_when(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    since = latest_decision()
    change = apply_discovery(model, discovery("alpha", "beta"), now=LATER)
    gone = Endpoint.objects.get(tag="gamma")
    assert change == CatalogueChange(left=("gamma",))
    assert (gone.is_serving, gone.left_at, gone.first_seen_at, gone.last_seen_at) == (False, LATER, NOW, NOW)
    assert decided(since) == [("left", "C1", "gamma")]
    assert told(since) == ["author/model is no longer served by gamma"]


def test_an_endpoint_that_returns_is_the_same_one(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    apply_discovery(model, discovery("alpha", "beta"), now=LATER)
    since = latest_decision()
    change = apply_discovery(model, discovery("alpha", "beta", "gamma"), now=LATER_STILL)
    back = Endpoint.objects.get(tag="gamma")
    assert change == CatalogueChange(returned=("gamma",))
    assert (back.is_serving, back.left_at, back.first_seen_at) == (True, None, NOW)
    assert told(since) == ["author/model is served again by gamma"]


def test_a_list_without_more_than_half_is_held_back_and_does_not_make_the_catalogue_younger(
    make_model: MakeModel,
) -> None:
    model = make_model("alpha", "beta", "gamma")
    since = latest_decision()
    change = apply_discovery(model, discovery("alpha", "delta"), now=LATER)
    assert change == CatalogueChange(joined=("delta",), held_back=("beta", "gamma"))
    assert serving(model) == ["alpha", "beta", "delta", "gamma"]
    assert model.discovered_at == NOW
    assert decided(since) == [("joined", "C1", "delta")]


def test_a_list_without_more_than_half_is_believed_when_the_next_one_agrees(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    apply_discovery(model, discovery("alpha"), now=LATER)
    change = apply_discovery(model, discovery("alpha"), now=LATER_STILL)
    assert change == CatalogueChange(left=("beta", "gamma"))
    assert serving(model) == ["alpha"]
    assert (model.discovered_at, model.shrunk_tags) == (LATER_STILL, None)


def test_a_whole_list_forgets_the_short_one_before_it(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta", "gamma")
    apply_discovery(model, discovery("alpha"), now=LATER)
    apply_discovery(model, discovery("alpha", "beta", "gamma"), now=LATER_STILL)
    assert model.shrunk_tags is None
    change = apply_discovery(model, discovery("alpha"), now=LATER_STILL + timedelta(minutes=30))
    assert change.held_back == ("beta", "gamma")


def test_an_unreadable_answer_changes_nothing_and_is_logged(make_model: MakeModel) -> None:
    model = make_model("alpha")
    since, version = latest_decision(), current_version()
    discovery_failed(model, "The discovery answer lists no endpoint.", now=LATER)
    assert serving(model) == ["alpha"]
    assert current_version() == version
    assert decided(since) == [("discovery_failed", "C1", "")]


def test_failing_discovery_is_told_once_an_episode_and_again_every_24_h(make_model: MakeModel) -> None:
    model = make_model("alpha")
    since = latest_decision()
    for hours in (1, 2, 23, 24, 25, 48):
        discovery_failed(model, "No answer.", now=NOW + timedelta(hours=hours))
    assert len(told(since)) == 3
    apply_discovery(model, discovery("alpha"), now=NOW + timedelta(hours=49))
    discovery_failed(model, "No answer.", now=NOW + timedelta(hours=50))
    assert len(told(since)) == 4


@pytest.mark.parametrize(
    ("age", "is_good"), [(timedelta(hours=24) - timedelta(seconds=1), True), (timedelta(hours=24), False)]
)
def test_the_last_good_list_serves_while_it_is_younger_than_24_h(
    make_model: MakeModel, age, is_good: bool
) -> None:
    assert has_good_list(make_model("alpha"), now=NOW + age) is is_good


def test_a_list_never_read_is_no_good_list(make_model: MakeModel) -> None:
    assert not has_good_list(make_model(), now=NOW)


def test_a_model_not_found_is_marked_gone_and_told_once(make_model: MakeModel) -> None:
    model = make_model("alpha")
    since = latest_decision()
    assert mark_gone(model, now=LATER)
    assert not mark_gone(model, now=LATER_STILL)
    assert decided(since) == [("model_gone", "C1", "")]
    assert told(since) == ["author/model is gone"]
    assert not has_good_list(model, now=LATER)


def test_a_model_that_comes_back_has_lost_no_history(make_model: MakeModel) -> None:
    model = make_model("alpha")
    mark_gone(model, now=LATER)
    since = latest_decision()
    assert apply_discovery(model, discovery("alpha"), now=LATER_STILL) == CatalogueChange()
    assert not model.is_gone
    assert decided(since) == [("joined", "C1", "")]
    assert told(since) == ["author/model is back"]


def test_capabilities_are_dated_rows_and_only_a_change_makes_a_new_one(make_model: MakeModel) -> None:
    model = make_model()
    first = offered("alpha", supported_parameters=frozenset({"tools"}), prompt_price=Decimal("0.0000001"))
    apply_discovery(model, discovery(first), now=NOW)
    assert apply_discovery(model, discovery(first), now=LATER).changed == ()
    second = offered("alpha", supported_parameters=frozenset({"tools", "structured_outputs"}))
    assert apply_discovery(model, discovery(second), now=LATER_STILL).changed == ("alpha",)
    rows = Capability.objects.order_by("valid_from").values_list(
        "parameters", "prompt_price", "valid_from", "valid_until"
    )
    assert list(rows) == [
        (["tools"], Decimal("0.0000001"), NOW, LATER_STILL),
        (["structured_outputs", "tools"], None, LATER_STILL, None),
    ]


def test_a_measured_capability_is_left_alone_by_a_discovery(make_model: MakeModel) -> None:
    model = make_model("alpha")
    Capability.objects.create(
        endpoint=model.endpoints.get(), source="measured", parameters=["x"], valid_from=NOW
    )
    apply_discovery(model, discovery(offered("alpha", context_length=5)), now=LATER)
    assert Capability.objects.get(source="measured").valid_until is None


@pytest.mark.parametrize(
    "absurd",
    [
        {"context_length": 2**70},
        {"context_length": -1},
        {"prompt_price": Decimal(-1)},
        {"prompt_price": Decimal("1e30")},
        {"prompt_price": Decimal("NaN")},
        {"quantization": "x" * 500},
    ],
)
def test_absurd_values_are_stored_as_unknown_or_cut(make_model: MakeModel, absurd) -> None:
    apply_discovery(make_model(), discovery(offered("alpha", **absurd)), now=NOW)
    row = Capability.objects.get()
    assert (row.context_length, row.prompt_price) == (None, None)
    assert len(row.quantization) <= 30


def test_c1_rows_that_no_column_holds_cost_only_themselves(make_model: MakeModel) -> None:
    model = make_model()
    rows = [
        {"tag": "good/fp8", "provider_name": "n" * 500, "status": 2**31 - 1},
        {"tag": "s" * 100 + "/fp8", "status": -(2**31) + 1},
        {"tag": "odd/fp8", "status": 10**12},
        {"tag": "s" * 101 + "/fp8"},
    ]
    listed = read_discovery(json.dumps({"data": {"endpoints": rows}}), model=model.slug)
    apply_discovery(model, listed, now=NOW)
    assert dict(model.endpoints.values_list("tag", "gateway_status")) == {
        "good/fp8": 2**31 - 1,
        "s" * 100 + "/fp8": -(2**31) + 1,
        "odd/fp8": None,
    }
    names = read_providers(json.dumps({"data": [{"slug": "t" * size, "name": "T"} for size in (100, 101)]}))
    store_providers(model.gateway, names, now=NOW)
    assert list(Provider.objects.filter(display_name="T").values_list("slug", flat=True)) == ["t" * 100]


def test_the_gateways_own_status_is_kept_to_be_shown(make_model: MakeModel) -> None:
    model = make_model("alpha")
    apply_discovery(model, discovery(offered("alpha", status=-2)), now=LATER)
    assert model.endpoints.get().gateway_status == -2


def test_every_slug_and_tag_ever_seen_is_a_known_name(make_model: MakeModel) -> None:
    model = make_model("alpha/fp8", "beta", "gamma")
    apply_discovery(model, discovery("alpha/fp8", "beta"), now=LATER)
    store_providers(first_gateway(), {"delta": "Delta Cloud"}, now=LATER)
    assert known_names() == {"alpha", "alpha/fp8", "beta", "gamma", "delta"}


def test_a_display_name_names_every_provider_that_bears_it(make_model: MakeModel) -> None:
    make_model("alpha", "beta/fp8")
    store_providers(first_gateway(), {"alpha-eu": "ALPHA AI"}, now=LATER)
    assert display_names(first_gateway()) == {"alpha ai": {"alpha", "alpha-eu"}, "beta ai": {"beta"}}


def test_a_provider_is_never_deleted_and_its_latest_display_name_counts(make_model: MakeModel) -> None:
    model = make_model("alpha")
    store_providers(first_gateway(), {"alpha": "Alpha Two"}, now=LATER)
    provider = Provider.objects.get()
    assert (provider.display_name, provider.first_seen_at, provider.last_seen_at) == ("Alpha Two", NOW, LATER)
    assert model.endpoints.get().provider == provider


def test_a_discovery_that_brings_an_unmatched_name_matches_the_exclusion(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta")
    exclusion = add_runtime(asked("gamma", is_confirmed=True), now=NOW)
    since = latest_decision()
    apply_discovery(model, discovery("alpha", "beta", "gamma/fp8"), now=LATER)
    exclusion.refresh_from_db()
    assert not exclusion.is_unmatched
    assert decided(since) == [("joined", "C1", "gamma/fp8"), ("unmatched", "R4", "gamma")]


def test_a_discovery_without_that_name_leaves_the_exclusion_unmatched(make_model: MakeModel) -> None:
    model = make_model("alpha", "beta")
    add_runtime(asked("gamma", is_confirmed=True), now=NOW)
    apply_discovery(model, discovery("alpha", "beta", "gammaray"), now=LATER)
    assert Exclusion.objects.get().is_unmatched


def test_a_change_of_what_serves_raises_the_version_and_an_unchanged_list_does_not(
    make_model: MakeModel,
) -> None:
    model = make_model("alpha")
    version = current_version()
    apply_discovery(model, discovery("alpha"), now=LATER)
    assert current_version() == version
    apply_discovery(model, discovery("alpha", "beta"), now=LATER)
    assert current_version() == version + 1
    assert mark_gone(model, now=LATER)
    assert current_version() == version + 2
    apply_discovery(model, discovery("alpha", "beta"), now=LATER_STILL)
    assert current_version() == version + 3
