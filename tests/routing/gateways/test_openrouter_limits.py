"""The live client's limits and failures, against a real socket: what ends an exchange, and what it is then."""

import asyncio
import gzip
import time

import httpx
import pytest

from routing.gateways import openrouter_run
from routing.gateways.base import Exchange, TransportFailure
from routing.gateways.openrouter import OpenRouter

from .scripted import ANSWER, BODY, KEEP_ALIVE, KEY, Call, answer, chat, said, serve

pytestmark = pytest.mark.anyio

TOLERANCE_MS = 50.0


def ended_at(exchange: Exchange, limit_ms: float) -> bool:
    """Whether an exchange ended at its limit; what this machine was late by is not the limit's fault."""
    assert exchange.ended_ms is not None
    return limit_ms - 5 <= exchange.ended_ms <= limit_ms + TOLERANCE_MS + exchange.loop_lag_ms


async def test_an_end_mark_ends_the_exchange_though_the_transfer_goes_on() -> None:
    async def script(call: Call) -> None:
        await call.start()
        await call.chunk(ANSWER)
        await asyncio.sleep(5)

    async with serve(script) as upstream:
        began = time.monotonic()
        exchange = await chat(upstream.url)
        took_s = time.monotonic() - began
        await asyncio.wait_for(upstream.closed_by_client.wait(), 1)
    assert (exchange.text, exchange.failure) == ("Hello", None)
    assert took_s < 0.5
    assert exchange.ended_ms is not None
    assert exchange.ended_ms < openrouter_run.DRAIN_LIMIT_S * 1000


async def trickle(call: Call) -> None:
    await call.start()
    while True:
        await call.chunk(KEEP_ALIVE)
        await asyncio.sleep(0.02)


async def test_keep_alives_extend_no_limit() -> None:
    async with serve(trickle) as upstream:
        exchange = await chat(upstream.url, limit_s=0.3)
        await asyncio.wait_for(upstream.closed_by_client.wait(), 1)
    assert (exchange.status, exchange.failure, exchange.text) == (200, TransportFailure.TIMED_OUT, "")
    assert ended_at(exchange, 300)


async def test_a_limit_to_the_first_text_ends_it_earlier() -> None:
    async with serve(trickle) as upstream:
        exchange = await chat(upstream.url, limit_s=2, first_text_limit_s=0.15)
    assert exchange.failure is TransportFailure.TIMED_OUT
    assert ended_at(exchange, 150)


async def test_once_text_has_come_the_whole_limit_holds() -> None:
    async def script(call: Call) -> None:
        await call.start()
        await call.chunk(said("Hel"))
        await asyncio.sleep(0.3)
        await call.chunk(ANSWER)
        await call.end()

    async with serve(script) as upstream:
        within = await chat(upstream.url, limit_s=1, first_text_limit_s=0.15)
        beyond = await chat(upstream.url, limit_s=0.2, first_text_limit_s=0.15)
    assert (within.text, within.failure) == ("HelHello", None)
    assert (beyond.text, beyond.failure) == ("Hel", TransportFailure.TIMED_OUT)
    assert ended_at(beyond, 200)


async def test_reasoning_is_no_answer_text_to_the_limit() -> None:
    async def script(call: Call) -> None:
        await call.start()
        await call.chunk('data: {"choices":[{"delta":{"reasoning":"hm"}}]}\n\n')
        await asyncio.sleep(5)

    async with serve(script) as upstream:
        exchange = await chat(upstream.url, limit_s=2, first_text_limit_s=0.15)
    assert exchange.failure is TransportFailure.TIMED_OUT
    assert exchange.first_token_ms is not None
    assert exchange.first_text_ms is None


async def test_no_status_within_the_limit() -> None:
    async def script(call: Call) -> None:
        await asyncio.sleep(5)

    async with serve(script) as upstream:
        exchange = await chat(upstream.url, limit_s=0.15)
    assert (exchange.status, exchange.status_ms, exchange.failure) == (None, None, TransportFailure.NO_STATUS)
    assert ended_at(exchange, 150)


async def test_a_refused_connection_sent_nothing() -> None:
    async with serve(answer) as upstream:
        url = upstream.url
    exchange = await chat(url)
    assert (exchange.status, exchange.failure) == (None, TransportFailure.CONNECT_FAILED)


async def test_a_connection_that_takes_too_long_sent_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def handler(request: httpx.Request) -> httpx.Response:
        await request.extensions["trace"]("connection.connect_tcp.started", {})
        await asyncio.sleep(5)
        raise AssertionError

    monkeypatch.setattr(openrouter_run, "CONNECT_LIMIT_S", 0.1)
    gateway = OpenRouter(base_url="http://gateway.test", api_key=KEY, transport=httpx.MockTransport(handler))
    assert (await gateway.chat(BODY, limit_s=5)).failure is TransportFailure.CONNECT_FAILED


