"""The OpenRouter gateway: one shared HTTP client and the one place where its faults get their names.

Nothing here retries (rule R5), and the key appears in no message, log line or repr.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import httpx

from routing.gateways import bounded_body
from routing.gateways.base import (
    Discovery,
    DiscoveryUnreadable,
    Exchange,
    Gateway,
    GatewayUnavailable,
    KeyRefused,
    KeyState,
    ModelFacts,
    ModelNotFound,
)
from routing.gateways.hostile_json import Unreadable, clean, load_object
from routing.gateways.loop_lag import LoopLag
from routing.gateways.openrouter_catalogue import (
    facts_of,
    read_discovery,
    read_key,
    read_models,
    read_providers,
)
from routing.gateways.openrouter_errors import is_error_status, read_error
from routing.gateways.openrouter_request import chat_headers, pinned_body
from routing.gateways.openrouter_run import ChatRun

MAX_CONNECTIONS = 256
MAX_KEPT_ALIVE = 20
"""Idle connections kept: with 200 kept, a wave of 200 calls costs ten times the CPU in httpx's pool."""
KEPT_ALIVE_S = 15.0
CATALOGUE_LIMIT_S = 20.0
MAX_CATALOGUE_BYTES = 16 * 1024 * 1024
"""The list of all models had 0.5 MB in August 2026."""
MODELS_FRESH_S = 300.0
"""The list of models is cached at the edge for as long (`Cache-Control: max-age=300`)."""

_MODEL = re.compile(r"[A-Za-z0-9~][\w.~-]*/[\w.~-]+(?::[\w.-]+)?", re.ASCII)
_OUR_STATUSES = (401, 402, 403)


