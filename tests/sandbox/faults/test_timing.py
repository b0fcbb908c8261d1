"""Faults of time, on a clock that only sleeping moves."""

from __future__ import annotations

import pytest

from tests.sandbox.driver import Gateway, scenario, with_fault


@pytest.mark.parametrize("seconds", [9.9, 10.1], ids=["just before ten", "just after ten"])
def test_a_slow_first_token_comes_when_it_is_said_to(seconds: float) -> None:
    reply = Gateway(with_fault("slow_first_token", seconds=seconds)).pinned("acme/fp8", stream=True)
    assert reply.first_text_s() == pytest.approx(seconds)
    assert reply.ending == "complete"


def test_before_a_slow_first_token_come_the_status_comments_and_an_empty_delta() -> None:
    reply = Gateway(with_fault("slow_first_token", seconds=3)).pinned("acme/fp8", stream=True)
    early = b"".join(data for at_s, data in reply.parts if at_s < 3).decode()
    assert early.count(": OPENROUTER PROCESSING") >= 9
    assert early.count("data: ") == 1
    assert '"content":""' in early


@pytest.mark.parametrize("seconds", [6, 40])
def test_a_trickle_begins_on_time_and_takes_so_long(seconds: float) -> None:
    reply = Gateway(with_fault("trickle", seconds=seconds)).pinned("acme/fp8", stream=True)
    assert reply.first_text_s() == pytest.approx(0.1)
    assert reply.parts[-1][0] == pytest.approx(seconds + 0.1, abs=0.5)
    assert reply.ending == "complete"
    moments = {round(at_s, 1) for at_s, data in reply.parts if b'"content":' in data}
    assert len(moments) > 15


def test_without_streaming_a_trickle_is_padding_until_the_end() -> None:
    reply = Gateway(with_fault("trickle", seconds=6)).pinned("acme/fp8")
    assert reply.parts[0][0] < 0.5
    assert [data.strip() for at_s, data in reply.parts if at_s < 6] == [b""] * (len(reply.parts) - 1)
    assert reply.parts[-1][0] == pytest.approx(6.1, abs=0.1)
    assert reply.content


@pytest.mark.parametrize("stream", [True, False])
def test_a_stalled_answer_has_a_status_and_keep_alives_and_no_end(stream: bool) -> None:
    gateway = Gateway(with_fault("stalled"))
    reply = gateway.chat(provider={"only": ["acme/fp8"]}, stream=stream, leave_after_s=60)
    assert (reply.status, reply.ending) == (200, "left")
    assert len(reply.parts) > 150
    assert reply.streamed_text == ""
    assert gateway.state.log[-1].outcome == "cancelled"


def test_a_stall_may_come_after_some_text() -> None:
    gateway = Gateway(with_fault("stalled", at=0.5))
    reply = gateway.chat(provider={"only": ["acme/fp8"]}, stream=True, leave_after_s=30)
    assert len(reply.streamed_text) > 100
    assert reply.finishes == []


def test_a_stall_may_be_silent() -> None:
    gateway = Gateway(with_fault("stalled", keep_alives=False))
    reply = gateway.chat(provider={"only": ["acme/fp8"]}, stream=True, leave_after_s=30)
    assert reply.text.count(": OPENROUTER PROCESSING") == 1
    assert reply.ending == "left"


def test_never_answers_sends_not_even_a_status() -> None:
    gateway = Gateway(with_fault("never_answers"))
    reply = gateway.pinned("acme/fp8")
    assert (reply.status, reply.parts, reply.ending) == (None, [], "left")


def test_slow_makes_everything_take_longer() -> None:
    reply = Gateway(with_fault("slow", factor=10)).pinned("acme/fp8", stream=True)
    assert reply.first_text_s() == pytest.approx(1.0)


def test_a_healthy_first_token_lies_in_the_endpoints_span() -> None:
    gateway = Gateway(scenario({"tag": "acme", "ttft_ms": [50, 200]}))
    firsts = [gateway.chat(stream=True).first_text_s() for _ in range(30)]
    assert all(first is not None and 0.05 <= first <= 0.2 for first in firsts)
    assert len(set(firsts)) > 20


def test_an_instant_endpoint_answers_in_one_piece() -> None:
    gateway = Gateway(scenario({"tag": "acme", "ttft_ms": 0, "tokens_per_second": 0}))
    reply = gateway.chat(stream=True)
    assert len(reply.parts) == 1
    assert reply.parts[0][0] == 0
