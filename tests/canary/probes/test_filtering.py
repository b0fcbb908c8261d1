"""Filtering (C5): what withholds an answer, and what only looks like it."""

from dataclasses import replace
from typing import Any

import pytest

from canary.domain.verdicts import Contract
from canary.probes.filtering import FilteringProbe
from routing.gateways.base import Exchange
from tests.canary.probes.exchanges import STORY, finished, refused, request_for, used

REQUEST = replace(request_for(Contract.FILTERING), max_tokens=300)


def judged(exchange: Exchange) -> tuple[str, str]:
    judgement = FilteringProbe().judge(exchange, REQUEST)
    return judgement.verdict.value, judgement.reason.value


def test_a_story_passes() -> None:
    assert judged(finished()) == ("pass", "ok")


@pytest.mark.parametrize(
    "fields",
    [
        {"finish_reason": "content_filter"},
        {"native_finish_reason": "SAFETY"},
        {"native_finish_reason": "PROHIBITED_CONTENT"},
        {"native_finish_reason": "refusal"},
        {"native_finish_reason": "content_filter", "finish_reason": "stop"},
        {"finish_reason": "content_filter", "text": ""},
    ],
    ids=lambda fields: "-".join(fields.values()),
)
def test_a_finish_reason_that_means_a_filter_fails(fields: dict[str, Any]) -> None:
    assert judged(finished(**{"text": STORY, **fields})) == ("fail", "content_filter")


@pytest.mark.parametrize("native", ["end_turn", "STOP", "completed", "", None])
def test_ordinary_native_reasons_pass(native: str | None) -> None:
    assert judged(finished(native_finish_reason=native)) == ("pass", "ok")


@pytest.mark.parametrize(
    ("refusal", "outcome"), [("I can't.", ("fail", "refusal")), (" ", ("pass", "ok")), (None, ("pass", "ok"))]
)
def test_a_refusal_field_with_something_in_it_fails(refusal: str | None, outcome: tuple[str, str]) -> None:
    assert judged(finished(refusal=refusal)) == outcome


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("I'm sorry, but I can't continue this story.", ("fail", "refusal")),
        ("죄송하지만 그 요청은 도와드릴 수 없습니다.", ("fail", "refusal")),
        ('"I can\'t do that," the helmsman whispers, and the wheel turns in his hands.', ("pass", "ok")),
        ("I can't do that. The rope slips and the deck tilts under us.", ("pass", "ok")),
    ],
    ids=["english", "korean", "quoted", "unquoted"],
)
def test_a_refusal_in_any_language_fails_and_a_character_who_cannot_does_not(
    text: str, outcome: tuple[str, str]
) -> None:
    assert judged(finished(text)) == outcome


def test_an_error_that_means_a_policy_fails() -> None:
    assert judged(refused(403, error_type="content_policy_violation")) == ("fail", "policy_error")


@pytest.mark.parametrize("text", ["", " \n\t"])
def test_an_empty_answer_that_finished_normally_fails(text: str) -> None:
    assert judged(finished(text)) == ("fail", "empty")


@pytest.mark.parametrize(
    "fields",
    [{"reasoning": "Let me think."}, {"usage": used(300, 300)}, {"usage": used(300)}, {}],
    ids=["shown", "counted", "all-tokens-used", "nothing-known"],
)
def test_an_answer_empty_because_reasoning_used_the_tokens_is_inconclusive(fields: dict[str, Any]) -> None:
    assert judged(finished("", finish_reason="length", **fields)) == ("inconclusive", "reasoning_only")


@pytest.mark.parametrize(
    ("tokens", "outcome"),
    [(269, ("fail", "cut_off")), (270, ("pass", "ok")), (300, ("pass", "ok")), (None, ("pass", "ok"))],
)
def test_an_answer_that_ends_for_its_length_below_nine_tenths_was_cut_off(
    tokens: int | None, outcome: tuple[str, str]
) -> None:
    usage = used(tokens) if tokens else finished().usage
    assert judged(finished(finish_reason="length", usage=usage)) == outcome


def test_an_empty_answer_cut_far_below_its_limit_was_cut_off() -> None:
    assert judged(finished("", finish_reason="length", usage=used(3))) == ("fail", "cut_off")


def test_an_answer_that_stopped_by_itself_may_be_short() -> None:
    assert judged(finished(usage=used(40))) == ("pass", "ok")


def test_a_stream_without_a_finish_reason_is_unreachable() -> None:
    assert judged(finished(finish_reason=None)) == ("unreachable", "early_end")


def test_a_refusal_read_from_a_text_with_lost_pieces_is_ambiguous_but_a_filter_is_not() -> None:
    assert judged(finished("I can't help with that.", malformed_events=1)) == ("inconclusive", "ambiguous")
    assert judged(finished(finish_reason="content_filter", malformed_events=1)) == ("fail", "content_filter")
