"""Whole (not streamed) answers, recorded and broken."""

import json
import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.gateways.base import Exchange, TimedLine, TransportFailure
from routing.gateways.openrouter_wire import exchange_from_body, exchange_from_events

Sample = Callable[[str], str]


def completion(content: object = "a", *, finish: str | None = "stop", **beside: Any) -> dict[str, Any]:
    return {
        "provider": "Google",
        "choices": [{"message": {"content": content}, "finish_reason": finish}],
        **beside,
    }


def read(body: object, status: int = 200, **headers: str) -> Exchange:
    return exchange_from_body(
        status, headers, body if isinstance(body, str | bytes) else json.dumps(body), ended_ms=50.0
    )


def test_padding_before_the_body_is_no_part_of_it(sample: Sample) -> None:
    exchange = read(sample("chat-structured-output-raw-body-with-whitespace-2026-06.txt"))
    assert json.loads(exchange.text) == {"name": "John", "age": 30}
    assert (exchange.finish_reason, exchange.native_finish_reason) == ("stop", "end_turn")
    assert exchange.usage.cost_usd == Decimal("0.000241")
    assert (exchange.has_done, exchange.error, exchange.failure, exchange.malformed_events) == (
        True,
        None,
        None,
        0,
    )


def test_the_text_of_a_whole_answer_came_when_it_ended(sample: Sample) -> None:
    exchange = read(sample("chat-reasoning-details-2025-10.json"))
    assert (exchange.first_text_ms, exchange.first_token_ms, exchange.ended_ms) == (50.0, 50.0, 50.0)
    assert exchange.reasoning == "This question is asking me about my identity. Let"
    assert exchange.served_model == "anthropic/claude-3.7-sonnet:thinking"


def test_a_call_without_an_arguments_key_is_a_call(sample: Sample) -> None:
    exchange = read(sample("chat-toolcall-missing-arguments-key-2025-11.json"))
    (call,) = exchange.tool_calls
    assert call["function"] == {"name": "find_education_content", "arguments": ""}
    assert (exchange.text, exchange.served_by) == ("I'll search for education content for you.", "Google")


def test_a_null_content_with_a_call_is_no_text(sample: Sample) -> None:
    exchange = read(sample("chat-toolchoice-required-2026.txt"))
    assert (exchange.text, exchange.first_text_ms, len(exchange.tool_calls)) == ("", None, 1)


def test_an_error_in_the_choice_keeps_the_partial_text(sample: Sample) -> None:
    exchange = read(sample("choice-error-partial-docs-2026-08.json"))
    assert exchange.error is not None
    assert (exchange.text, exchange.finish_reason) == ("partial output...", "error")
    assert (exchange.error.status, exchange.error.error_type) == (502, "provider_unavailable")


def test_an_error_inside_a_200_is_an_error() -> None:
    exchange = read({"error": {"code": 502, "message": "m"}, "provider": "Google"})
    assert exchange.error is not None
    assert (exchange.status, exchange.error.status, exchange.error.provider_name) == (200, 502, "Google")
    assert exchange.error.in_stream is False


def test_an_all_null_completion_with_an_error_code_is_that_error() -> None:
    nulls = dict.fromkeys(("id", "choices", "model", "object", "usage"))
    exchange = read({**nulls, "error": {"message": "Provider returned error", "code": 524}})
    assert exchange.error is not None
    assert exchange.error.status == 524


@pytest.mark.parametrize("choices", [None, []], ids=["null", "empty"])
def test_a_200_without_choices_and_without_error_is_no_answer(choices: object) -> None:
    exchange = read({"id": "gen-1", "choices": choices})
    assert exchange.error is not None
    assert (exchange.error.message, exchange.error.status) == (
        "The answer holds neither choices nor an error.",
        None,
    )


def test_a_completion_nested_whole_in_provider_is_read() -> None:
    exchange = read({"id": "x", "provider": completion("inner", id="gen-9")})
    assert (exchange.text, exchange.generation_id, exchange.served_by, exchange.error) == (
        "inner",
        "gen-9",
        "Google",
        None,
    )


def test_an_empty_answer_that_finished_is_an_empty_answer_and_no_error() -> None:
    exchange = read(completion(""))
    assert (exchange.text, exchange.finish_reason, exchange.error, exchange.first_text_ms) == (
        "",
        "stop",
        None,
        None,
    )


@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param("<!DOCTYPE html><html></html>", "The answer is an HTML page, not JSON.", id="HTML"),
        pytest.param(b"", "The answer is empty.", id="nothing"),
        pytest.param(" \n \n", "The answer is empty.", id="padding only"),
        pytest.param("null", "The answer is not a JSON object.", id="null"),
        pytest.param("{]", "The answer is not JSON.", id="not JSON"),
    ],
)
def test_a_200_that_is_no_answer_is_an_error_with_one_sentence(body: str | bytes, message: str) -> None:
    exchange = read(body)
    assert exchange.error is not None
    assert (exchange.error.message, exchange.failure) == (message, None)


@pytest.mark.parametrize("length", [1, 20, 70])
def test_a_body_that_breaks_off_was_cut(length: int) -> None:
    exchange = read(json.dumps(completion("some text"))[:length])
    assert (exchange.failure, exchange.error, exchange.has_done) == (TransportFailure.CUT, None, False)


def test_text_that_nobody_can_read_is_counted() -> None:
    assert read(completion({"a": 1})).malformed_events == 1
    assert read({"choices": ["x"]}).malformed_events == 1


