"""Discovery, providers, models and key: read per field, refused as a whole when not to be believed."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.gateways.base import Discovery, DiscoveryUnreadable, GatewayUnavailable, ModelNotFound
from routing.gateways.openrouter_catalogue import (
    MAX_ENDPOINT_ROWS,
    read_discovery,
    read_key,
    read_model_facts,
    read_models,
    read_providers,
)

Sample = Callable[[str], str]


def discovery(*rows: object, **data: Any) -> Discovery:
    return read_discovery(json.dumps({"data": {"endpoints": list(rows), **data}}), model="a/b")


def test_a_recorded_list_is_read_with_its_lanes_and_what_each_can_do(sample: Sample) -> None:
    found = read_discovery(sample("endpoints-kimi-k3-2026-08-25.json"), model="moonshotai/kimi-k3")
    by_tag = {endpoint.tag: endpoint for endpoint in found.endpoints}
    assert list(by_tag) == ["fireworks", "alibaba", "fireworks/fast", "morph/fast"]
    assert "tools" in by_tag["fireworks"].supported_parameters
    assert "tools" not in by_tag["fireworks/fast"].supported_parameters
    assert by_tag["fireworks/fast"].provider_slug == "fireworks"
    assert by_tag["morph/fast"].quantization == "fp4"
    assert by_tag["alibaba"].prompt_price == Decimal("0.00000345")
    assert by_tag["alibaba"].status == -2
    assert by_tag["fireworks"].max_completion_tokens is None
    assert found.input_modalities == {"text", "image", "video"}


@pytest.mark.parametrize(
    "name", ["endpoints-glm-5.2-2026-08-10.json", "endpoints-openapi-example-2026-08-22.json"]
)
def test_rows_with_fields_left_out_are_read(sample: Sample, name: str) -> None:
    text = sample(name)
    assert [row.tag for row in read_discovery(text, model="x/y").endpoints] == [
        row["tag"] for row in json.loads(text)["data"]["endpoints"]
    ]


def test_two_rows_with_one_tag_are_one_endpoint_that_does_what_both_do() -> None:
    first = {
        "tag": "baseten/fp4",
        "provider_name": "BaseTen",
        "context_length": 200,
        "supported_parameters": ["tools", "seed"],
        "pricing": {"prompt": "1"},
    }
    second = {
        "tag": "BaseTen/fp4",
        "provider_name": "Other",
        "context_length": 100,
        "supported_parameters": ["tools"],
        "pricing": {"prompt": "2", "completion": "3"},
    }
    (endpoint,) = discovery(first, second).endpoints
    assert (endpoint.tag, endpoint.provider_name, endpoint.context_length) == ("baseten/fp4", "BaseTen", 100)
    assert endpoint.supported_parameters == {"tools"}
    assert (endpoint.prompt_price, endpoint.completion_price) == (Decimal(1), Decimal(3))


@pytest.mark.parametrize(
    ("price", "expected"),
    [
        ("0.0000005", Decimal("0.0000005")),
        (0.000001, Decimal("0.000001")),
        (0, Decimal(0)),
        ("0", Decimal(0)),
        ("5e-7", Decimal("5e-7")),
        ("-1", None),
        ("free", None),
        ("", None),
        (None, None),
        (True, None),
        ([], None),
        ("NaN", None),
        ("Infinity", None),
        ("1e99", None),
        ("1" * 100_000, None),
        ("٣", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_price_is_a_decimal_or_none(price: object, expected: Decimal | None) -> None:
    (endpoint,) = discovery({"tag": "a", "pricing": {"prompt": price}}).endpoints
    assert endpoint.prompt_price == expected


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("context_length", "8192", 8192),
        ("context_length", 8192.0, 8192),
        ("context_length", 8192.5, None),
        ("context_length", 0, None),
        ("context_length", 10**30, None),
        ("context_length", True, None),
        ("status", -10, -10),
        ("status", 2**31 - 1, 2**31 - 1),
        ("status", 2**31, None),
        ("status", 1 - 2**31, 1 - 2**31),
        ("status", -(10**12), None),
        ("status", "normal", None),
        ("quantization", "x" * 100_000, "x" * 199 + "…"),
        ("quantization", "a\x00\nb", "a b"),
        ("quantization", 4, None),
        ("supported_parameters", "tools", frozenset()),
        ("supported_parameters", ["tools", 5, None, ""], frozenset({"tools"})),
        ("provider_name", None, "a"),
        ("provider_name", "\ud800x", "?x"),
        ("pricing", "dear", None),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_hostile_field_costs_the_field_not_the_row(field: str, value: object, expected: object) -> None:
    (endpoint,) = discovery({"tag": "a", field: value}).endpoints
    assert getattr(endpoint, field if field != "pricing" else "prompt_price") == expected


@pytest.mark.parametrize(
    "row",
    [
        *({}, {"tag": ""}, {"tag": None}, {"tag": "a b"}, {"tag": "a\x00"}, "x", None, []),
        *({"tag": "a" * 101}, {"tag": "a" * 101 + "/fp8"}, {"tag": "a/" + "b" * 127}),
    ],
)
def test_a_row_without_a_usable_tag_is_left_out(row: object) -> None:
    assert [endpoint.tag for endpoint in discovery(row, {"tag": "b"}).endpoints] == ["b"]


@pytest.mark.parametrize("tag", ["a" * 100, "a" * 100 + "/" + "b" * 27], ids=len)
def test_c1_the_longest_slug_and_tag_are_taken_in(tag: str) -> None:
    assert [endpoint.tag for endpoint in discovery({"tag": tag}).endpoints] == [tag]


@pytest.mark.parametrize(
    ("payload", "sentence"),
    [
        pytest.param(b"", "The discovery answer is empty.", id="nothing"),
        pytest.param("<html>", "The discovery answer is an HTML page, not JSON.", id="HTML"),
        pytest.param('{"data": ', "The discovery answer breaks off in the middle.", id="cut"),
        pytest.param("nope", "The discovery answer is not JSON.", id="not JSON"),
        pytest.param("[]", "The discovery answer is not a JSON object.", id="a list"),
        pytest.param("[" * 100_000, "The discovery answer is nested too deeply.", id="deep"),
        pytest.param("{}", "The discovery answer has no list of endpoints.", id="no data"),
        pytest.param('{"data": []}', "The discovery answer has no list of endpoints.", id="wrong type"),
        pytest.param(
            '{"data": {"endpoints": {}}}', "The discovery answer has no list of endpoints.", id="no list"
        ),
        pytest.param(
            '{"data": {"endpoints": []}}',
            "The discovery answer lists no endpoint.",
            id="empty",
        ),
        pytest.param(
            '{"data": {"endpoints": [1]}}',
            "No row of the discovery answer is readable.",
            id="no row",
        ),
        pytest.param(
            '{"error": {"code": 500, "message": "m"}}',
            "The gateway answered with an error instead of a discovery answer: m",
            id="an error inside a 200",
        ),
    ],
)
def test_an_answer_that_cannot_be_believed_is_refused_with_one_sentence(
    payload: str | bytes, sentence: str
) -> None:
    with pytest.raises(DiscoveryUnreadable) as refusal:
        read_discovery(payload, model="a/b")
    assert str(refusal.value) == sentence


def test_a_not_found_inside_a_200_is_a_model_that_is_not_there() -> None:
    with pytest.raises(ModelNotFound):
        read_discovery('{"error": {"code": 404, "message": "Model not found"}}', model="a/b")


def test_rows_are_read_up_to_a_limit_and_refused_beyond_it() -> None:
    rows = [{"tag": f"p{number}"} for number in range(MAX_ENDPOINT_ROWS)]
    assert len(discovery(*rows).endpoints) == MAX_ENDPOINT_ROWS
    with pytest.raises(DiscoveryUnreadable, match="2001 rows"):
        discovery(*rows, {"tag": "one-more"})


def test_a_million_rows_are_refused() -> None:
    with pytest.raises(DiscoveryUnreadable, match="1000000 rows; more than 2000 are not believed"):
        read_discovery('{"data":{"endpoints":[' + ",".join(["{}"] * 1_000_000) + "]}}", model="a/b")


@given(
    st.binary()
    | st.text()
    | st.recursive(
        st.none() | st.integers() | st.text(),
        lambda x: st.lists(x) | st.dictionaries(st.sampled_from(("data", "endpoints", "tag", "pricing")), x),
    ).map(json.dumps)
)
def test_no_answer_makes_discovery_raise_anything_else(payload: bytes | str) -> None:
    try:
        found = read_discovery(payload, model="a/b")
    except (DiscoveryUnreadable, ModelNotFound):
        return
    assert found.endpoints


def test_providers_are_names_by_base_slug(sample: Sample) -> None:
    names = read_providers(sample("providers-name-slug-pairs-measured.json"))
    assert names["google-vertex"] == "Google"
    assert names["mancer"] == "Mancer 2"
    assert read_providers(sample("providers-openapi-example-2026-08-22.json")) == {"openai": "OpenAI"}


@pytest.mark.parametrize(
    "payload", ["", "{}", '{"data": []}', '{"data": [{"slug": 1}]}', '{"data": {"a": 1}}']
)
def test_an_empty_or_unreadable_list_of_providers_is_unavailable(payload: str) -> None:
    with pytest.raises(GatewayUnavailable, match=r"^The list of providers .+\.$"):
        read_providers(payload)


def test_models_say_whether_reasoning_is_mandatory(sample: Sample) -> None:
    assert (
        read_model_facts(
            sample("models-excerpt-2026-08-04.json"), model="anthropic/claude-sonnet-4"
        ).reasoning_mandatory
        is False
    )
    row = {
        "id": "a/b",
        "reasoning": {"mandatory": True, "default_enabled": True, "supported_efforts": ["high", "low", 3]},
    }
    facts = read_model_facts(json.dumps({"data": [row]}), model="a/b")
    assert (facts.reasoning_mandatory, facts.default_reasoning, facts.reasoning_efforts) == (
        True,
        True,
        ("high", "low"),
    )


def test_a_variant_without_a_row_has_its_base_models_facts_and_one_with_a_row_its_own() -> None:
    rows = [{"id": "a/b", "reasoning": {"mandatory": True}}, {"id": "a/b:free"}]
    payload = json.dumps({"data": rows})
    assert read_model_facts(payload, model="a/b:nitro").reasoning_mandatory is True
    assert read_model_facts(payload, model="a/b:nitro").slug == "a/b:nitro"
    assert read_model_facts(payload, model="a/b:free").reasoning_mandatory is False


def test_an_unlisted_model_is_not_found_and_an_empty_list_is_unavailable(sample: Sample) -> None:
    with pytest.raises(ModelNotFound, match="no model a/nothing"):
        read_model_facts(sample("models-excerpt-2026-08-04.json"), model="a/nothing")
    with pytest.raises(GatewayUnavailable):
        read_models('{"data": []}')


def test_a_key_answer_is_read(sample: Sample) -> None:
    state = read_key(sample("key-openapi-example-2026-08-22.json"))
    assert state.label == "sk-or-v1-au7...890"
    assert (state.limit_remaining_usd, state.usage_daily_usd, state.usage_monthly_usd) == (
        Decimal("74.5"),
        Decimal("25.5"),
        Decimal("25.5"),
    )
    assert state.expires_at == datetime(2027, 12, 31, 23, 59, 59, tzinfo=UTC)


@pytest.mark.parametrize("expiry", [None, "never", 5, ""])
def test_a_key_without_limit_or_expiry_has_none(expiry: object) -> None:
    state = read_key(json.dumps({"data": {"limit_remaining": None, "expires_at": expiry}}))
    assert (state.limit_remaining_usd, state.expires_at, state.label) == (None, None, "")


def test_an_expiry_without_a_zone_is_utc() -> None:
    assert read_key('{"data": {"expires_at": "2027-01-01T00:00:00"}}').expires_at == datetime(
        2027, 1, 1, tzinfo=UTC
    )


def test_a_key_answer_without_data_is_unavailable() -> None:
    with pytest.raises(GatewayUnavailable, match="has no data"):
        read_key("{}")
