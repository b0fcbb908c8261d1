"""Drives the sandbox's ASGI application directly: virtual time, every byte with its moment, callers who leave."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sandbox.app import SandboxApp, create_app
from sandbox.exchange import HANG_UP
from sandbox.loading import parse

MODEL = "aurora/prose-large"
WALL_S = 1_780_944_361.0
PROMPT = "Please describe in one paragraph how the evening begins at the harbour, and what the keeper says."
ROLE_PLAY = "Let us do a role-play. *opens the door* Please continue the scene with what you do and say."
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
        "mood": {"enum": ["calm", "wild"]},
    },
    "required": ["name", "count", "mood"],
    "additionalProperties": False,
}
STRUCTURED = {"type": "json_schema", "json_schema": {"name": "thing", "strict": True, "schema": SCHEMA}}
TOOL: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "weather",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city", "days"],
        },
    },
}


class VirtualTime:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def clock(self) -> float:
        return self.now_s

    def wall(self) -> float:
        return WALL_S + self.now_s - 1000.0

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        await asyncio.sleep(0)


@dataclass
class Reply:
    """What came back: each part of the body with the seconds since the request, and how it ended.

    `ending` is complete, closed or reset (by the gateway), or left (by the caller).
    """

    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict)
    parts: list[tuple[float, bytes]] = field(default_factory=list)
    ending: str = "complete"

    @property
    def body(self) -> bytes:
        return b"".join(data for _, data in self.parts)

    @property
    def text(self) -> str:
        return self.body.decode()

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[Any]:
        """The `data:` events of a stream, parsed; `[DONE]` and what is not JSON stay texts."""
        return [
            _parsed(line.removeprefix("data: "))
            for line in self.text.split("\n")
            if line.startswith("data: ")
        ]

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [event for event in self.events if isinstance(event, dict)]

    @property
    def streamed_text(self) -> str:
        deltas = [choice["delta"] for chunk in self.chunks for choice in chunk.get("choices") or []]
        return "".join(delta.get("content") or "" for delta in deltas)

    @property
    def content(self) -> Any:
        return self.json["choices"][0]["message"]["content"]

    @property
    def finishes(self) -> list[str]:
        found = [choice["finish_reason"] for chunk in self.chunks for choice in chunk.get("choices") or []]
        return [finish for finish in found if finish]

    def first_text_s(self) -> float | None:
        """When the first non-blank text of a stream came."""
        for at_s, data in self.parts:
            for line in data.decode().split("\n"):
                event = _parsed(line.removeprefix("data: ")) if line.startswith("data: ") else None
                if isinstance(event, dict) and (event["choices"][0]["delta"].get("content") or "").strip():
                    return at_s
        return None


def _parsed(data: str) -> Any:
    try:
        return json.loads(data)
    except ValueError:
        return data


class Gateway:
    """A sandbox under virtual time, with shortcuts for the requests the tests send."""

    def __init__(self, scenario: Mapping[str, Any], *, seed: int = 1) -> None:
        self.time = VirtualTime()
        self.app: SandboxApp = create_app(
            parse(scenario), seed=seed, clock=self.time.clock, sleep=self.time.sleep, wall=self.time.wall
        )

    @property
    def state(self) -> Any:
        return self.app.state

    def get(self, path: str, *, key: str | None = "sk-or-v1-test") -> Reply:
        return self.send("GET", path, b"", _headers(key, {}))

    def chat(
        self,
        prompt: str = PROMPT,
        *,
        headers: Mapping[str, str] | None = None,
        key: str | None = "sk-or-v1-test",
        leave_after_s: float | None = None,
        **body: Any,
    ) -> Reply:
        """A completion; `body` adds to or overrides model and messages."""
        whole = {"model": MODEL, "messages": [{"role": "user", "content": prompt}], **body}
        data = json.dumps(whole).encode()
        path = "/api/v1/chat/completions"
        return self.send("POST", path, data, _headers(key, headers or {}), leave_after_s=leave_after_s)

    def pinned(self, tag: str, prompt: str = PROMPT, **body: Any) -> Reply:
        """A completion that only this endpoint may answer."""
        return self.chat(prompt, provider={"only": [tag], "allow_fallbacks": False}, **body)

    def post(self, path: str, body: Any) -> Reply:
        return self.send("POST", path, json.dumps(body).encode(), [])

    def send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: Iterable[tuple[bytes, bytes]],
        *,
        leave_after_s: float | None = None,
    ) -> Reply:
        """One exchange. A caller with `leave_after_s` leaves then, or as soon as nothing moves any more."""
        return asyncio.run(self._send(method, path, body, list(headers), leave_after_s))

    async def _send(
        self,
        method: str,
        path: str,
        body: bytes,
        headers: list[tuple[bytes, bytes]],
        leave_after_s: float | None,
    ) -> Reply:
        reply, gone, bodies = Reply(), asyncio.Event(), [body]
        began_s = self.time.now_s

        async def receive() -> dict[str, Any]:
            if bodies:
                return {"type": "http.request", "body": bodies.pop(), "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            at_s = self.time.now_s - began_s
            if message["type"] == "http.response.start":
                reply.status = message["status"]
                reply.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
            else:
                reply.parts.append((at_s, message["body"]))
                reply.ending = "left" if message["more_body"] else "complete"

        def hang_up(reset: bool) -> None:
            reply.ending = "reset" if reset else "closed"
            gone.set()

        path, _, query = path.partition("?")
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "query_string": query.encode(),
            "headers": headers,
            "extensions": {HANG_UP: hang_up},
        }
        serving = asyncio.ensure_future(self.app(scope, receive, send))
        await self._until_over(serving, gone, reply, began_s, leave_after_s)
        await serving
        return reply

    async def _until_over(
        self,
        serving: asyncio.Future[None],
        gone: asyncio.Event,
        reply: Reply,
        began_s: float,
        leave_after_s: float | None,
    ) -> None:
        """Let the application run; leave when the time has come or when neither clock nor body moves."""
        quiet, last = 0, (self.time.now_s, 0)
        while not serving.done():
            await asyncio.sleep(0)
            now = (self.time.now_s, len(reply.parts))
            quiet = quiet + 1 if now == last else 0
            last = now
            is_over = leave_after_s is not None and self.time.now_s - began_s >= leave_after_s
            if not gone.is_set() and (is_over or quiet > 50):
                reply.ending = "left"
                gone.set()


def _headers(key: str | None, more: Mapping[str, str]) -> list[tuple[bytes, bytes]]:
    named = {"content-type": "application/json", **more}
    if key is not None:
        named["authorization"] = f"Bearer {key}"
    return [(name.lower().encode(), value.encode()) for name, value in named.items()]


def scenario(*endpoints: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A scenario with one model; endpoints are given as in the file, with quick defaults."""
    model = {
        "id": MODEL,
        "permaslug": f"{MODEL}-20260401",
        "endpoints": [dict(endpoint) for endpoint in endpoints],
    }
    model |= more.pop("model", {})
    quick = {"ttft_ms": 100, "tokens_per_second": 400}
    return {"models": [model], "endpoint_defaults": quick, **more}


def with_fault(kind: str, **params: Any) -> dict[str, Any]:
    """A scenario whose endpoint `acme/fp8` has one fault; `globex/fp8` beside it is healthy."""
    return scenario(
        {"tag": "acme/fp8", "provider": "Acme", "faults": [{"kind": kind, **params}]},
        {"tag": "globex/fp8", "provider": "Globex"},
    )
