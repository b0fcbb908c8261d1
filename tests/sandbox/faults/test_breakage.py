"""Faults of the connection and the framing, as the application ends them; a real port is in test_serving."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.sandbox.driver import Gateway, with_fault


@pytest.mark.parametrize(
    ("how", "ending"),
    [("close", "closed"), ("reset", "reset"), ("end", "complete")],
    ids=["close", "reset", "end"],
)
def test_a_cut_stream_ends_without_finish_and_done(how: str, ending: str) -> None:
    reply = Gateway(with_fault("cut_stream", how=how)).pinned("acme/fp8", stream=True)
    assert reply.ending == ending
    assert reply.finishes == []
    assert "[DONE]" not in reply.text
    assert len(reply.streamed_text) > 200


@pytest.mark.parametrize(("how", "ending"), [("close", "closed"), ("end", "complete")])
def test_a_cut_answer_that_is_not_streamed_is_broken_json(how: str, ending: str) -> None:
    reply = Gateway(with_fault("cut_stream", how=how)).pinned("acme/fp8")
    assert reply.ending == ending
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(reply.body)


def test_a_stream_without_done_is_complete_otherwise() -> None:
    reply = Gateway(with_fault("no_done")).pinned("acme/fp8", stream=True)
    assert reply.finishes == ["stop", "stop"]
    assert reply.events[-1]["usage"]
    assert "[DONE]" not in reply.text


@pytest.mark.parametrize("count", [1, 3])
def test_malformed_events_stand_between_the_others_and_no_text_is_lost(count: int) -> None:
    sound = Gateway(with_fault("empty"), seed=3).pinned("globex/fp8", stream=True)
    reply = Gateway(with_fault("malformed_event", count=count), seed=3).pinned("acme/fp8", stream=True)
    texts = [event for event in reply.events if isinstance(event, str) and event != "[DONE]"]
    assert len(texts) == count
    assert len(reply.streamed_text) > 300
    assert sound.events[-1] == reply.events[-1] == "[DONE]"


@pytest.mark.parametrize(("how", "ending"), [("reset", "reset"), ("close", "closed")])
def test_a_connection_reset_sends_nothing(how: str, ending: str) -> None:
    gateway = Gateway(with_fault("connection_reset", how=how))
    reply = gateway.pinned("acme/fp8")
    assert (reply.status, reply.parts, reply.ending) == (None, [], ending)
    assert gateway.state.log[-1].outcome == "failed"


@pytest.mark.parametrize("stream", [True, False])
def test_a_huge_answer_has_the_chosen_size_and_is_valid(stream: bool) -> None:
    reply = Gateway(with_fault("huge", megabytes=0.5)).pinned("acme/fp8", stream=stream)
    text = reply.streamed_text if stream else reply.content
    assert 500_000 <= len(text) < 510_000
    assert max(len(data) for _, data in reply.parts) < 100_000


@pytest.mark.parametrize("stream", [True, False])
def test_an_endless_answer_ends_only_with_the_caller(stream: bool) -> None:
    gateway = Gateway(with_fault("huge", variant="endless"))
    reply = gateway.chat(provider={"only": ["acme/fp8"]}, stream=stream, leave_after_s=0.7)
    assert reply.ending == "left"
    assert len(reply.body) > 1_000_000


def test_a_nested_answer_is_valid_json_deeper_than_any_parser_goes() -> None:
    body = Gateway(with_fault("huge", variant="nested", megabytes=0.2)).pinned("acme/fp8").body
    assert body.startswith(b'{"choices":[[[[')
    assert body.count(b"[") == body.count(b"]") == 100_000


def test_a_gzip_bomb_is_small_and_grows() -> None:
    reply = Gateway(with_fault("huge", variant="gzip_bomb", megabytes=5)).pinned("acme/fp8")
    assert reply.headers["content-encoding"] == "gzip"
    assert len(reply.body) < 20_000
    assert len(json.loads(gzip.decompress(reply.body))["choices"][0]["message"]["content"]) == 5_000_000
