"""Recorded and hostile streams: what text, reasoning, calls, end and error are read out of them, and when."""

import json
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from routing.gateways import openrouter_wire
from routing.gateways.base import Exchange, TimedLine, TransportFailure
from routing.gateways.openrouter_wire import StreamReader, exchange_from_events

Sample = Callable[[str], str]
KEEP_ALIVE = ": OPENROUTER PROCESSING"


def timed(lines: Iterable[str]) -> list[TimedLine]:
    """One line every 10 ms, the first at 0."""
    return [TimedLine(at_ms=10.0 * number, line=line) for number, line in enumerate(lines)]


def read(*lines: str, **options: Any) -> Exchange:
    return exchange_from_events(timed(lines), **options)


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None, **beside: Any) -> str:
    choice = {"index": 0, "delta": delta or {}, "finish_reason": finish}
    return "data: " + json.dumps({"id": "gen-1", "provider": "Google", "choices": [choice], **beside})


def said(text: str) -> str:
    return chunk({"content": text})


STOP = chunk({"content": ""}, finish="stop")
DONE = "data: [DONE]"


@pytest.mark.parametrize(
    ("name", "text", "finish", "first_text_ms", "first_token_ms"),
    [
        ("stream-simple-bedrock-2026-06.sse", "1\n2\n3", "stop", 40.0, 40.0),
        (
            "stream-after-tool-result-bedrock-2026-06.sse",
            "The currentTemperature**: 15°C (59°F)\n- **Win",
            "stop",
            40.0,
            40.0,
        ),
        ("stream-reasoning-then-content-claude-vertex-2025-12.sse", "2 + 2 = 4", "stop", 180.0, 80.0),
        ("stream-toolcall-double-finish-bedrock-2026-06.sse", "", "tool_calls", None, 40.0),
        ("stream-reasoning-details-toolcalls-2026.sse", "", "tool_calls", None, 40.0),
        ("stream-midstream-error-minimax-2025-11.sse", "", "length", None, 40.0),
    ],
)
def test_recorded_streams_read_as_they_were_meant(
    sample: Sample, name: str, text: str, finish: str, first_text_ms: float | None, first_token_ms: float
) -> None:
    exchange = read(*sample(name).split("\n"))
    assert (exchange.text, exchange.finish_reason) == (text, finish)
    assert (exchange.first_text_ms, exchange.first_token_ms) == (first_text_ms, first_token_ms)
    assert (exchange.has_done, exchange.malformed_events, exchange.failure) == (True, 0, None)


def test_a_recorded_stream_gives_its_server_usage_and_id(sample: Sample) -> None:
    headers = json.loads(sample("headers-stream-2026-06.json"))
    exchange = read(*sample("stream-simple-bedrock-2026-06.sse").split("\n"), headers=headers)
    assert exchange.served_by == "Amazon Bedrock"
    assert exchange.served_model == "anthropic/claude-4.5-haiku-20251001"
    assert exchange.generation_id == "gen-1780944361-X5HAtL0Z2NQp8nHAiT6F"
    assert exchange.native_finish_reason == "end_turn"
    assert exchange.usage.prompt_tokens == 15
    assert exchange.usage.completion_tokens == 9
    assert exchange.usage.cost_usd == Decimal("0.00006")


def test_reasoning_comes_before_the_answer_and_is_no_answer(sample: Sample) -> None:
    exchange = read(*sample("stream-reasoning-then-content-claude-vertex-2025-12.sse").split("\n"))
    assert exchange.reasoning == "This is a simple arithmetic question. "
    assert exchange.usage.reasoning_tokens == 13


def test_a_doubled_finish_leaves_one_call(sample: Sample) -> None:
    exchange = read(*sample("stream-toolcall-double-finish-bedrock-2026-06.sse").split("\n"))
    (call,) = exchange.tool_calls
    assert json.loads(call["function"]["arguments"]) == {"latitude": "52.5200", "longitude": "13.4050"}
    assert (call["function"]["name"], call["type"]) == ("weather", "function")


