"""Playing a turn to the caller: streamed or not, on time, to the end it is scripted to have."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from sandbox.envelope import Envelope, Metadata, chunk_prefix, completion_body
from sandbox.exchange import Exchange, encode, send_bytes, send_json
from sandbox.failures import Failure, Headers
from sandbox.streaming import COMMENT, DONE, closing, error_event, events
from sandbox.turn import Ending, ErrorPlacement, Opening, RawBody, Turn

# The keep-alive padding that leads bodies which are not streamed, as recorded.
PADDING = b"\n         \n"
_BLOCK = 65_536
_BLOCK_S = 0.0005  # about 130 MB/s, and other requests get their turn between blocks
_COMMON = (
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", "X-Generation-Id,X-Provider-Name,cf-ray"),
    ("X-Content-Type-Options", "nosniff"),
)


async def send_failure(
    exchange: Exchange, failure: Failure, *, metadata: Metadata | None = None, extra: Headers = ()
) -> None:
    """Send an error answer: its page, or its JSON with the metadata beside it."""
    headers = (*_COMMON, *failure.headers, *extra)
    if failure.page is not None:
        page_headers = (("Content-Type", "text/html; charset=UTF-8"), *headers)
        await send_bytes(exchange, failure.status, failure.page.encode(), page_headers)
        return
    body = failure.body()
    if metadata is not None:
        body["openrouter_metadata"] = metadata
    await send_json(exchange, failure.status, body, headers)


class Delivery:
    """One answer on its way. `started_s` is the clock's reading when the request was complete."""

    def __init__(
        self, exchange: Exchange, envelope: Envelope, *, started_s: float, keep_alive_s: float
    ) -> None:
        self._exchange = exchange
        self._envelope = envelope
        self._started_s = started_s
        self._keep_alive_s = keep_alive_s

    async def play(self, turn: Turn, *, stream: bool) -> None:
        """Send the turn. Raises ClientGone when the caller leaves or the script hangs up."""
        match turn.opening:
            case Opening.SILENCE:
                await self._exchange.until_gone()
            case Opening.RESET | Opening.CLOSED:
                await self._exchange.hang_up(reset=turn.opening is Opening.RESET)
            case Opening.FAILURE if turn.failure is not None and not turn.in_200:
                await self._exchange.wait_until(self._started_s + turn.ttft_s)
                await self.fail(turn.failure)
            case _ if turn.raw is not None:
                await self._raw(turn, turn.raw)
            case _ if stream:
                await self._stream(turn)
            case _:
                await self._whole(turn)

    async def fail(self, failure: Failure) -> None:
        """Send an error with its status, and the router's metadata beside it where there is any."""
        metadata = self._envelope.metadata if failure.with_metadata and failure.status != 500 else None
        await send_failure(
            self._exchange, failure, metadata=metadata, extra=(("X-Generation-Id", self._envelope.id),)
        )

    async def _start(self, content_type: str, *extra: tuple[str, str]) -> None:
        headers = (("Content-Type", content_type), ("X-Generation-Id", self._envelope.id), *_COMMON, *extra)
        await self._exchange.start(200, headers)

    async def _wait(self, due_s: float, idle: bytes) -> None:
        await self._exchange.wait_until(self._started_s + due_s, idle=idle, every_s=self._keep_alive_s)

    async def _raw(self, turn: Turn, raw: RawBody) -> None:
        await self._exchange.wait_until(self._started_s + turn.ttft_s)
        encoding = (("Content-Encoding", raw.content_encoding),) if raw.content_encoding else ()
        await self._start(raw.content_type, *encoding)
        for start in range(0, len(raw.data), _BLOCK):
            self._exchange.write(raw.data[start : start + _BLOCK])
            await self._exchange.flush()
        await self._exchange.finish()

    async def _stream(self, turn: Turn) -> None:
        await self._start("text/event-stream", ("Cache-Control", "no-cache"))
        self._exchange.write(COMMENT)
        if turn.failure is not None:
            await self._wait(turn.ttft_s, COMMENT)
            self._exchange.write(self._first_error(turn, turn.failure))
            await self._exchange.finish()
            return
        for due_s, data in events(self._envelope, turn):
            await self._wait(due_s, COMMENT)
            self._exchange.write(data)
        await self._filler(turn, chunk_prefix(self._envelope) + _FILLER_OPENING, _FILLER_CLOSING)
        await self._end(turn, COMMENT)
        if turn.ending is not Ending.NO_FINISH:
            self._exchange.write(DONE if turn.null_choices else closing(self._envelope, turn))
        await self._exchange.finish()

    def _first_error(self, turn: Turn, failure: Failure) -> bytes:
        """An error as the stream's first event."""
        if turn.null_completion:
            nulls = {"id": None, "object": "chat.completion.chunk", "model": None, "choices": None}
            return b"data: " + encode({**nulls, "error": failure.error}) + b"\n\n" + DONE
        error: Any = failure.error
        failed = replace(turn, error_event=error, error_placement=ErrorPlacement.TOP)
        return error_event(self._envelope, failed, finish="error")

    async def _filler(self, turn: Turn, opening: bytes, closing_: bytes) -> None:
        """Text without meaning up to the turn's number of bytes, in blocks, so that memory stays small."""
        sent = 0
        while sent < turn.filler_bytes:
            size = int(min(_BLOCK, turn.filler_bytes - sent))
            self._exchange.write(opening + b"lorem ipsum " * (size // 12) + b"a" * (size % 12) + closing_)
            await self._exchange.wait_until(self._exchange.clock() + _BLOCK_S)
            sent += size

    async def _end(self, turn: Turn, idle: bytes) -> None:
        """Whatever ending leaves the response incomplete; each raises ClientGone in the end."""
        match turn.ending:
            case Ending.HANG_UP | Ending.RESET:
                await self._exchange.hang_up(reset=turn.ending is Ending.RESET)
            case Ending.STALL:
                await self._wait(math.inf, idle)
            case Ending.SILENCE:
                await self._exchange.until_gone()
            case _:
                return

    async def _whole(self, turn: Turn) -> None:
        await self._start("application/json")
        self._exchange.write(PADDING)
        if turn.failure is not None:
            await self._wait(turn.ttft_s, PADDING)
            self._exchange.write(encode(self._error_body(turn, turn.failure)))
            await self._exchange.finish()
            return
        await self._wait(turn.ttft_s + turn.duration_s * min(turn.break_at, 1.0), PADDING)
        if turn.ending in (Ending.STALL, Ending.SILENCE):
            await self._end(turn, PADDING)
        data = encode(self._body(turn))
        if turn.filler_bytes:
            await self._filled(turn, data)
        elif turn.ending in (Ending.HANG_UP, Ending.RESET, Ending.NO_FINISH):
            self._exchange.write(data[: int(len(data) * turn.break_at)])
            await self._end(turn, PADDING)
        else:
            self._exchange.write(data)
        await self._exchange.finish()

    async def _filled(self, turn: Turn, data: bytes) -> None:
        """The body with filler at the end of its content."""
        marker = encode(turn.text or "")[:-1]
        split = data.find(marker) + len(marker)
        self._exchange.write(data[:split])
        await self._filler(turn, b"", b"")
        self._exchange.write(data[split:])

    def _body(self, turn: Turn) -> dict[str, Any]:
        if turn.ending is not Ending.ERROR_EVENT:
            return completion_body(self._envelope, turn)
        partial = (turn.text or "")[: int(len(turn.text or "") * turn.break_at)]
        body = completion_body(self._envelope, replace(turn, text=partial, finish="error"))
        body["choices"][0]["error"] = turn.error_event
        return body

    def _error_body(self, turn: Turn, failure: Failure) -> dict[str, Any]:
        """An error inside a 200: alone, or beside a completion of nulls."""
        if turn.null_completion:
            keys = ("id", "object", "created", "model", "provider", "choices", "usage")
            return {**dict.fromkeys(keys), "error": failure.error}
        body = failure.body()
        if self._envelope.metadata is not None:
            body["openrouter_metadata"] = self._envelope.metadata
        return body


_FILLER_OPENING = b'"choices":[{"index":0,"delta":{"content":"'
_FILLER_CLOSING = b'","role":"assistant"},"finish_reason":null,"native_finish_reason":null}]}\n\n'
