"""The ASGI application: routes, keys, discovery and inference of the gateway's API under /api/v1."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, unquote

from sandbox import catalogue, control
from sandbox.completions import complete
from sandbox.delivery import send_failure
from sandbox.discovery import serve_endpoints, serve_models
from sandbox.exchange import BodyTooLarge, ClientGone, Exchange, Message, Receive, Send, send_json
from sandbox.failures import GatewayRefusal, edge_refusal, refusal
from sandbox.keys import checked_key, is_authenticated, key_body
from sandbox.scenario import Scenario
from sandbox.state import SandboxState, Timing

API = "/api/v1"
Application = Callable[[Message, Receive, Send], Awaitable[None]]


class SandboxApp:
    """The gateway as an ASGI application; `state` is open to tests and to whoever embeds it."""

    def __init__(self, state: SandboxState) -> None:
        self.state = state

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        """Serve one HTTP request, or the server's lifespan messages."""
        if scope["type"] == "lifespan":
            await _lifespan(receive, send)
            return
        if scope["type"] != "http":
            raise RuntimeError("The sandbox speaks HTTP only.")
        timing = self.state.timing
        exchange = Exchange(scope, receive, send, clock=timing.clock, sleep=timing.sleep)
        try:
            await self._serve(exchange)
        except ClientGone:
            pass
        finally:
            exchange.close()

    async def _serve(self, exchange: Exchange) -> None:
        path = exchange.path.rstrip("/")
        self.state.paths[f"{exchange.method} {_path_name(path)}"] += 1
        try:
            if path.startswith("/sandbox/"):
                await control.serve(self.state, exchange, path)
            else:
                await self._serve_api(exchange, path)
        except GatewayRefusal as refused:
            self.state.refusals[refused.failure.status] += 1
            await send_failure(exchange, refused.failure)
        except BodyTooLarge:
            await send_failure(exchange, edge_refusal(413, "Request body too large").failure)

    async def _serve_api(self, exchange: Exchange, path: str) -> None:
        state = self.state
        match exchange.method, path.removeprefix(API) if path.startswith(API) else "":
            case "POST", "/chat/completions":
                await complete(state, exchange)
            case "GET", "/models":
                await serve_models(state, exchange)
            case "GET", "/providers":
                await send_json(exchange, 200, catalogue.providers_body(state.models.values()))
            case "GET", "/key" | "/auth/key":
                key, token = checked_key(state, exchange)
                await send_json(exchange, 200, key_body(state, key, token))
            case "GET", "/generation":
                await self._generation(exchange)
            case "GET", rest if rest.startswith("/models/") and rest.endswith("/endpoints"):
                name = unquote(rest.removeprefix("/models/").removesuffix("/endpoints"))
                await serve_endpoints(state, exchange, name, with_speed=is_authenticated(exchange))
            case _:
                raise refusal(404, f"No route for {exchange.method} {exchange.path}.")

    async def _generation(self, exchange: Exchange) -> None:
        checked_key(self.state, exchange)
        wanted = parse_qs(exchange.query).get("id", [""])[0]
        generation = self.state.generations.get(wanted)
        if generation is None:
            raise refusal(404, f"Generation {wanted} not found")
        await send_json(exchange, 200, {"data": generation})


def _path_name(path: str) -> str:
    """The path with a model's id left out, so that the counters stay few."""
    if path.startswith(f"{API}/models/") and path.endswith("/endpoints"):
        return f"{API}/models/*/endpoints"
    return path if path.startswith((API, "/sandbox/")) and path.count("/") <= 4 else "other"


async def _lifespan(receive: Receive, send: Send) -> None:
    while True:
        message = await receive()
        await send({"type": f"{message['type']}.complete"})
        if message["type"] == "lifespan.shutdown":
            return


def create_app(
    scenario: Scenario,
    *,
    seed: int | None = None,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep,
    wall: Callable[[], float] = time.time,
) -> SandboxApp:
    """The application for a scenario; its time zero is now.

    `seed` overrides the scenario's. `clock` is monotonic seconds, `wall` Unix seconds; all three are injectable so
    that tests need not wait.
    """
    if seed is not None:
        scenario = replace(scenario, gateway=replace(scenario.gateway, seed=seed))
    timing = Timing(clock=clock, sleep=sleep, wall=wall)
    return SandboxApp(SandboxState(scenario, timing, seed=scenario.gateway.seed))
