"""The `provider` object, `models`, the default choice: who may serve a request, and what it says when nobody may."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from sandbox.selection import matches
from tests.sandbox.driver import MODEL, STRUCTURED, TOOL, Gateway, scenario

PLAIN = ["temperature", "max_tokens"]
FOUR = scenario(
    {"tag": "acme/fp8", "provider": "Acme", "price_prompt": 0.2, "price_completion": 0.8},
    {
        "tag": "acme/turbo",
        "provider": "Acme",
        "quantization": "fp4",
        "price_prompt": 0.5,
        "price_completion": 2,
    },
    {"tag": "acme/flex", "provider": "Acme", "price_prompt": 0.1, "price_completion": 0.4},
    {
        "tag": "globex",
        "provider": "Globex Cloud",
        "quantization": "bf16",
        "price_prompt": 1,
        "price_completion": 4,
    },
)


def served(gateway: Gateway, times: int = 1, **body: Any) -> list[str]:
    """The tags that served so many requests."""
    before = len(gateway.state.log)
    for _ in range(times):
        gateway.chat(**body)
    return [line.tag for line in list(gateway.state.log)[before:]]


@pytest.mark.parametrize(
    ("entry", "tag", "is_meant"),
    [
        ("acme/fp8", "acme/fp8", True),
        ("acme", "acme", True),
        ("acme", "acme/fp8", True),
        ("acme", "acme/us-east5", True),
        ("acme", "acme/flex", False),
        ("acme", "acme/priority", False),
        ("acme/flex", "acme/flex", True),
        ("acme/fp8", "acme/fp4", False),
        ("acme/fp8", "acme", False),
        ("acm", "acme", False),
        ("Acme", "acme", False),
    ],
)
def test_an_entry_means_its_tag_or_every_tag_of_its_provider_but_service_tiers(
    entry: str, tag: str, is_meant: bool
) -> None:
    assert matches(entry, tag) is is_meant


@pytest.mark.parametrize("tag", ["acme/fp8", "acme/turbo", "acme/flex", "globex"])
def test_a_pinned_request_reaches_exactly_its_endpoint(tag: str) -> None:
    assert set(served(Gateway(FOUR), 5, provider={"only": [tag], "allow_fallbacks": False})) == {tag}


def test_only_with_a_base_slug_admits_all_its_tags_but_the_service_tier() -> None:
    assert set(served(Gateway(FOUR), 60, provider={"only": ["acme"], "sort": None})) == {
        "acme/fp8",
        "acme/turbo",
    }


def test_an_unknown_value_in_only_beside_a_known_one_does_nothing() -> None:
    assert set(served(Gateway(FOUR), 5, provider={"only": ["nobody", "globex"]})) == {"globex"}


def test_ignore_takes_out_a_tag_or_a_provider() -> None:
    gateway = Gateway(FOUR)
    assert "acme/fp8" not in served(gateway, 30, provider={"ignore": ["acme/fp8"]})
    assert set(served(gateway, 10, provider={"ignore": ["acme"]})) == {"globex"}


def test_an_unknown_value_in_ignore_silently_does_nothing() -> None:
    gateway = Gateway(FOUR)
    assert gateway.chat(provider={"ignore": ["no-such-provider", "Acme"]}).status == 200
    assert "acme/fp8" in served(gateway, 20, provider={"ignore": ["no-such-provider", "Acme"]})


def test_ignoring_everybody_is_the_recorded_404_and_reaches_nobody() -> None:
    gateway = Gateway(FOUR)
    reply = gateway.chat(provider={"ignore": ["acme", "globex"]})
    assert reply.status == 404
    assert reply.json["error"]["message"].startswith("All providers have been ignored.")
    assert not gateway.state.log


def test_only_minus_ignore_is_the_all_ignored_404() -> None:
    reply = Gateway(FOUR).chat(provider={"only": ["globex"], "ignore": ["globex"]})
    assert reply.json["error"]["message"].startswith("All providers have been ignored.")


def test_a_service_tier_is_not_chosen_by_default_but_by_service_tier() -> None:
    gateway = Gateway(FOUR)
    assert "acme/flex" not in served(gateway, 60)
    assert "acme/flex" in served(gateway, 20, service_tier="flex")


def test_order_is_tried_in_order_and_falls_back_to_others() -> None:
    endpoints = [dict(endpoint) for endpoint in FOUR["models"][0]["endpoints"]]
    endpoints[3]["faults"] = [{"kind": "server_error"}]
    gateway = Gateway(scenario(*endpoints))
    assert served(gateway, provider={"order": ["globex", "acme/turbo"]}) == ["acme/turbo"]
    assert gateway.chat(provider={"order": ["globex"]}).status == 200
    assert gateway.chat(provider={"order": ["globex"], "allow_fallbacks": False}).status == 503


def test_order_that_names_nobody_is_a_404_without_fallbacks_only() -> None:
    gateway = Gateway(FOUR)
    assert gateway.chat(provider={"order": ["google"]}).status == 200
    refused = gateway.chat(provider={"order": ["google"], "allow_fallbacks": False})
    assert refused.status == 404
    assert "permits only: google" in refused.json["error"]["message"]


def test_without_fallbacks_the_upstreams_own_error_comes_back() -> None:
    gateway = Gateway(
        scenario(
            {"tag": "acme", "provider": "Acme", "faults": [{"kind": "server_error", "status": 529}]},
            {"tag": "globex"},
        )
    )
    reply = gateway.pinned("acme")
    assert reply.status == 529
    assert reply.json["error"]["metadata"]["provider_name"] == "Acme"
    assert "previous_errors" not in reply.json["error"]["metadata"]


def test_when_all_fail_the_last_error_carries_the_earlier_ones_and_the_shortest_hint() -> None:
    limited = {"kind": "rate_limited", "retry_after": 9}
    gateway = Gateway(
        scenario(
            {"tag": "acme", "provider": "Acme", "faults": [limited]},
            {"tag": "globex", "provider": "Globex", "faults": [limited | {"retry_after": 4}]},
        )
    )
    reply = gateway.chat(headers={"X-OpenRouter-Metadata": "enabled"})
    assert reply.status == 429
    assert reply.headers["retry-after"] == "4"
    assert len(reply.json["error"]["metadata"]["previous_errors"]) == 1
    assert [attempt["status"] for attempt in reply.json["openrouter_metadata"]["attempts"]] == [429, 429]
    assert [count.failed for count in gateway.state.counts.values()] == [1, 1]


def test_an_open_request_moves_on_from_a_failing_upstream() -> None:
    gateway = Gateway(
        scenario(
            {"tag": "acme", "faults": [{"kind": "server_error"}]}, {"tag": "globex", "provider": "Globex"}
        )
    )
    reply = gateway.chat(provider={"order": ["acme", "globex"]}, headers={"X-OpenRouter-Metadata": "enabled"})
    assert reply.json["provider"] == "Globex"
    assert [attempt["status"] for attempt in reply.json["openrouter_metadata"]["attempts"]] == [503, 200]


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        ("price", "acme/fp8"),
        ("throughput", "globex"),
        ("latency", "acme/turbo"),
        ({"by": "price"}, "acme/fp8"),
    ],
    ids=["price", "throughput", "latency", "object"],
)
def test_sort_decides_who_is_first(sort: Any, first: str) -> None:
    endpoints = [dict(endpoint) for endpoint in FOUR["models"][0]["endpoints"]]
    endpoints[3]["tokens_per_second"] = 900
    endpoints[1]["ttft_ms"] = 10
    assert set(served(Gateway(scenario(*endpoints)), 5, provider={"sort": sort})) == {first}


@pytest.mark.parametrize(("suffix", "first"), [("floor", "acme/fp8"), ("nitro", "globex")])
def test_a_model_suffix_stands_for_a_sort(suffix: str, first: str) -> None:
    endpoints = [dict(endpoint) for endpoint in FOUR["models"][0]["endpoints"]]
    endpoints[3]["tokens_per_second"] = 900
    assert set(served(Gateway(scenario(*endpoints)), 5, model=f"{MODEL}:{suffix}")) == {first}


def test_the_default_choice_weighs_by_the_inverse_square_of_the_price() -> None:
    gateway = Gateway(
        scenario(
            {"tag": "cheap", "price_prompt": 1, "price_completion": 1},
            {"tag": "dear", "price_prompt": 3, "price_completion": 3},
        )
    )
    shares = Counter(served(gateway, 600))
    assert 0.86 < shares["cheap"] / 600 < 0.94  # nine to one


@pytest.mark.parametrize(
    ("wanted", "tags"),
    [(["fp8"], {"acme/fp8"}), (["bf16", "fp4"], {"globex", "acme/turbo"}), (["unknown"], set())],
    ids=["one", "two", "none"],
)
def test_quantizations_filter(wanted: list[str], tags: set[str]) -> None:
    gateway = Gateway(FOUR)
    assert set(served(gateway, 60, provider={"quantizations": wanted})) == tags
    if not tags:
        error = gateway.chat(provider={"quantizations": wanted}).json["error"]
        assert (error["code"], error["availability"]["excluded_by"]) == (404, ["quantization"])


def test_a_precision_covers_its_variants() -> None:
    gateway = Gateway(scenario({"tag": "acme", "quantization": "mxfp4"}))
    assert gateway.chat(provider={"quantizations": ["fp4"]}).status == 200
    assert gateway.chat(provider={"quantizations": ["nvfp4"]}).status == 404


@pytest.mark.parametrize(
    ("limit", "tags"),
    [
        ({"prompt": 0.2}, {"acme/fp8"}),
        ({"prompt": 0.19}, set()),
        ({"prompt": "0.5", "completion": "2"}, {"acme/fp8", "acme/turbo"}),
    ],
    ids=["at the price", "below", "as texts"],
)
def test_max_price_is_in_usd_per_million_tokens(limit: dict[str, Any], tags: set[str]) -> None:
    assert set(served(Gateway(FOUR), 100, provider={"max_price": limit})) == tags


def test_require_parameters_leaves_only_endpoints_that_support_every_parameter_sent() -> None:
    gateway = Gateway(
        scenario(
            {"tag": "acme", "supported_parameters": PLAIN},
            {"tag": "globex", "supported_parameters": [*PLAIN, "seed"]},
        )
    )
    body = {"seed": 3, "max_tokens": 50}
    assert set(served(gateway, 10, provider={"require_parameters": True}, **body)) == {"globex"}
    assert set(served(gateway, 30, **body)) == {"acme", "globex"}
    refused = gateway.chat(provider={"require_parameters": True}, top_k=3)
    assert (refused.status, refused.json["error"]["message"]) == (
        404,
        "No endpoints found that can handle the requested parameters.",
    )


def test_require_parameters_with_a_schema_asks_for_structured_outputs() -> None:
    gateway = Gateway(
        scenario({"tag": "acme", "supported_parameters": [*PLAIN, "response_format"]}, {"tag": "globex"})
    )
    body = {"provider": {"require_parameters": True}, "response_format": STRUCTURED}
    assert set(served(gateway, 10, **body)) == {"globex"}


def test_response_format_is_a_soft_filter() -> None:
    gateway = Gateway(scenario({"tag": "acme", "supported_parameters": PLAIN}, {"tag": "globex"}))
    assert set(served(gateway, 10, response_format=STRUCTURED)) == {"globex"}
    prose = gateway.pinned("acme", response_format=STRUCTURED).content
    assert not prose.startswith("{")


def test_tools_that_nobody_supports_are_a_404_that_names_the_tool() -> None:
    reply = Gateway(scenario({"tag": "acme", "supported_parameters": PLAIN})).chat(tools=[TOOL])
    assert reply.status == 404
    assert (
        reply.json["error"]["message"] == 'No endpoints found that support tool use. Try disabling "weather".'
    )


@pytest.mark.parametrize(("max_tokens", "status"), [(100, 200), (101, 404)], ids=["at the limit", "above"])
def test_max_tokens_above_an_endpoints_limit_removes_it(max_tokens: int, status: int) -> None:
    gateway = Gateway(scenario({"tag": "acme", "max_completion_tokens": 100}))
    assert gateway.chat(max_tokens=max_tokens).status == status


def test_a_prompt_beyond_every_context_is_the_recorded_400() -> None:
    reply = Gateway(scenario({"tag": "acme", "context_length": 50})).chat("a word " * 60)
    assert reply.status == 400
    assert reply.json["error"]["message"].startswith("This endpoint's maximum context length is 50 tokens.")


@pytest.mark.parametrize(
    "preference", [{"data_collection": "deny"}, {"zdr": True}], ids=["training", "zero retention"]
)
def test_the_data_policy_filters(preference: dict[str, Any]) -> None:
    gateway = Gateway(scenario({"tag": "acme", "trains_on_prompts": True, "zdr": False}, {"tag": "globex"}))
    assert set(served(gateway, 10, provider=preference)) == {"globex"}


@pytest.mark.parametrize(
    "preference",
    [
        {"preferred_min_throughput": 500},
        {"preferred_max_latency": 0.5},
        {"preferred_max_latency": {"p50": 0.5}},
    ],
    ids=["throughput", "latency", "percentile"],
)
def test_a_preferred_speed_orders_but_never_excludes(preference: dict[str, Any]) -> None:
    slow = {"tag": "acme", "ttft_ms": 900, "tokens_per_second": 50, "price_prompt": 0.01}
    gateway = Gateway(scenario(slow, {"tag": "globex", "tokens_per_second": 600}))
    assert set(served(gateway, 20, provider=preference)) == {"globex"}
    assert gateway.chat(provider={**preference, "only": ["acme"]}).status == 200


@pytest.mark.parametrize(
    ("provider", "told"),
    [
        ({"onyl": ["acme"]}, "Unrecognized key(s) in object: 'onyl'"),
        ({"a": 1, "b": 2}, "Unrecognized key(s) in object: 'a', 'b'"),
        ({"only": "acme"}, "provider.only must be an array of strings"),
        ({"ignore": [3]}, "provider.ignore must be an array of strings"),
        ({"allow_fallbacks": "no"}, "provider.allow_fallbacks must be a boolean"),
        ({"sort": "fame"}, "provider.sort must be one of exacto, latency, price, throughput"),
        ({"data_collection": "maybe"}, "provider.data_collection must be one of allow, deny"),
        ({"max_price": {"prompt": "much"}}, "provider.max_price must hold numbers"),
        ("acme", "provider must be an object"),
    ],
)
def test_a_wrong_provider_object_is_a_400_in_one_sentence(provider: Any, told: str) -> None:
    reply = Gateway(FOUR).chat(provider=provider)
    assert (reply.status, reply.json["error"]["message"]) == (400, told)


@pytest.mark.parametrize(
    "key", ["only", "order", "ignore", "sort", "max_price", "quantizations", "allow_fallbacks"]
)
def test_null_in_the_provider_object_is_as_good_as_nothing(key: str) -> None:
    assert Gateway(FOUR).chat(provider={key: None}).status == 200


def test_models_are_tried_in_order_and_the_answer_says_which() -> None:
    data = scenario({"tag": "acme", "faults": [{"kind": "server_error"}]})
    data["models"].append({"id": "meridian/chat", "endpoints": [{"tag": "globex"}]})
    gateway = Gateway(data)
    reply = gateway.chat(models=["meridian/chat"])
    assert reply.json["model"].startswith("meridian/chat")
    assert gateway.chat(models=["nobody/knows", "meridian/chat"]).status == 200
    assert [count.failed for (model, _), count in gateway.state.counts.items() if model == MODEL] == [2]


def test_the_last_models_error_counts_when_all_fail() -> None:
    gateway = Gateway(scenario({"tag": "acme", "faults": [{"kind": "server_error"}]}))
    assert (
        gateway.chat(models=["nobody/knows"]).json["error"]["message"]
        == "nobody/knows is not a valid model ID"
    )


def test_an_unknown_model_is_a_400_for_completions_and_a_404_for_discovery() -> None:
    gateway = Gateway(FOUR)
    assert gateway.chat(model="nobody/knows").status == 400
    assert gateway.get("/api/v1/models/nobody/knows/endpoints").status == 404
    assert gateway.get(f"/api/v1/models/{MODEL}:free/endpoints").status == 404


def test_a_free_variant_is_a_model_of_its_own() -> None:
    data = scenario({"tag": "acme"})
    data["models"].append({"id": f"{MODEL}:free", "endpoints": [{"tag": "globex", "price_prompt": 0}]})
    gateway = Gateway(data)
    rows = gateway.get(f"/api/v1/models/{MODEL}:free/endpoints").json["data"]["endpoints"]
    assert [row["tag"] for row in rows] == ["globex"]
    assert served(gateway, model=f"{MODEL}:free") == ["globex"]
