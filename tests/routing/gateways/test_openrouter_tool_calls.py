"""Tool calls put together from deltas, however an upstream cuts and numbers them."""

import json
from typing import Any

from routing.gateways.base import Exchange, TimedLine
from routing.gateways.openrouter_wire import exchange_from_events

DONE = "data: [DONE]"


def read(*lines: str) -> Exchange:
    return exchange_from_events(TimedLine(at_ms=0.0, line=line) for line in lines)


def chunk(delta: dict[str, Any] | None = None, *, finish: str | None = None) -> str:
    return "data: " + json.dumps({"choices": [{"index": 0, "delta": delta or {}, "finish_reason": finish}]})


def call(
    arguments: str | None = None,
    *,
    index: int | None = 0,
    call_id: str | None = None,
    name: str | None = None,
) -> str:
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return chunk({"tool_calls": [{"index": index, "id": call_id, "function": function}]})


def calls_of(*lines: str) -> list[tuple[str | None, str | None, str]]:
    exchange = read(*lines, chunk(finish="tool_calls"), DONE)
    return [(c["id"], c["function"]["name"], c["function"]["arguments"]) for c in exchange.tool_calls]


def test_calls_are_merged_by_index() -> None:
    lines = [
        call("", call_id="a", name="f"),
        call("", index=1, call_id="b", name="g"),
        call('{"x"'),
        call("{}", index=1),
        call(":1}"),
    ]
    assert calls_of(*lines) == [("a", "f", '{"x":1}'), ("b", "g", "{}")]


def test_a_call_without_arguments_reads_as_one_with_an_empty_text() -> None:
    assert calls_of(call(call_id="a", name="f")) == [("a", "f", "")]


def test_a_name_repeated_in_every_delta_is_one_call() -> None:
    assert calls_of(call('{"x"', call_id="a", name="f"), call(":1}", call_id="a", name="f")) == [
        ("a", "f", '{"x":1}')
    ]


def test_an_index_used_for_two_ids_is_two_calls() -> None:
    assert calls_of(call("{}", call_id="a", name="f"), call("{}", call_id="b", name="f")) == [
        ("a", "f", "{}"),
        ("b", "f", "{}"),
    ]


def test_a_second_complete_call_under_the_same_id_is_a_call_of_its_own_and_its_repeat_is_not() -> None:
    first, second = call('{"x":1}', call_id="a", name="f"), call('{"x":2}', call_id="a", name="f")
    assert calls_of(first, second) == [("a", "f", '{"x":1}'), ("a", "f", '{"x":2}')]
    assert calls_of(first, first) == [("a", "f", '{"x":1}')]


def test_white_space_after_a_complete_call_changes_nothing_of_it() -> None:
    assert json.loads(calls_of(call('{"x":1}', call_id="a", name="f"), call(" \n"))[0][2]) == {"x": 1}


def test_calls_without_an_index_are_told_apart_by_their_place() -> None:
    both = {
        "tool_calls": [
            {"id": "a", "function": {"name": "f", "arguments": "{}"}},
            {"id": "b", "function": {"name": "g", "arguments": {"y": 1}}},
        ]
    }
    assert calls_of(chunk(both)) == [("a", "f", "{}"), ("b", "g", '{"y": 1}')]


def test_more_calls_than_anybody_asks_for_are_malformed() -> None:
    exchange = read(*(call("{}", index=number, call_id=str(number), name="f") for number in range(130)), DONE)
    assert (len(exchange.tool_calls), exchange.malformed_events) == (128, 2)
