"""The live client: its clock, its pool, what it sends and what it keeps to itself."""

import asyncio
import json
import logging
import time
from typing import Any

import httpx
import pytest

from routing.gateways.base import KeyRefused
from routing.gateways.openrouter import OpenRouter

from .scripted import ANSWER, BODY, KEEP_ALIVE, KEY, Call, answer, chat, said, serve

pytestmark = pytest.mark.anyio

TOLERANCE_MS = 50.0


def hold_the_loop_up() -> None:
    time.sleep(0.3)


async def test_an_answer_comes_with_its_times_in_order() -> None:
    async def script(call: Call) -> None:
        await asyncio.sleep(0.05)
        await call.start(extra="X-Generation-Id: gen-head\r\n")
        await asyncio.sleep(0.05)
        await call.chunk(KEEP_ALIVE + said(""))
        await asyncio.sleep(0.05)
        await call.chunk(ANSWER)
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert (exchange.text, exchange.finish_reason, exchange.has_done, exchange.failure) == (
        "Hello",
        "stop",
        True,
        None,
    )
    assert (exchange.status, exchange.generation_id, exchange.served_by) == (200, "gen-head", "Google")
    assert exchange.connect_ms is not None
    assert exchange.status_ms is not None
    assert exchange.first_text_ms is not None
    assert exchange.ended_ms is not None
    tolerance_ms = TOLERANCE_MS + exchange.loop_lag_ms
    assert 45 <= exchange.status_ms <= 50 + tolerance_ms
    assert 145 <= exchange.first_text_ms <= 150 + tolerance_ms
    assert exchange.status_ms < exchange.first_text_ms <= exchange.ended_ms


async def test_the_clock_starts_when_the_request_is_written_not_when_connecting_begins() -> None:
    now = iter(range(1000))

    async def handler(request: httpx.Request) -> httpx.Response:
        trace = request.extensions["trace"]
        for event in (
            "connect_tcp.started",
            "connect_tcp.complete",
            "start_tls.started",
            "start_tls.complete",
        ):
            await trace(f"connection.{event}", {})
        for event in ("send_request_headers.started", "send_request_body.complete"):
            await trace(f"http11.{event}", {})
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=ANSWER)

    gateway = OpenRouter(
        base_url="http://gateway.test",
        api_key=KEY,
        transport=httpx.MockTransport(handler),
        clock=lambda: float(next(now)),
    )
    exchange = await gateway.chat(BODY, limit_s=5)
    # The clock ticks once at each reading: start, connecting, connected, encrypted, written, status, text.
    assert (exchange.connect_ms, exchange.status_ms, exchange.first_text_ms) == (2000.0, 1000.0, 2000.0)


async def test_without_trace_events_the_clock_starts_when_the_request_is_handed_over() -> None:
    transport = httpx.MockTransport(
        lambda _: httpx.Response(200, headers={"content-type": "text/event-stream"}, content=ANSWER)
    )
    now = iter(range(1000))
    gateway = OpenRouter(
        base_url="http://gateway.test", api_key=KEY, transport=transport, clock=lambda: float(next(now))
    )
    exchange = await gateway.chat(BODY, limit_s=5)
    assert (exchange.connect_ms, exchange.status_ms, exchange.first_text_ms) == (None, 1000.0, 2000.0)


async def test_a_connection_is_used_again_and_then_needs_no_connecting() -> None:
    async with serve(answer) as upstream:
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        first, second, third = [await gateway.chat(BODY, limit_s=2) for _ in range(3)]
        assert upstream.connections == 1
        assert first.connect_ms is not None
        assert second.connect_ms is None
        assert third.connect_ms is None
        await gateway.aclose()


async def test_a_connection_is_used_again_after_an_error_answer_and_a_whole_one() -> None:
    bodies = iter(
        [
            '{"error":{"code":503,"message":"m"}}',
            '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}',
        ]
    )

    async def script(call: Call) -> None:
        body = next(bodies)
        await call.start(status=503 if "error" in body else 200, kind="application/json")
        await call.chunk("\n\n   " + body)
        await call.end()

    async with serve(script) as upstream:
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        failed, whole = [await gateway.chat({**BODY, "stream": False}, limit_s=2) for _ in range(2)]
        await gateway.aclose()
    assert failed.error is not None
    assert failed.error.status == 503
    assert (whole.text, whole.has_done, upstream.connections) == ("a", True, 1)