def test_a_finish_of_length_followed_by_an_error_keeps_both(sample: Sample) -> None:
    exchange = read(*sample("stream-midstream-error-minimax-2025-11.sse").split("\n"))
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.message) == (400, "Token limit reached")
    assert (exchange.error.provider_name, exchange.error.in_stream) == ("Minimax", True)
    assert exchange.reasoning == "We need to respond to a greeting. The user"
    assert exchange.usage.completion_tokens == 10


def test_the_first_of_two_errors_counts(sample: Sample) -> None:
    exchange = read(*sample("stream-midstream-error-docs-2026-08.sse").split("\n"))
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.error_type) == (429, "rate_limit_exceeded")
    assert exchange.error.is_own_rate_limit is False, "the stream names its provider"
    assert (exchange.has_done, exchange.failure) == (False, None)


def test_an_error_code_in_words_is_a_meaning_and_no_status(sample: Sample) -> None:
    lines = sample("stream-midstream-error-docs-2026-08.sse").split("\n")
    exchange = read(*lines[2:])
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.error_type) == (None, "server_error")


def test_keep_alives_roles_and_blanks_are_no_text() -> None:
    exchange = read(
        KEEP_ALIVE,
        "",
        chunk({"role": "assistant", "content": ""}),
        "",
        said(" \n\u00a0"),
        "",
        said("a"),
        STOP,
        DONE,
    )
    assert (exchange.text, exchange.first_text_ms, exchange.first_token_ms) == (" \n\u00a0a", 60.0, 60.0)


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning": "hm"},
        {"reasoning_content": "hm"},
        {"reasoning_details": [{"type": "reasoning.text", "text": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.encrypted", "data": "AAAA"}]},
        {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f"}}]},
        {"refusal": "no"},
    ],
    ids=lambda delta: str(next(iter(delta))),
)
def test_any_token_is_a_first_token_but_only_answer_text_is_text(delta: dict[str, Any]) -> None:
    exchange = read(chunk({"content": "", **delta}), said("a"), STOP, DONE)
    assert (exchange.first_token_ms, exchange.first_text_ms) == (0.0, 10.0)


@pytest.mark.parametrize(
    "delta",
    [{"reasoning": " "}, {"reasoning_details": [{"text": "", "signature": "abc"}]}, {"tool_calls": []}],
)
def test_blank_reasoning_and_signatures_are_no_token(delta: dict[str, Any]) -> None:
    assert read(chunk(delta), STOP, DONE).first_token_ms is None


@pytest.mark.parametrize(
    "usage_choices",
    [[], [{"index": 0, "delta": {"content": ""}, "finish_reason": None}]],
    ids=["none", "one"],
)
def test_the_usage_chunk_may_have_one_choice_or_none_and_the_last_reason_that_is_not_null_stays(
    usage_choices: list[Any],
) -> None:
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "cost": 0.001}
    exchange = read(said("a"), STOP, "data: " + json.dumps({"choices": usage_choices, "usage": usage}), DONE)
    assert exchange.finish_reason == "stop"
    assert (exchange.usage.completion_tokens, exchange.usage.cost_usd) == (2, Decimal("0.001"))


def test_a_later_reason_replaces_an_earlier_one() -> None:
    assert read(said("a"), STOP, chunk(finish="content_filter"), DONE).finish_reason == "content_filter"


def test_a_refusal_is_put_together() -> None:
    assert read(chunk({"refusal": "I "}), chunk({"refusal": "can't."}), STOP, DONE).refusal == "I can't."


def test_router_metadata_of_the_last_chunk_is_kept_and_says_whether_an_error_reached_anyone() -> None:
    router = {"attempt": 1, "endpoints": {"available": [{"provider": "Google", "selected": True}]}}
    error = chunk(finish="error", error={"code": 502, "message": "m"})
    exchange = read(said("a"), error, chunk(openrouter_metadata=router), DONE)
    assert exchange.router_metadata == router
    assert exchange.error is not None
    assert exchange.error.reached_upstream is True


@pytest.mark.parametrize(
    "event",
    [
        chunk(finish="error", error={"code": 504, "message": "m"}),
        "data: " + json.dumps({"error": {"code": 504, "message": "m"}, "choices": []}),
        "data: " + json.dumps({"error": {"code": 504, "message": "m"}}),
        "data: "
        + json.dumps({"choices": [{"error": {"code": 504, "message": "m"}, "finish_reason": "error"}]}),
    ],
    ids=["with a choice", "with no choice", "alone", "in the choice"],
)
@pytest.mark.parametrize("before", ["", "partial"], ids=["before text", "after text"])
def test_an_error_event_is_found_wherever_it_stands(event: str, before: str) -> None:
    exchange = read(said(before), event)
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.in_stream, exchange.error.provider_name) == (
        504,
        True,
        "Google",
    )
    assert (exchange.text, exchange.failure) == (before, None)


