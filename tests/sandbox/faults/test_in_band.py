"""Faults that are errors inside a 200."""

from __future__ import annotations

from typing import Any

import pytest

from tests.sandbox.driver import Gateway, Reply, with_fault


def answered(kind: str, *, stream: bool = False, **params: Any) -> Reply:
    reply = Gateway(with_fault(kind, **params)).pinned("acme/fp8", stream=stream)
    assert reply.status == 200
    return reply


def test_an_error_in_a_200_is_the_whole_body_after_the_padding() -> None:
    reply = answered("error_in_200", status=502)
    assert reply.text.startswith("\n")
    assert reply.json["error"]["code"] == 502
    assert "choices" not in reply.json


def test_an_error_in_a_200_is_the_first_event_of_a_stream() -> None:
    reply = answered("error_in_200", status=503, stream=True)
    assert len(reply.events) == 1
    assert reply.events[0]["error"]["code"] == 503
    assert reply.finishes == ["error"]


def test_an_error_in_a_200_does_not_move_on_to_the_next_provider() -> None:
    gateway = Gateway(with_fault("error_in_200"))
    reply = gateway.chat(provider={"order": ["acme/fp8", "globex/fp8"]})
    assert "error" in reply.json
    assert [count.requests for count in gateway.state.counts.values()] == [1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_completion_of_nulls_has_an_error_beside_it(stream: bool) -> None:
    reply = answered("null_completion", stream=stream)
    body = reply.events[0] if stream else reply.json
    assert body["error"]["code"] == 524
    assert body["id"] is None
    assert body["choices"] is None


@pytest.mark.parametrize("stream", [False, True])
def test_choices_may_be_null_without_an_error(stream: bool) -> None:
    reply = answered("null_choices", stream=stream)
    body = reply.events[1] if stream else reply.json
    assert body["choices"] is None
    assert "error" not in body
    assert reply.ending == "complete"


@pytest.mark.parametrize("at", [0.25, 0.75])
def test_an_error_midstream_comes_after_that_share_of_the_text(at: float) -> None:
    whole = Gateway(with_fault("empty"), seed=3).pinned("globex/fp8", stream=True)
    reply = Gateway(with_fault("error_midstream", at=at), seed=3).pinned("acme/fp8", stream=True)
    share = len(reply.streamed_text) / len(whole.streamed_text)
    assert share == pytest.approx(at, abs=0.12)
    assert reply.events[-1]["error"]["code"] == 502
    assert reply.events[-1]["choices"][0]["finish_reason"] == "error"


def test_an_error_midstream_may_come_with_no_choices() -> None:
    assert answered("error_midstream", shape="empty_choices", stream=True).events[-1]["choices"] == []


def test_an_error_midstream_is_an_error_in_the_choice_without_streaming() -> None:
    choice = answered("error_midstream").json["choices"][0]
    assert choice["finish_reason"] == "error"
    assert choice["error"]["code"] == 502
    assert choice["message"]["content"]


def test_a_choice_error_carries_its_error_in_the_streams_choice() -> None:
    last = answered("choice_error", stream=True).events[-1]
    assert last["choices"][0]["error"]["message"] == "Provider disconnected mid-stream"
    assert "error" not in last