@pytest.mark.parametrize("status", [400, 429, 500, 503])
async def test_an_error_answer_is_sent_once_and_read(status: int) -> None:
    async def script(call: Call) -> None:
        await call.start(status=status, kind="application/json")
        await call.chunk(
            json.dumps({"error": {"code": status, "message": "m", "metadata": {"provider_name": "Google"}}})
        )
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert exchange.error is not None
    assert (exchange.error.status, exchange.error.provider_name, exchange.failure) == (status, "Google", None)
    assert len(upstream.calls) == 1


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/json", '\n\n  {"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'),
        ("text/plain", '{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}'),
    ],
)
async def test_a_whole_answer_in_place_of_a_stream_is_read(kind: str, body: str) -> None:
    async def script(call: Call) -> None:
        await call.start(kind=kind)
        await call.chunk(body)
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert (exchange.text, exchange.finish_reason, exchange.has_done) == ("a", "stop", True)


async def test_a_page_of_the_edge_is_an_error() -> None:
    async def script(call: Call) -> None:
        await call.start(kind="text/html")
        await call.chunk("<html><title>Just a moment...</title></html>")
        await call.end()

    async with serve(script) as upstream:
        exchange = await chat(upstream.url)
    assert exchange.error is not None
    assert exchange.error.message == "The answer is an HTML page, not JSON."


async def test_exchanges_side_by_side_do_not_mix() -> None:
    async def script(call: Call) -> None:
        await call.start()
        await asyncio.sleep(0.02)
        await call.chunk(said(json.loads(call.body)["messages"][0]["content"], "stop") + "data: [DONE]\n\n")
        await call.end()

    def body(number: int) -> dict[str, Any]:
        return {**BODY, "messages": [{"role": "user", "content": str(number)}]}

    async with serve(script) as upstream:
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        exchanges = await asyncio.gather(*(gateway.chat(body(number), limit_s=2) for number in range(30)))
        await gateway.aclose()
    assert [exchange.text for exchange in exchanges] == [str(number) for number in range(30)]


async def test_an_overloaded_machine_shows_in_the_exchange() -> None:
    async def script(call: Call) -> None:
        await call.start()
        hold_the_loop_up()
        await call.chunk(ANSWER)
        await call.end()

    async with serve(script) as upstream:
        assert (await chat(upstream.url)).loop_lag_ms > 200
    async with serve(answer) as upstream:
        assert (await chat(upstream.url)).loop_lag_ms < 200


async def test_what_is_sent_is_the_body_with_the_headers_of_a_probe() -> None:
    async with serve(answer) as upstream:
        await chat(upstream.url, headers={"X-Extra": "1"})
    (call,) = upstream.calls
    head = call.head.lower()
    assert head.startswith("post /api/v1/chat/completions http/1.1")
    assert json.loads(call.body) == BODY
    for line in (
        "x-openrouter-cache: false",
        "x-openrouter-metadata: enabled",
        "x-extra: 1",
        "accept-encoding: identity",
    ):
        assert line in head
    assert f"authorization: bearer {KEY}" in head


async def test_the_key_is_in_no_repr_exception_or_log_line(caplog: pytest.LogCaptureFixture) -> None:
    for logger in ("httpx", "httpcore"):
        caplog.set_level(logging.DEBUG, logger=logger)
    async with serve(answer) as upstream:
        exchange = await chat(upstream.url)
        gateway = OpenRouter(base_url=upstream.url, api_key=KEY)
        assert KEY not in repr(gateway)
        await gateway.aclose()
    assert KEY not in repr(exchange)
    assert caplog.records
    assert KEY not in caplog.text


@pytest.mark.parametrize("key", ["", "  ", "a\nb", "a b", "schlüssel"])
async def test_a_missing_or_broken_key_is_refused_by_its_variables_name(key: str) -> None:
    gateway = OpenRouter(
        base_url="http://gateway.test",
        api_key=key,
        transport=httpx.MockTransport(lambda _: httpx.Response(200)),
    )
    with pytest.raises(KeyRefused, match="OPENROUTER_API_KEY") as refusal:
        await gateway.chat(BODY, limit_s=1)
    assert not key.strip() or key not in str(refusal.value)


@pytest.mark.parametrize("address", ["", "openrouter.ai/api/v1", "ftp://openrouter.ai", "http://"])
def test_an_address_that_is_none_is_refused_by_its_variables_name(address: str) -> None:
    with pytest.raises(ValueError, match="OPENROUTER_BASE_URL"):
        OpenRouter(base_url=address, api_key=KEY)