@dataclass(frozen=True, kw_only=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    payload: bytes

    def is_readable(self) -> bool:
        try:
            load_object(self.payload)
        except Unreadable:
            return False
        return True


class OpenRouter(Gateway):
    """A client of OpenRouter or of anything that speaks its API; belongs to one event loop.

    `transport` replaces httpx's own; `clock` is a monotonic clock in seconds and only measures: limits are
    timers of the event loop.
    """

    def __init__(
        self,
        *,
        base_url: str,
        api_key: str,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        url = httpx.URL(base_url)
        if url.scheme not in {"http", "https"} or not url.host:
            raise ValueError("OPENROUTER_BASE_URL is not an http or https address.")
        self._base_url = base_url.rstrip("/")
        self._api_key = api_key.strip()
        self._clock = clock
        self._lag = LoopLag()
        self._models: tuple[float, Mapping[str, ModelFacts]] | None = None
        self._models_lock = asyncio.Lock()
        self._client = httpx.AsyncClient(
            transport=transport,
            timeout=None,  # noqa: S113 - the limits are timers of the event loop, see ChatRun and _get
            limits=httpx.Limits(
                max_connections=MAX_CONNECTIONS,
                max_keepalive_connections=MAX_KEPT_ALIVE,
                keepalive_expiry=KEPT_ALIVE_S,
            ),
            headers={"User-Agent": "routewarden"},
            # A proxy from the environment is for the outside; a gateway on this machine is reached directly.
            trust_env=url.host not in {"localhost", "127.0.0.1", "::1"},
        )

    def __repr__(self) -> str:
        return f"OpenRouter(base_url={self._base_url!r})"

    async def discover(self, model: str) -> Discovery:
        """Read which endpoints serve `model` now; see `Gateway.discover`."""
        if not _MODEL.fullmatch(model):
            raise ModelNotFound(f"{clean(model, 100)!r} is not a model name; one looks like author/model.")
        try:
            answer = await self._get(f"/models/{quote(model, safe='/:~')}/endpoints")
            if answer.status == 404 and answer.is_readable():
                raise ModelNotFound(f"The gateway knows no model {model}: {self._said(answer)}")
            self._refuse(answer)
        except DiscoveryUnreadable:
            raise
        except GatewayUnavailable as error:
            raise DiscoveryUnreadable(str(error)) from error
        return read_discovery(answer.payload, model=model)

    async def providers(self) -> Mapping[str, str]:
        """Provider display names by base slug; see `Gateway.providers`."""
        return read_providers(await self._payload("/providers"))

    async def model_facts(self, model: str) -> ModelFacts:
        """What the list of models says of `model`; the list is read at most every `MODELS_FRESH_S`."""
        async with self._models_lock:
            if self._models is None or self._clock() - self._models[0] >= MODELS_FRESH_S:
                self._models = (self._clock(), read_models(await self._payload("/models")))
        return facts_of(self._models[1], model)

    async def check_key(self) -> KeyState:
        """Check the key; one without credit left is refused too. See `Gateway.check_key`."""
        state = read_key(await self._payload("/key"))
        if state.limit_remaining_usd is not None and state.limit_remaining_usd <= 0:
            raise KeyRefused("The key in OPENROUTER_API_KEY has used up its limit.")
        return state

    def pinned_body(
        self,
        body: Mapping[str, Any],
        *,
        model: str,
        tag: str,
        siblings: Sequence[str],
        preferences: Mapping[str, Any],
    ) -> dict[str, Any]:
        """`body` as a request that reaches exactly the endpoint `tag`; see `Gateway.pinned_body`."""
        return pinned_body(body, model=model, tag=tag, siblings=siblings, preferences=preferences)

    async def chat(
        self,
        body: Mapping[str, Any],
        *,
        limit_s: float,
        first_text_limit_s: float | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Exchange:
        """Send one chat request, once; see `Gateway.chat`. Raises `KeyRefused` when no key is set.

        `headers` override the default ones (no cached answer, router metadata on). A caller that is cancelled
        closes the connection, which is all that tells the upstream to stop.
        """
        request = self._client.build_request(
            "POST",
            self._base_url + "/chat/completions",
            json=dict(body),
            headers=self._authorised(chat_headers(headers)),
        )
        with self._lag.watching() as watch:
            run = ChatRun(clock=self._clock, limit_s=limit_s, first_text_limit_s=first_text_limit_s)
            exchange = await run.send(self._client, request, is_streamed=bool(body.get("stream")))
        return replace(exchange, loop_lag_ms=round(watch.lag_ms, 3))

    async def aclose(self) -> None:
        """Close the pool."""
        await self._client.aclose()

    def _authorised(self, headers: httpx.Headers) -> httpx.Headers:
        if not self._api_key:
            raise KeyRefused("There is no key for the gateway: set OPENROUTER_API_KEY.")
        if not self._api_key.isascii() or not self._api_key.isprintable() or " " in self._api_key:
            raise KeyRefused("OPENROUTER_API_KEY holds characters that no key has.")
        headers["Authorization"] = f"Bearer {self._api_key}"
        return headers

    async def _payload(self, path: str) -> bytes:
        answer = await self._get(path)
        self._refuse(answer)
        return answer.payload

    async def _get(self, path: str) -> _Answer:
        request = self._client.build_request(
            "GET", self._base_url + path, headers=self._authorised(httpx.Headers({"Accept-Encoding": "gzip"}))
        )
        try:
            async with asyncio.timeout(CATALOGUE_LIMIT_S):
                return await self._fetch(request)
        except TimeoutError:
            raise GatewayUnavailable(f"The gateway did not answer within {CATALOGUE_LIMIT_S:g} s.") from None
        except (httpx.HTTPError, bounded_body.BodyRefused) as error:
            said = clean(str(error), 200) or type(error).__name__
            raise GatewayUnavailable(f"The gateway cannot be read: {said}") from error

    async def _fetch(self, request: httpx.Request) -> _Answer:
        response = await self._client.send(request, stream=True)
        try:
            parts = [chunk async for chunk in bounded_body.chunks(response, MAX_CATALOGUE_BYTES)]
        finally:
            await response.aclose()
        return _Answer(status=response.status_code, headers=dict(response.headers), payload=b"".join(parts))

    def _refuse(self, answer: _Answer) -> None:
        """Raise what an answer that is no success means."""
        if not is_error_status(answer.status):
            return
        if answer.status in _OUR_STATUSES and answer.is_readable():
            raise KeyRefused(f"The gateway refused the key ({answer.status}): {self._said(answer)}")
        raise GatewayUnavailable(f"The gateway answered {answer.status}: {self._said(answer)}")

    def _said(self, answer: _Answer) -> str:
        return read_error(answer.status, answer.headers, answer.payload).message.replace(self._api_key, "…")
