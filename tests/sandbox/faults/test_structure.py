"""Faults of structured output and tool calls."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jsonschema import ValidationError, validate

from tests.sandbox.driver import SCHEMA, STRUCTURED, TOOL, Gateway, with_fault


def structured(**params: Any) -> str:
    reply = Gateway(with_fault("malformed_json", **params)).pinned("acme/fp8", response_format=STRUCTURED)
    assert isinstance(reply.content, str)
    return reply.content


def test_a_healthy_structured_answer_is_valid_under_the_schema() -> None:
    gateway = Gateway(with_fault("malformed_json"))
    for _ in range(10):
        validate(json.loads(gateway.pinned("globex/fp8", response_format=STRUCTURED).content), SCHEMA)


def test_a_fenced_object_is_in_a_fence() -> None:
    text = structured()
    assert text.startswith("```json\n{")
    assert text.endswith("}\n```")


@pytest.mark.parametrize(
    "variant", ["fenced", "prose_around", "trailing_data", "truncated", "think_leak", "single_quotes"]
)
def test_these_variants_are_not_json(variant: str) -> None:
    text = structured(variant=variant)
    with pytest.raises(ValueError, match=r"line 1|line 2"):
        json.loads(text)


def test_a_duplicate_key_stands_twice() -> None:
    pairs: list[tuple[str, Any]] = json.loads(structured(variant="duplicate_key"), object_pairs_hook=list)
    assert [name for name, _ in pairs] == ["name", "name", "count", "mood"]


def test_nan_stands_for_a_number() -> None:
    assert '"count": NaN' in structured(variant="nan")


@pytest.mark.parametrize("variant", ["missing_field", "extra_field", "wrong_type", "wrong_enum"])
def test_a_mismatch_is_json_but_not_valid(variant: str) -> None:
    value = json.loads(structured(variant=variant))
    with pytest.raises(ValidationError):
        validate(value, SCHEMA)


def test_any_draws_between_the_variants() -> None:
    gateway = Gateway(with_fault("malformed_json", variant="any"))
    texts = {gateway.pinned("acme/fp8", response_format=STRUCTURED).content[:4] for _ in range(30)}
    assert len(texts) > 3


def test_malformed_json_leaves_prose_alone() -> None:
    assert "```" not in Gateway(with_fault("malformed_json")).pinned("acme/fp8").content


@pytest.mark.parametrize("status", [400, 422])
def test_a_refused_schema_is_an_error_that_names_it(status: int) -> None:
    gateway = Gateway(with_fault("schema_refused", status=status))
    reply = gateway.pinned("acme/fp8", response_format=STRUCTURED)
    assert reply.status == status
    assert "json_schema" in reply.json["error"]["metadata"]["raw"]
    assert gateway.pinned("acme/fp8").status == 200


def call(**params: Any) -> list[dict[str, Any]]:
    reply = Gateway(with_fault("tool_arguments", **params)).pinned("acme/fp8", tools=[TOOL])
    calls = reply.json["choices"][0]["message"]["tool_calls"]
    assert isinstance(calls, list)
    return calls


def test_a_healthy_tool_call_has_valid_arguments() -> None:
    reply = Gateway(with_fault("empty")).pinned("globex/fp8", tools=[TOOL])
    called = reply.json["choices"][0]["message"]["tool_calls"][0]
    assert called["function"]["name"] == "weather"
    validate(json.loads(called["function"]["arguments"]), TOOL["function"]["parameters"])
    assert reply.json["choices"][0]["finish_reason"] == "tool_calls"


def test_a_named_tool_choice_calls_that_tool() -> None:
    other = {"type": "function", "function": {"name": "clock"}}
    choice = {"type": "function", "function": {"name": "clock"}}
    reply = Gateway(with_fault("empty")).pinned("globex/fp8", tools=[TOOL, other], tool_choice=choice)
    assert reply.json["choices"][0]["message"]["tool_calls"][0]["function"]["name"] == "clock"


def test_after_a_tools_result_the_answer_is_prose() -> None:
    messages = [
        {"role": "user", "content": "What is the weather like?"},
        {"role": "assistant", "content": None, "tool_calls": []},
        {"role": "tool", "content": "Eighteen degrees and a little rain in the evening."},
    ]
    reply = Gateway(with_fault("empty")).pinned("globex/fp8", tools=[TOOL], messages=messages)
    assert reply.content
    assert reply.json["choices"][0]["finish_reason"] == "stop"


@pytest.mark.parametrize(
    ("variant", "function"),
    [
        ("empty", {"name": "weather", "arguments": ""}),
        ("missing", {"name": "weather"}),
        ("schema_mismatch", {"name": "weather", "arguments": '{"unexpected": []}'}),
    ],
)
def test_tool_arguments_may_be_empty_missing_or_wrong(variant: str, function: dict[str, str]) -> None:
    assert [each["function"] for each in call(variant=variant)] == [function]


def test_tool_arguments_may_be_no_json() -> None:
    with pytest.raises(ValueError, match="line 1"):
        json.loads(call(variant="invalid_json")[0]["function"]["arguments"])


def test_a_tool_call_may_come_twice_with_one_id() -> None:
    first, second = call(variant="duplicated")
    assert first["id"] == second["id"]
    assert first["function"] == second["function"]


def test_a_tool_call_may_name_a_tool_that_was_never_offered() -> None:
    assert call(variant="unknown_tool")[0]["function"]["name"] == "tool_that_was_never_offered"


def test_a_streamed_call_without_arguments_has_no_arguments_key() -> None:
    gateway = Gateway(with_fault("tool_arguments", variant="missing"))
    chunks = gateway.pinned("acme/fp8", tools=[TOOL], stream=True).chunks
    calls = [
        chunk["choices"][0]["delta"]["tool_calls"]
        for chunk in chunks
        if "tool_calls" in chunk["choices"][0]["delta"]
    ]
    assert [each[0]["function"] for each in calls] == [{"name": "weather"}]
