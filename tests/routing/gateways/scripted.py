"""A small HTTP server that answers as a test scripts it, and a healthy answer to begin with."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from routing.gateways.base import Exchange
from routing.gateways.openrouter import OpenRouter

KEY = "sk-or-v1-0123456789abcdef0123456789abcdef"
KEEP_ALIVE = ": OPENROUTER PROCESSING\n\n"
BODY = {"model": "a/b", "messages": [{"role": "user", "content": "x"}], "stream": True}


@dataclass
class Call:
    """One request that reached the scripted server, and the way to answer it."""

    head: str
    body: bytes
    writer: asyncio.StreamWriter

    async def send(self, data: bytes | str) -> None:
        """Write bytes as they are."""
        self.writer.write(data.encode() if isinstance(data, str) else data)
        await self.writer.drain()

    async def start(self, *, status: int = 200, kind: str = "text/event-stream", extra: str = "") -> None:
        """Send the head of a chunked answer."""
        await self.send(
            f"HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nTransfer-Encoding: chunked\r\n{extra}\r\n"
        )

    async def chunk(self, data: bytes | str) -> None:
        """Send one chunk of a chunked answer."""
        raw = data.encode() if isinstance(data, str) else data
        await self.send(f"{len(raw):x}\r\n".encode() + raw + b"\r\n")

    async def end(self) -> None:
        """End a chunked answer."""
        await self.send("0\r\n\r\n")


@dataclass
class Upstream:
    """A running scripted server: its address and what it has seen."""

    url: str
    connections: int = 0
    calls: list[Call] = field(default_factory=list)
    closed_by_client: asyncio.Event = field(default_factory=asyncio.Event)


Script = Callable[[Call], Awaitable[None]]


@asynccontextmanager
async def serve(script: Script) -> AsyncIterator[Upstream]:
    """Run a server on a free local port that answers every request by `script`."""
    upstream = Upstream(url="")
    tasks: set[asyncio.Task[None]] = set()

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        upstream.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            early = b""
            while not reader.at_eof():
                early = await _answer(reader, writer, script, upstream, early)
        except (asyncio.IncompleteReadError, ConnectionError):
            upstream.closed_by_client.set()
        except asyncio.CancelledError:
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    upstream.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/api/v1"
    try:
        yield upstream
    finally:
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answer(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    script: Script,
    upstream: Upstream,
    early: bytes,
) -> bytes:
    """Read and answer one request; returns the byte of the next one that may have come meanwhile.

    Raises ConnectionError when the client goes away before the script is through.
    """
    head = (early + await reader.readuntil(b"\r\n\r\n")).decode()
    lines = head.lower().split("\r\n")
    length = next((int(line.split(":")[1]) for line in lines if line.startswith("content-length:")), 0)
    call = Call(head=head, body=await reader.readexactly(length), writer=writer)
    upstream.calls.append(call)
    answering = asyncio.ensure_future(script(call))
    next_byte = asyncio.ensure_future(reader.read(1))
    try:
        await asyncio.wait({answering, next_byte}, return_when=asyncio.FIRST_COMPLETED)
        if not answering.done():
            raise ConnectionError
        answering.result()
        return await next_byte
    finally:
        for task in (answering, next_byte):
            task.cancel()
        await asyncio.gather(answering, next_byte, return_exceptions=True)


def said(text: str, finish: str | None = None) -> str:
    """One event with answer text."""
    choice = {"index": 0, "delta": {"content": text}, "finish_reason": finish}
    return "data: " + json.dumps({"id": "gen-1", "provider": "Google", "choices": [choice]}) + "\n\n"


ANSWER = said("Hello") + said("", "stop") + "data: [DONE]\n\n"


async def answer(call: Call) -> None:
    """The script of a healthy upstream."""
    await call.start()
    await call.chunk(ANSWER)
    await call.end()


async def chat(url: str, body: dict[str, Any] | None = None, **options: Any) -> Exchange:
    """One chat request to a server, with a client of its own."""
    gateway = OpenRouter(base_url=url, api_key=KEY)
    try:
        return await gateway.chat(body or BODY, **{"limit_s": 2.0, **options})
    finally:
        await gateway.aclose()