async def test_a_connection_closed_without_a_status() -> None:
    async def script(call: Call) -> None:
        call.writer.close()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert (exchange.status, exchange.failure) == (None, TransportFailure.NO_STATUS)
    assert len(upstream.calls) == 1, "nothing is sent twice"


async def test_an_answer_under_a_number_that_is_no_status_has_none() -> None:
    async def script(call: Call) -> None:
        await call.start(status=777)
        await call.chunk(ANSWER)
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert (exchange.status, exchange.error, exchange.failure) == (None, None, TransportFailure.NO_STATUS)


@pytest.mark.parametrize("stream", [True, False], ids=["stream", "body"])
async def test_a_transfer_that_breaks_off_was_cut_and_keeps_what_had_come(stream: bool) -> None:
    async def script(call: Call) -> None:
        await call.start(kind="text/event-stream" if stream else "application/json")
        await call.chunk(said("Hel") if stream else '{"choices"')
        call.writer.close()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url, {**BODY, "stream": stream})
    assert (exchange.status, exchange.failure) == (200, TransportFailure.CUT)
    assert exchange.text == ("Hel" if stream else "")
    assert len(upstream.calls) == 1


async def test_an_error_status_whose_body_breaks_off_is_still_that_error() -> None:
    async def script(call: Call) -> None:
        await call.start(status=429, kind="application/json", extra="Retry-After: 9\r\n")
        await call.chunk('{"error"')
        call.writer.close()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.retry_after, exchange.failure) == (
        429,
        "9",
        TransportFailure.CUT,
    )


async def test_a_body_beyond_the_limit_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openrouter_run, "MAX_STREAM_BYTES", 100_000)
    flood = said("a" * 10_000)

    async def script(call: Call) -> None:
        await call.start()
        while True:
            await call.chunk(flood)

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert exchange.failure is TransportFailure.CUT
    assert 0 < len(exchange.text) <= 100_000


@pytest.mark.parametrize("encoding", ["gzip", "gzip, gzip", "br"])
async def test_a_compressed_bomb_does_not_go_off(encoding: str) -> None:
    bomb = gzip.compress(b"\0" * (64 * 1024 * 1024), 9)

    async def script(call: Call) -> None:
        await call.start(kind="application/json", extra=f"Content-Encoding: {encoding}\r\n")
        await call.chunk(bomb)
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url, {**BODY, "stream": False})
    assert (exchange.status, exchange.failure, exchange.text) == (200, TransportFailure.CUT, "")


async def test_a_compressed_stream_that_nobody_asked_for_is_read_all_the_same() -> None:
    async def script(call: Call) -> None:
        packed = gzip.compress(ANSWER.encode())
        await call.start(extra="Content-Encoding: gzip\r\n")
        for place in range(0, len(packed), 7):
            await call.chunk(packed[place : place + 7])
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert (exchange.text, exchange.failure) == ("Hello", None)


@pytest.mark.parametrize("started", [True, False], ids=["while it streams", "before its status"])
async def test_a_cancelled_caller_closes_the_upstream(started: bool) -> None:
    arrived = asyncio.Event()

    async def script(call: Call) -> None:
        if started:
            await call.start()
            await call.chunk(said("Hel"))
        arrived.set()
        await asyncio.sleep(5)

    async with serve(script) as upstream:
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        task = asyncio.create_task(gateway.chat(BODY, limit_s=5))
        await asyncio.wait_for(arrived.wait(), 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(upstream.closed_by_client.wait(), 1)
        await gateway.aclose()


async def test_a_callers_own_deadline_holds() -> None:
    async with serve(trickle) as upstream:
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.15):
                await gateway.chat(BODY, limit_s=5)
        assert time.monotonic() - began < 2
        await asyncio.wait_for(upstream.closed_by_client.wait(), 1)
        await gateway.aclose()


async def test_after_an_error_event_nobody_waits_for_an_end_mark_that_does_not_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def script(call: Call) -> None:
        await call.start()
        await call.chunk(said("Hel") + 'data: {"error":{"code":502,"message":"gone"},"choices":[]}\n\n')
        await asyncio.sleep(5)

    monkeypatch.setattr(openrouter_run, "AFTER_ERROR_LIMIT_S", 0.1)
    async with serve(script) as upstream:
        exchange = await chat(upstream.url, limit_s=2)
    assert exchange.error is not None
    assert (exchange.error.message, exchange.failure, exchange.text) == ("gone", None, "Hel")
    assert ended_at(exchange, 100)


async def test_an_error_event_does_not_put_the_limit_off() -> None:
    async def script(call: Call) -> None:
        await call.start()
        await call.chunk('data: {"error":{"code":502,"message":"gone"}}\n\n')
        await asyncio.sleep(5)

    async with serve(script) as upstream:
        exchange = await chat(upstream.url, limit_s=0.2)
    assert exchange.error is not None
    assert ended_at(exchange, 200)
