"""Structured output (C7): a finished answer that is not the object fails, an unfinished one says nothing."""

import json
from dataclasses import replace
from typing import Any

import pytest

from canary.domain.verdicts import Contract
from canary.probes.structured_output import SCHEMA, StructuredOutputProbe
from routing.gateways.base import Exchange
from routing.judges.structured import SchemaUnusable, judge_structured
from tests.canary.probes.exchanges import finished, refused, request_for, used

GOOD = json.dumps({"item": "lamp", "quantity": 12, "urgent": True, "unit": "box", "tags": ["lighting"]})


def judged(exchange: Exchange, schema: dict[str, Any] | None = None) -> tuple[str, str]:
    request = request_for(Contract.STRUCTURED_OUTPUT)
    judgement = StructuredOutputProbe().judge(
        exchange, replace(request, schema=schema) if schema else request
    )
    return judgement.verdict.value, judgement.reason.value


def test_only_an_endpoint_that_advertises_it_is_asked() -> None:
    assert StructuredOutputProbe().applies(frozenset({"structured_outputs", "temperature"}))
    assert not StructuredOutputProbe().applies(frozenset({"response_format"}))


def test_the_request_carries_the_schema_it_is_judged_by() -> None:
    request = request_for(Contract.STRUCTURED_OUTPUT)
    asked = request.body["response_format"]["json_schema"]
    assert asked == {"name": "stock_order", "strict": True, "schema": request.schema}
    assert judge_structured(GOOD, SCHEMA).fault is None


@pytest.mark.parametrize("text", [GOOD, f"\n {GOOD} \n"])
def test_the_object_passes_whatever_white_space_surrounds_it(text: str) -> None:
    assert judged(finished(text)) == ("pass", "ok")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "empty"),
        (f"```json\n{GOOD}\n```", "fenced"),
        (f"Here you are: {GOOD}", "prose_around"),
        (f"<think>hm</think>{GOOD}", "think_leak"),
        (f"{GOOD} Done.", "trailing_data"),
        ("Twelve boxes of lamps.", "not_json"),
        (GOOD[:-1], "truncated"),
        (GOOD.replace('"unit"', '"item": "x", "unit"'), "duplicate_key"),
        (GOOD.replace("12", "NaN"), "nan"),
        ("\ufeff" + GOOD, "bom"),
        (GOOD.replace("12", '"12"'), "schema_mismatch"),
        (GOOD.replace("box", "crate"), "schema_mismatch"),
    ],
)
def test_a_finished_answer_that_is_not_the_object_fails_with_its_reason(text: str, reason: str) -> None:
    assert judged(finished(text)) == ("fail", reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"text": GOOD[:20], "finish_reason": "length", "usage": used(300)}, "truncated"),
        ({"text": GOOD, "finish_reason": "content_filter"}, "content_filter"),
        ({"text": "", "refusal": "No."}, "refusal"),
        ({"text": "I'm sorry, but I can't assist with that request."}, "refusal"),
        ({"text": "", "reasoning": "Twelve boxes", "finish_reason": "length"}, "reasoning_only"),
        ({"text": "", "reasoning": "Twelve boxes"}, "reasoning_only"),
        ({"text": GOOD[:-1], "malformed_events": 2}, "ambiguous"),
    ],
    ids=["length", "filter", "refusal-field", "refusal-text", "reasoning", "reasoning-stopped", "lost-piece"],
)
def test_an_answer_that_did_not_finish_says_nothing(fields: dict[str, Any], reason: str) -> None:
    assert judged(finished(**fields)) == ("inconclusive", reason)


def test_a_refused_schema_is_inconclusive() -> None:
    assert judged(refused(400, "response_format json_schema is not supported")) == (
        "inconclusive",
        "schema_refused",
    )


def test_a_transport_error_is_never_counted_as_invalid() -> None:
    assert judged(finished(GOOD[:10], finish_reason=None)) == ("unreachable", "early_end")
    assert judged(refused(503)) == ("unreachable", "server_error")


def test_another_schema_takes_the_place_of_the_fixed_one() -> None:
    assert judged(finished('{"a": 1}'), {"required": ["a"]}) == ("pass", "ok")
    with pytest.raises(SchemaUnusable):
        judged(finished('{"a": 1}'), {"type": "nonsense"})