def test_a_429_event_is_the_provider_s_when_an_earlier_event_named_one_and_else_the_gateways() -> None:
    event = 'data: {"error": {"code": 429, "message": "m"}}'
    named, unnamed = read(said("a"), event).error, read(event).error
    assert named is not None
    assert (named.provider_name, named.is_own_rate_limit) == ("Google", False)
    assert unnamed is not None
    assert (unnamed.provider_name, unnamed.is_own_rate_limit) == (None, True)
    other = read('data: {"error": {"code": 502, "message": "m"}}').error
    assert other is not None
    assert other.is_own_rate_limit is False


def test_a_reason_of_error_is_an_error_even_without_its_object() -> None:
    exchange = read(said("a"), chunk(finish="error"), DONE)
    assert exchange.error is not None
    assert exchange.error.provider_name == "Google"


def test_a_stream_that_just_stops_is_cut_and_one_with_a_reason_is_not() -> None:
    assert read(said("a")).failure is TransportFailure.CUT
    assert read(said("a"), STOP).failure is None
    assert read(said("a"), STOP).has_done is False
    assert read().failure is TransportFailure.CUT


def test_what_comes_after_the_end_mark_is_not_read() -> None:
    exchange = read(said("a"), STOP, DONE, said("b"))
    assert (exchange.text, exchange.ended_ms) == ("a", 20.0)


def test_events_are_framed_as_the_standard_says() -> None:
    event = json.dumps({"choices": [{"delta": {"content": "a"}}]}, indent=1).split("\n")
    several = [f"data:{line}\r" for line in event]
    exchange = read("\ufeffevent: x\r", "id: 1", "retry: 5", *several, "\r", said("b") + "\r\n", STOP, DONE)
    assert (exchange.text, exchange.malformed_events) == ("ab", 0)


def test_lost_blank_lines_lose_no_event() -> None:
    assert read(said("a"), said("b"), STOP, DONE).text == "ab"


def test_the_time_of_an_event_is_its_datas_not_its_blank_lines() -> None:
    exchange = exchange_from_events(
        [TimedLine(at_ms=9_990, line=said("a")), TimedLine(at_ms=10_010, line="")]
    )
    assert exchange.first_text_ms == 9_990


@pytest.mark.parametrize(
    "broken",
    [
        'data: {"choices": [{"delta": {"content": "lo',
        "data: 5",
        "data: [1]",
        "data: nonsense",
        'data: {"choices": "none"}',
        'data: {"choices": [7]}',
        'data: {"choices": [{"delta": "text"}]}',
        'data: {"choices": [{"delta": {"content": 7}}]}',
        'data: {"choices": [{"delta": {"content": [{"text": 7}]}}]}',
        'data: {"choices": [{"delta": {"tool_calls": {"index": 0}}}]}',
        'data: {"choices": [{"delta": {"tool_calls": ["x"]}}]}',
        "data: " + "[" * 100_000,
    ],
    ids=lambda line: line[:60],
)
@pytest.mark.parametrize("blank", [[""], []], ids=["with blank lines", "without"])
def test_a_malformed_event_is_skipped_and_counted(broken: str, blank: list[str]) -> None:
    exchange = read(said("a"), *blank, broken, *blank, said("b"), *blank, STOP, *blank, DONE)
    assert (exchange.text, exchange.malformed_events) == ("ab", 1)


@pytest.mark.parametrize(
    "line",
    ["data:", "data: ", "event: ping", "nonsense without a colon", ": comment", 'data: {"usage": null}'],
)
def test_what_holds_no_event_is_not_malformed(line: str) -> None:
    assert read(said("a"), "", line, "", STOP, DONE).malformed_events == 0