def test_headers_name_the_generation_and_stand_in_for_the_provider() -> None:
    exchange = exchange_from_body(
        200,
        {"X-Generation-Id": ["gen-7"], "X-Provider-Name": "Groq"},
        json.dumps({**completion(), "provider": None}),
    )
    assert (exchange.generation_id, exchange.served_by) == ("gen-7", "Groq")


def test_a_stream_handed_over_as_one_body_is_read_as_a_stream(sample: Sample) -> None:
    exchange = read(sample("stream-simple-bedrock-2026-06.sse"))
    assert (exchange.text, exchange.has_done, exchange.first_text_ms) == ("1\n2\n3", True, 50.0)


def test_lines_that_only_look_like_a_stream_are_no_answer() -> None:
    assert read(": c\n" + " : c\n" * 3000 + " data: x").error is not None


def test_a_body_in_bytes_with_a_byte_order_mark_is_read() -> None:
    assert read(b"\xef\xbb\xbf" + json.dumps(completion("é")).encode()).text == "é"


def test_bytes_that_are_no_utf_8_show_in_the_text() -> None:
    assert read(b'{"choices":[{"message":{"content":"caf\xe9"},"finish_reason":"stop"}]}').text == "caf\ufffd"


def test_an_error_status_is_an_error_and_no_failure() -> None:
    exchange = read({"error": {"message": "m", "code": 429}}, 429, **{"Retry-After": "3"})
    assert exchange.error is not None
    assert (exchange.status, exchange.error.retry_after, exchange.failure) == (429, "3", None)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        ({"cost": "0.5"}, Decimal("0.5")),
        ({"cost": -1}, None),
        ({"cost": True}, None),
        ({"cost": "1e999999"}, None),
        ({"cost": {"a": 1}}, None),
        ({"cost": None, "prompt_tokens": 10**400}, None),
        ("x", None),
    ],
)
def test_a_cost_is_a_number_of_sane_size_or_none(usage: object, cost: Decimal | None) -> None:
    exchange = read(completion(usage=usage))
    assert (exchange.usage.cost_usd, exchange.usage.prompt_tokens) == (cost, None)


MOST = 2_147_483_647


@pytest.mark.parametrize(
    ("said", "tokens"),
    [(-1, None), (0, 0), ("7", 7), (8.0, 8), (8.5, None), (MOST, MOST), (MOST + 1, None), (10**14, None)],
    ids=str,
)
def test_c21_tokens_that_no_column_holds_are_unknown(said: object, tokens: int | None) -> None:
    details = {"completion_tokens_details": {"reasoning_tokens": said}}
    usage = read(completion(usage={"prompt_tokens": said, "completion_tokens": said, **details})).usage
    assert (usage.prompt_tokens, usage.completion_tokens, usage.reasoning_tokens) == (tokens,) * 3


@pytest.mark.parametrize(
    ("said", "cost"),
    [
        ("-0.00000001", None),
        ("0", Decimal(0)),
        ("999.99999999", Decimal("999.99999999")),
        ("1000", None),
        ("1e9", None),
        ("NaN", None),
        ("Infinity", None),
    ],
)
def test_c21_a_cost_is_what_one_request_can_cost(said: str, cost: Decimal | None) -> None:
    body = json.dumps(completion(usage={"cost": "AMOUNT"}))
    for written in (said, f'"{said}"'):
        assert read(body.replace('"AMOUNT"', written)).usage.cost_usd == cost


def test_a_name_or_an_id_is_cut_to_what_a_column_holds() -> None:
    exchange = read(completion(id="i" * 500, provider="p" * 500, model="m" * 500))
    assert [
        len(name or "") for name in (exchange.generation_id, exchange.served_by, exchange.served_model)
    ] == [200] * 3
    assert len(read(completion(), 200, **{"X-Generation-Id": "i" * 500}).generation_id or "") == 200


@pytest.mark.parametrize(("status", "is_one"), [(99, False), (100, True), (599, True), (600, False)])
def test_a_number_that_is_no_http_status_is_no_status(status: int, is_one: bool) -> None:
    for exchange in (read(completion(), status), exchange_from_events([], status=status)):
        assert exchange.status == (status if is_one else None)
        assert (exchange.failure is TransportFailure.NO_STATUS) is not is_one


@pytest.mark.parametrize("moment", [-1.0, math.nan, math.inf, 1e300], ids=str)
def test_a_time_that_cannot_be_is_unknown(moment: float) -> None:
    streamed = exchange_from_events([TimedLine(at_ms=moment, line="data: " + json.dumps(completion()))])
    whole = exchange_from_body(200, {}, json.dumps(completion()), ended_ms=moment)
    for exchange in (streamed, whole):
        assert (exchange.text, exchange.first_text_ms) == ("a", None)
        assert (exchange.first_token_ms, exchange.ended_ms) == (None, None)


@given(
    st.binary() | st.text() | st.text().map(lambda text: '{"choices": ' + text),
    st.sampled_from([200, 302, 401, 503]),
)
def test_no_body_makes_the_reading_raise(body: bytes | str, status: int) -> None:
    exchange = exchange_from_body(status, {}, body)
    assert exchange.error is not None or exchange.failure is not None or exchange.text is not None
    assert exchange.status == status


def test_an_error_status_with_an_event_for_a_body_is_that_error() -> None:
    exchange = read('data: {"error":{"code":429,"message":"m","metadata":{"provider_name":"Groq"}}}\n\n', 429)
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.provider_name, exchange.error.in_stream) == (
        429,
        "Groq",
        False,
    )
