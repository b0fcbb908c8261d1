"""One HTTP exchange over ASGI: the body in, bytes out at given times, and the caller's leaving noticed."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Clock = Callable[[], float]
Sleep = Callable[[float], Awaitable[None]]

HANG_UP = "sandbox.hang_up"
_BODY_LIMIT = 32_000_000
_LONGEST_NAP_S = 1.0
# One encoder for all chunks: json.dumps would make a new one for each.
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class ClientGone(Exception):
    """The caller closed the connection before the answer was complete."""


class BodyTooLarge(Exception):
    """The request's body is beyond what any gateway takes."""


class Exchange:
    """The request and its response. All times are readings of `clock`, in seconds."""

    def __init__(self, scope: Message, receive: Receive, send: Send, *, clock: Clock, sleep: Sleep) -> None:
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.query: str = scope["query_string"].decode("latin-1")
        self.headers = {
            name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
        }
        self.clock = clock
        self._scope = scope
        self._receive = receive
        self._send = send
        self._sleep = sleep
        self._buffer: list[bytes] = []
        self._watch: asyncio.Task[None] | None = None
        self.is_started = False

    async def body(self) -> bytes:
        """The whole request body. Raises ClientGone or BodyTooLarge."""
        parts: list[bytes] = []
        size = 0
        while True:
            message = await self._receive()
            if message["type"] == "http.disconnect":
                raise ClientGone
            parts.append(message.get("body", b""))
            size += len(parts[-1])
            if size > _BODY_LIMIT:
                raise BodyTooLarge
            if not message.get("more_body", False):
                return b"".join(parts)

    async def start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """Send the status and the headers."""
        self.is_started = True
        pairs = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]
        await self._send({"type": "http.response.start", "status": status, "headers": pairs})

    def write(self, data: bytes) -> None:
        """Add to what goes out before the next wait."""
        self._buffer.append(data)

    async def flush(self) -> None:
        """Send what was written. Raises ClientGone when nobody is there any more."""
        if self._watch is not None and self._watch.done():
            raise ClientGone
        if self._buffer:
            data = b"".join(self._buffer)
            self._buffer.clear()
            await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def finish(self) -> None:
        """Send what was written and end the response."""
        data = b"".join(self._buffer)
        self._buffer.clear()
        await self._send({"type": "http.response.body", "body": data, "more_body": False})

    async def wait_until(self, due_s: float, *, idle: bytes = b"", every_s: float = _LONGEST_NAP_S) -> None:
        """Flush, then sleep until the clock shows `due_s`, sending `idle` every `every_s`. Raises ClientGone."""
        left = due_s - self.clock()
        if left <= 0:
            return
        await self.flush()
        watch = self._watched()
        while left > 0:
            await self._sleep(min(left, every_s, _LONGEST_NAP_S))
            if watch.done():
                raise ClientGone
            left = due_s - self.clock()
            if idle and left > 0:
                self.write(idle)
                await self.flush()

    async def until_gone(self) -> None:
        """Wait, sending nothing, until the caller leaves; always raises ClientGone."""
        if self._buffer:
            await self.flush()
        await self._watched()
        raise ClientGone

    async def hang_up(self, *, reset: bool) -> None:
        """Close the connection under the response, with a TCP reset if asked for; always raises ClientGone.

        A server without the hang-up extension (an in-process transport) sees the ConnectionResetError instead.
        """
        if self._buffer:
            await self.flush()
        hang_up = (self._scope.get("extensions") or {}).get(HANG_UP)
        if hang_up is None:
            raise ConnectionResetError("The sandbox closed the connection on purpose.")
        hang_up(reset)
        await self._watched()
        raise ClientGone

    def close(self) -> None:
        """Stop watching for the caller's leaving."""
        if self._watch is not None:
            self._watch.cancel()

    def _watched(self) -> asyncio.Task[None]:
        if self._watch is None:
            self._watch = asyncio.ensure_future(self._until_disconnect())
        return self._watch

    async def _until_disconnect(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def send_json(
    exchange: Exchange, status: int, body: Any, headers: Iterable[tuple[str, str]] = ()
) -> None:
    """A whole JSON response."""
    await send_bytes(exchange, status, encode(body), (("Content-Type", "application/json"), *headers))


async def send_bytes(
    exchange: Exchange, status: int, data: bytes, headers: Iterable[tuple[str, str]] = ()
) -> None:
    """A whole response of any type."""
    await exchange.start(status, (*headers, ("Content-Length", str(len(data)))))
    exchange.write(data)
    await exchange.finish()


def encode(value: Any) -> bytes:
    """Compact JSON in UTF-8; lone surrogates, which damaged text may hold, stay escaped."""
    try:
        return _ENCODER.encode(value).encode("utf-8")
    except UnicodeEncodeError:
        return json.dumps(value, separators=(",", ":")).encode("ascii")