def test_content_may_be_a_list_of_parts() -> None:
    assert (
        read(
            chunk({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}), STOP, DONE
        ).text
        == "ab"
    )


def test_a_whole_message_at_the_end_counts_only_when_no_text_came_before() -> None:
    whole = "data: " + json.dumps({"choices": [{"message": {"content": "all"}, "finish_reason": "stop"}]})
    assert read(chunk({"role": "assistant", "content": ""}), whole, DONE).text == "all"
    assert read(said("al"), said("l"), whole, DONE).text == "all"


def test_another_choice_than_the_first_is_not_read() -> None:
    other = "data: " + json.dumps({"choices": [{"index": 1, "delta": {"content": "x"}}]})
    assert read(said("a"), other, STOP, DONE).text == "a"


def test_a_surrogate_pair_split_over_two_chunks_is_one_character_and_a_lone_half_is_evidence() -> None:
    assert (
        read(
            r'data: {"choices":[{"delta":{"content":"\ud83d"}}]}',
            r'data: {"choices":[{"delta":{"content":"\ude00"}}]}',
            DONE,
        ).text
        == "😀"
    )
    assert read(r'data: {"choices":[{"delta":{"content":"a\ud83d"}}]}', DONE).text == "a\ufffd"


def test_a_stream_beyond_the_size_limit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    line = said("a" * 1000)
    monkeypatch.setattr(openrouter_wire, "MAX_STREAM_BYTES", 2 * (len(line) + 1))
    assert read(line, line).text == "a" * 2000
    exchange = read(line, line, line, STOP, DONE)
    assert (exchange.text, exchange.failure, exchange.has_done) == ("a" * 2000, TransportFailure.CUT, False)


def test_an_error_status_with_an_error_body_is_read_as_one() -> None:
    exchange = read(
        '{"error":{"code":429,', '"message":"slow down"}}', status=429, headers={"X-RateLimit-Limit": "20"}
    )
    assert exchange.error is not None
    assert (exchange.status, exchange.error.message, exchange.error.is_own_rate_limit) == (
        429,
        "slow down",
        True,
    )
    assert exchange.error.in_stream is False
    assert exchange.failure is None


def test_a_plain_body_in_place_of_a_stream_is_read_as_a_whole_answer() -> None:
    exchange = read("", '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}')
    assert (exchange.text, exchange.finish_reason, exchange.has_done, exchange.first_text_ms) == (
        "a",
        "stop",
        True,
        10.0,
    )


def test_stray_lines_do_not_hide_the_events_between_them() -> None:
    exchange = read("stray", said("a"), "stray", STOP)
    assert (exchange.text, exchange.finish_reason, exchange.error, exchange.malformed_events) == (
        "a",
        "stop",
        None,
        0,
    )


def test_a_page_in_place_of_a_stream_is_an_error() -> None:
    exchange = read("<html>", "<body>blocked</body>", "</html>")
    assert exchange.error is not None
    assert exchange.error.message == "The answer is an HTML page, not JSON."


def test_a_reader_says_what_has_come_before_it_is_finished() -> None:
    reader = StreamReader()
    reader.feed(chunk({"reasoning": "hm"}), 5.0)
    assert (reader.answer.first_token_ms, reader.answer.first_text_ms) == (5.0, None)
    reader.feed(said("a"), 7.0)
    assert (reader.answer.first_text_ms, reader.has_done) == (7.0, False)
    exchange = reader.finish(TransportFailure.TIMED_OUT, ended_ms=100.0)
    assert (exchange.text, exchange.failure, exchange.ended_ms) == ("a", TransportFailure.TIMED_OUT, 100.0)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                (
                    "choices",
                    "delta",
                    "content",
                    "tool_calls",
                    "function",
                    "index",
                    "error",
                    "metadata",
                    "usage",
                    "provider",
                    "reasoning_details",
                )
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(
    st.lists(json_values.map(lambda value: "data: " + json.dumps(value)) | st.text(), max_size=6),
    st.sampled_from([200, 404, 429]),
)
def test_no_stream_makes_the_reader_raise(lines: list[str], status: int) -> None:
    exchange = read(*lines, status=status)
    assert exchange.status == status
    exchange.text.encode()
