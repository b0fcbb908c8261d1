"""One chat request under way: its clock, its limits and what has come of it (rules C4, R5, R6).

The clock starts when the request is fully written on an established connection, as httpcore's trace events
tell; a transport without them starts it when the request is handed over. The limits are the event loop's own
monotonic timers: bytes that are no answer extend nothing.
"""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import httpx

from routing.gateways import bounded_body
from routing.gateways.base import Exchange, TransportFailure
from routing.gateways.hostile_json import as_ms
from routing.gateways.openrouter_errors import is_error_status, is_http_status, read_error
from routing.gateways.openrouter_wire import (
    MAX_BODY_BYTES,
    MAX_STREAM_BYTES,
    StreamReader,
    exchange_from_body,
)
from routing.gateways.sse import LineSplitter

CONNECT_LIMIT_S = 10.0
SEND_LIMIT_S = 10.0
DRAIN_LIMIT_S = 0.1
"""How long the transfer's end is awaited after a stream's end mark, so that the connection can be reused."""
AFTER_ERROR_LIMIT_S = 1.0
"""How long usage, router metadata and the end mark are awaited after an error event; some upstreams send none."""

_NEVER_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)


class ChatRun:
    """Sends one request once and turns whatever happens into an `Exchange`."""

    def __init__(
        self, *, clock: Callable[[], float], limit_s: float, first_text_limit_s: float | None
    ) -> None:
        self._clock = clock
        self._limit_s = limit_s
        self._first_limit_s = limit_s if first_text_limit_s is None else min(limit_s, first_text_limit_s)
        self._scope = asyncio.timeout(self._first_limit_s)
        self._origin = clock()
        self._connect_began: float | None = None
        self._connect_ms: float | None = None
        self._is_connecting = False
        self._status_ms: float | None = None
        self._ended_ms: float | None = None
        self._response: httpx.Response | None = None
        self._reader: StreamReader | None = None
        self._has_text = False
        self._has_error = False
        self._body = bytearray()

    async def send(self, client: httpx.AsyncClient, request: httpx.Request, *, is_streamed: bool) -> Exchange:
        """The exchange that comes of `request`. Only a cancelled caller and a caller's mistake raise."""
        request.extensions = {**request.extensions, "trace": self._trace}
        try:
            async with self._scope:
                await self._receive(client, request, is_streamed=is_streamed)
            failure = None
        except TimeoutError:
            failure = self._failure_of_timeout()
        except (httpx.HTTPError, bounded_body.BodyRefused) as error:
            failure = self._failure_of(error)
        connect_ms, status_ms = as_ms(self._connect_ms), as_ms(self._status_ms)
        return replace(self._exchange(failure), connect_ms=connect_ms, status_ms=status_ms)

    async def _receive(self, client: httpx.AsyncClient, request: httpx.Request, *, is_streamed: bool) -> None:
        self._response = response = await client.send(request, stream=True)
        try:
            self._status_ms = self._now_ms()
            if _comes_as_events(response, is_streamed=is_streamed):
                self._reader = StreamReader(status=response.status_code, headers=dict(response.headers))
                await self._read_events(response, self._reader)
            else:
                async for chunk in bounded_body.chunks(response, MAX_BODY_BYTES):
                    self._body += chunk
            self._ended_ms = self._ended_ms or self._now_ms()
        finally:
            await response.aclose()

    async def _read_events(self, response: httpx.Response, reader: StreamReader) -> None:
        splitter = LineSplitter()
        async for chunk in bounded_body.chunks(response, MAX_STREAM_BYTES):
            self._feed(reader, splitter.feed(chunk))
        self._feed(reader, splitter.flush())

    def _feed(self, reader: StreamReader, lines: list[str]) -> None:
        at_ms = self._now_ms()
        for line in lines:
            reader.feed(line, at_ms)
        if reader.has_done and self._ended_ms is None:
            self._ended_ms = at_ms
            self._end_within(DRAIN_LIMIT_S)
        elif reader.error is not None and not self._has_error:
            self._has_error = True
            self._end_within(AFTER_ERROR_LIMIT_S)
        elif reader.answer.first_text_ms is not None and not (self._has_text or self._has_error):
            self._has_text = True
            self._limit_in(self._limit_s - at_ms / 1000)

    async def _trace(self, event: str, _info: Mapping[str, Any]) -> None:
        """Follow the request's way to the wire (names: httpcore's trace extension)."""
        match event.partition(".")[2]:
            case "connect_tcp.started" | "connect_unix_socket.started":
                self._connect_began, self._is_connecting = self._clock(), True
                self._limit_in(CONNECT_LIMIT_S)
            case "connect_tcp.complete" | "connect_unix_socket.complete" | "start_tls.complete":
                self._connect_ms = (self._clock() - (self._connect_began or self._origin)) * 1000
            case "send_request_headers.started":
                self._is_connecting = False
                self._limit_in(SEND_LIMIT_S)
            case "send_request_body.complete":
                self._origin = self._clock()
                self._limit_in(self._first_limit_s)

    def _limit_in(self, seconds: float) -> None:
        if not self._scope.expired():
            self._scope.reschedule(asyncio.get_running_loop().time() + seconds)

    def _end_within(self, seconds: float) -> None:
        """Bring the limit forward; never put it off."""
        left_s = (self._scope.when() or 0.0) - asyncio.get_running_loop().time()
        self._limit_in(min(seconds, left_s))

    def _now_ms(self) -> float:
        return (self._clock() - self._origin) * 1000

    def _failure_of_timeout(self) -> TransportFailure | None:
        if self._is_done():
            return None
        if self._response is not None:
            return TransportFailure.TIMED_OUT
        return TransportFailure.CONNECT_FAILED if self._is_connecting else TransportFailure.NO_STATUS

    def _failure_of(self, error: Exception) -> TransportFailure | None:
        if self._is_done():
            return None
        if self._response is not None:
            return TransportFailure.CUT
        return (
            TransportFailure.CONNECT_FAILED if isinstance(error, _NEVER_SENT) else TransportFailure.NO_STATUS
        )

    def _is_done(self) -> bool:
        """Whether the stream has said its last: then no break of the transfer is a failure."""
        return self._reader is not None and (self._reader.has_done or self._reader.error is not None)

    def _exchange(self, failure: TransportFailure | None) -> Exchange:
        ended_ms = as_ms(self._now_ms() if self._ended_ms is None else self._ended_ms)
        if self._response is None:
            return Exchange(failure=failure, ended_ms=ended_ms)
        if self._reader is not None:
            return self._reader.finish(failure, ended_ms)
        status, headers = self._response.status_code, dict(self._response.headers)
        if not is_http_status(status):
            return Exchange(failure=TransportFailure.NO_STATUS, ended_ms=ended_ms)
        if failure is None:
            return exchange_from_body(status, headers, bytes(self._body), ended_ms=ended_ms)
        error = read_error(status, headers, bytes(self._body)) if is_error_status(status) else None
        return Exchange(status=status, failure=failure, error=error, ended_ms=ended_ms)


def _comes_as_events(response: httpx.Response, *, is_streamed: bool) -> bool:
    """Whether a success is read as a stream: as its type says, or as was asked when the type says nothing."""
    kind = response.headers.get("content-type", "")
    if is_error_status(response.status_code):
        return False
    return "event-stream" in kind or (is_streamed and "json" not in kind and "html" not in kind)
