"""The sandbox's answers against recordings: the same keys, the same types, the same order of events."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.driver import MODEL, STRUCTURED, TOOL, Gateway, Reply, scenario, with_fault

SAMPLES = Path(__file__).parent / "samples"
METADATA = {"X-OpenRouter-Metadata": "enabled"}
HEALTHY = scenario({"tag": "acme/fp8", "provider": "Acme"})


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_text())


def sample_events(name: str) -> list[Any]:
    lines = (SAMPLES / name).read_text().split("\n")
    data = [line.removeprefix("data: ") for line in lines if line.startswith("data: ")]
    return [json.loads(line) if line != "[DONE]" else line for line in data]


def assert_like(
    answer: Any, recorded: Any, where: str = "", *, may_lack: frozenset[str] = frozenset()
) -> None:
    """Same type, same keys in the same order; null on either side says nothing about the type."""
    if answer is None or recorded is None:
        return
    numbers = (int, float)
    if isinstance(recorded, bool) or not isinstance(recorded, numbers):
        assert type(answer) is type(recorded), f"{where}: {answer!r} against {recorded!r}"
    else:
        assert isinstance(answer, numbers), f"{where}: {answer!r} against {recorded!r}"
        assert not isinstance(answer, bool), where
    if isinstance(recorded, dict):
        expected = [key for key in recorded if key not in may_lack]
        assert [key for key in answer if key in expected] == expected, (
            f"{where}: {list(answer)} against {expected}"
        )
        for key in expected:
            assert_like(answer[key], recorded[key], f"{where}.{key}", may_lack=may_lack)
    elif isinstance(recorded, list) and recorded and answer:
        assert_like(answer[0], recorded[0], f"{where}[0]", may_lack=may_lack)


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("chat-structured-output-raw-body-with-whitespace-2026-06.txt", {"response_format": STRUCTURED}),
        ("chat-toolchoice-required-2026.txt", {"tools": [TOOL], "tool_choice": "required"}),
    ],
    ids=["structured", "tool call"],
)
def test_a_body_that_is_not_streamed_has_the_recorded_keys_in_order(name: str, body: dict[str, Any]) -> None:
    reply = Gateway(HEALTHY).chat(**body)
    assert_like(reply.json, sample(name))
    assert list(reply.json) == list(sample(name))


def test_a_body_that_is_not_streamed_is_led_by_blank_lines_and_spaces() -> None:
    recorded = (SAMPLES / "chat-structured-output-raw-body-with-whitespace-2026-06.txt").read_text()
    reply = Gateway(HEALTHY).chat()
    lead = reply.text[: reply.text.index("{")]
    assert lead.strip() == ""
    assert set(lead.split("\n")) == set(recorded[: recorded.index("{")].split("\n"))


def test_a_stream_has_the_recorded_chunks_in_order() -> None:
    recorded = sample_events("stream-simple-bedrock-2026-06.sse")
    events = Gateway(HEALTHY).chat(stream=True).events
    assert events[-1] == recorded[-1] == "[DONE]"
    for answer, expected in zip(events[-3:-1], recorded[-3:-1], strict=True):
        assert_like(answer, expected)
        assert list(answer) == list(expected)
    for chunk in events[1:-3]:
        assert_like(chunk, recorded[0])
        assert list(chunk) == list(recorded[0])


def test_a_stream_begins_with_comments_and_a_role_only_delta() -> None:
    reply = Gateway(HEALTHY).chat(stream=True)
    assert reply.text.startswith(": OPENROUTER PROCESSING\n\n")
    assert reply.chunks[0]["choices"][0]["delta"] == {"content": "", "role": "assistant"}


def test_the_usage_chunk_has_one_choice_and_repeats_the_finish_reason() -> None:
    chunks = Gateway(HEALTHY).chat(stream=True).chunks
    assert chunks[-2]["choices"] == chunks[-1]["choices"]
    assert "usage" not in chunks[-2]
    assert chunks[-1]["usage"]["completion_tokens"] > 0


def test_tool_call_deltas_come_as_recorded() -> None:
    recorded = sample_events("stream-toolcall-double-finish-bedrock-2026-06.sse")
    events = Gateway(HEALTHY).chat(stream=True, tools=[TOOL]).events
    calls = [event for event in events[:-3] if "tool_calls" in event["choices"][0]["delta"]]
    recorded_calls = [event for event in recorded[:-3] if "tool_calls" in event["choices"][0]["delta"]]
    assert_like(calls[0], recorded_calls[0])
    assert_like(calls[1], recorded_calls[1])
    deltas = [call["choices"][0]["delta"]["tool_calls"][0]["function"] for call in calls]
    assert deltas[1] == {"arguments": ""}
    assert json.loads("".join(delta["arguments"] for delta in deltas)).keys() == {"city", "days"}
    assert [event["choices"][0]["finish_reason"] for event in events[-3:-1]] == ["tool_calls", "tool_calls"]


def test_reasoning_deltas_come_before_the_text_as_recorded() -> None:
    recorded = sample_events("stream-reasoning-details-2026.head.sse")[0]
    gateway = Gateway(scenario({"tag": "acme"}, model={"reasoning": "mandatory"}))
    deltas = [chunk["choices"][0]["delta"] for chunk in gateway.chat(stream=True).chunks[1:-2]]
    is_reasoning = ["reasoning" in delta for delta in deltas]
    assert is_reasoning == sorted(is_reasoning, reverse=True)
    assert any(is_reasoning)
    assert not all(is_reasoning)
    assert_like(deltas[0], recorded["choices"][0]["delta"])


def test_the_headers_of_a_stream_are_those_recorded() -> None:
    recorded = {name.lower(): values[0] for name, values in sample("headers-stream-2026-06.json").items()}
    reply = Gateway(HEALTHY).chat(stream=True)
    assert reply.headers["content-type"] == recorded["content-type"]
    assert reply.headers["cache-control"] == recorded["cache-control"]
    assert reply.headers["x-generation-id"] == reply.chunks[0]["id"]
    assert reply.headers["x-generation-id"].startswith("gen-")


def test_the_list_of_endpoints_has_the_recorded_keys_in_order() -> None:
    recorded = sample("endpoints-kimi-k3-2026-08-25.one.json")
    body = Gateway(HEALTHY).get(f"/api/v1/models/{MODEL}/endpoints").json
    assert_like(body, recorded, may_lack=frozenset({"input_cache_read"}))
    assert body["data"]["endpoints"][0]["name"] == f"Acme | {MODEL}-20260401"


def test_prices_are_texts_in_usd_per_token_without_exponent() -> None:
    gateway = Gateway(scenario({"tag": "acme", "price_prompt": 0.05, "price_completion": 15}))
    pricing = gateway.get(f"/api/v1/models/{MODEL}/endpoints").json["data"]["endpoints"][0]["pricing"]
    assert pricing == {"prompt": "0.00000005", "completion": "0.000015", "discount": 0}


@pytest.mark.parametrize(
    ("key", "has_numbers"), [("sk-or-v1-test", True), (None, False)], ids=["key", "no key"]
)
def test_latency_and_throughput_are_null_without_a_key(key: str | None, has_numbers: bool) -> None:
    row = Gateway(HEALTHY).get(f"/api/v1/models/{MODEL}/endpoints", key=key).json["data"]["endpoints"][0]
    assert (row["latency_last_30m"] is not None) is has_numbers
    assert (row["throughput_last_30m"] is not None) is has_numbers


def test_the_list_of_models_has_the_recorded_keys_in_order() -> None:
    assert_like(Gateway(HEALTHY).get("/api/v1/models").json, sample("models-excerpt-2026-08-04.one.json"))


def test_the_list_of_providers_has_the_documented_keys() -> None:
    recorded = sample("providers-openapi-example-2026-08-22.json")["data"][0]
    row = Gateway(HEALTHY).get("/api/v1/providers").json["data"][0]
    assert row.keys() == recorded.keys()
    assert (row["name"], row["slug"]) == ("Acme", "acme")


def test_the_key_has_the_documented_keys() -> None:
    body = Gateway(HEALTHY).get("/api/v1/key").json["data"]
    assert body.keys() == sample("key-openapi-example-2026-08-22.json")["data"].keys()


def test_a_generation_can_be_looked_up_with_the_documented_keys() -> None:
    gateway = Gateway(HEALTHY)
    reply = gateway.chat()
    found = gateway.get(f"/api/v1/generation?id={reply.headers['x-generation-id']}").json["data"]
    assert found.keys() == sample("generation-openapi-example-2026-08-22.json")["data"].keys()
    assert found["total_cost"] == reply.json["usage"]["cost"]
    assert (found["provider_name"], found["finish_reason"], found["cancelled"]) == ("Acme", "stop", False)


def test_an_unknown_generation_is_a_404() -> None:
    assert Gateway(HEALTHY).get("/api/v1/generation?id=gen-none").status == 404


def _limited(**fault: Any) -> Reply:
    return Gateway(scenario({"tag": "acme", "provider": "Acme", "faults": [fault]})).chat()


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("error-401-2026-06.json", lambda: Gateway(HEALTHY).chat(key=None)),
        (
            "error-400-unknown-provider-key.json",
            lambda: Gateway(HEALTHY).chat(provider={"Require_Parameters": True}),
        ),
        ("error-404-all-ignored.json", lambda: Gateway(HEALTHY).chat(provider={"ignore": ["acme"]})),
        (
            "error-404-only-miss-2026-08.json",
            lambda: Gateway(HEALTHY).chat(provider={"only": ["nobody"]}, headers=METADATA),
        ),
        ("error-429-upstream-2025.json", lambda: _limited(kind="rate_limited")),
        (
            "error-429-capacity-exhausted-docs-2026-08.json",
            lambda: _limited(kind="rate_limited", shape="capacity"),
        ),
        ("error-400-context-previous_errors-2026-06.json", lambda: _limited(kind="context_overflow")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_have_the_recorded_shape(name: str, reply: Any) -> None:
    answer, recorded = reply(), sample(name)
    expected = recorded["error"].get("code") or recorded["error"].get("http_status")
    assert answer.status == expected
    assert answer.json.keys() == recorded.keys()
    assert answer.json["error"].keys() == recorded["error"].keys()
    for key, value in recorded["error"].items():
        if isinstance(value, dict):
            assert answer.json["error"][key].keys() == value.keys()


@pytest.mark.parametrize(
    ("name", "reply"),
    [
        ("error-401-2026-06.json", lambda: Gateway(HEALTHY).chat(key=None)),
        (
            "error-400-unknown-provider-key.json",
            lambda: Gateway(HEALTHY).chat(provider={"Require_Parameters": True}),
        ),
        ("error-404-all-ignored.json", lambda: Gateway(HEALTHY).chat(provider={"ignore": ["acme"]})),
    ],
    ids=["401", "400", "404"],
)
def test_fixed_sentences_are_those_recorded(name: str, reply: Any) -> None:
    assert reply().json["error"] == sample(name)["error"]


def test_a_missed_only_names_who_serves_and_who_was_asked_for() -> None:
    gateway = Gateway(scenario({"tag": "acme/fp8"}, {"tag": "globex"}))
    reply = gateway.chat(provider={"only": ["nobody"]})
    recorded = sample("error-404-only-miss-2026-08.json")["error"]["message"]
    told = recorded.replace("openai/gpt-4o-mini", MODEL).replace(": openai,", ": acme, globex,")
    assert reply.json["error"]["message"] == told.replace("azure", "nobody")


@pytest.mark.parametrize(
    ("shape", "place"), [("typed", 0), ("string_code", 1)], ids=["number code", "string code"]
)
def test_an_error_in_a_stream_has_the_documented_shape(shape: str, place: int) -> None:
    recorded = sample_events("stream-midstream-error-docs-2026-08.sse")[place]
    last = Gateway(with_fault("error_midstream", shape=shape)).pinned("acme/fp8", stream=True).events[-1]
    assert_like(last, recorded)
    assert list(last) == list(recorded)


def test_an_error_after_the_finish_chunk_comes_as_recorded() -> None:
    recorded = sample_events("stream-midstream-error-minimax-2025-11.tail.sse")
    gateway = Gateway(with_fault("error_midstream", shape="after_finish"))
    events = gateway.pinned("acme/fp8", stream=True).events[-3:]
    assert events[0]["choices"][0]["finish_reason"] == recorded[0]["choices"][0]["finish_reason"] == "length"
    assert events[1]["error"] == recorded[1]["error"]
    assert events[1]["choices"][0]["finish_reason"] is None
    assert events[1]["usage"].keys() >= recorded[1]["usage"].keys()
    assert events[2] == recorded[2] == "[DONE]"


def test_an_error_in_the_choice_has_the_documented_shape() -> None:
    recorded = sample("choice-error-partial-docs-2026-08.json")["choices"][0]
    choice = Gateway(with_fault("choice_error")).pinned("acme/fp8").json["choices"][0]
    assert choice["error"] == recorded["error"]
    assert choice["finish_reason"] == "error"
    assert choice["message"]["content"]


def test_metadata_is_sent_only_when_it_was_asked_for() -> None:
    gateway = Gateway(HEALTHY)
    assert "openrouter_metadata" not in gateway.chat().json
    metadata = gateway.chat(headers=METADATA).json["openrouter_metadata"]
    assert metadata["attempt"] == 1
    assert metadata["attempts"] == [{"provider": "Acme", "model": f"{MODEL}-20260401", "status": 200}]
    assert [row["selected"] for row in metadata["endpoints"]["available"]] == [True]


def test_metadata_comes_in_the_final_chunk_of_a_stream() -> None:
    chunks = Gateway(HEALTHY).chat(stream=True, headers=METADATA).chunks
    assert ["openrouter_metadata" in chunk for chunk in chunks] == [False] * (len(chunks) - 1) + [True]


def test_metadata_of_a_routing_refusal_says_that_no_provider_was_reached() -> None:
    body = Gateway(HEALTHY).chat(provider={"only": ["nobody"]}, headers=METADATA).json
    recorded = sample("error-404-only-miss-2026-08.json")["openrouter_metadata"]
    assert_like(body["openrouter_metadata"], recorded)
    assert body["openrouter_metadata"]["attempt"] == 0


def test_the_model_comes_back_as_a_dated_permaslug() -> None:
    assert Gateway(HEALTHY).chat().json["model"] == f"{MODEL}-20260401"


def test_the_cost_is_that_of_the_endpoints_prices() -> None:
    usage = Gateway(scenario({"tag": "acme", "price_prompt": 2, "price_completion": 8})).chat().json["usage"]
    assert usage["cost"] == pytest.approx((2 * usage["prompt_tokens"] + 8 * usage["completion_tokens"]) / 1e6)
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
