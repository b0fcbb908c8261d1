"""What is sent to OpenRouter: the pinned body of rule C2 and the headers of a chat request."""

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from routing.domain.matching import matches

NEVER_IN_A_PIN = frozenset(
    {
        "models",
        "route",
        "preset",
        "plugins",
        "transforms",
        "provider",
        "service_tier",
        "session_id",
        "prompt_cache_key",
        "user",
    }
)
"""Body fields that name another model or lane, repair the answer, or make routing stick to an earlier one."""

NEVER_IN_PREFERENCES = frozenset({"only", "order", "ignore", "sort", "allow_fallbacks"})
"""Provider preferences that choose among endpoints: a pin has chosen."""

REPAIRS_OFF = ({"id": "response-healing", "enabled": False}, {"id": "context-compression", "enabled": False})
"""Plugins an account may have on by default, switched off for this request as the API's schema provides:
the first repairs JSON, the second shortens prompts."""

CHAT_HEADERS = {
    "X-OpenRouter-Cache": "false",
    "X-OpenRouter-Metadata": "enabled",
    "Accept-Encoding": "identity",
}


def pinned_body(
    body: Mapping[str, Any], *, model: str, tag: str, siblings: Sequence[str], preferences: Mapping[str, Any]
) -> dict[str, Any]:
    """`body` as a request that reaches exactly the endpoint `tag`; see `Gateway.pinned_body`.

    The preferences may narrow the pin to nothing (a price limit the endpoint is above); they never widen it.
    """
    kept = {name: value for name, value in body.items() if name not in NEVER_IN_A_PIN}
    provider = {name: value for name, value in preferences.items() if name not in NEVER_IN_PREFERENCES}
    ignored = sorted({sibling for sibling in siblings if not matches(sibling, tag)})
    provider |= {"only": [tag], "allow_fallbacks": False} | ({"ignore": ignored} if ignored else {})
    return {**kept, "model": model, "provider": provider, "plugins": [dict(plugin) for plugin in REPAIRS_OFF]}


def chat_headers(extra: Mapping[str, str] | None) -> httpx.Headers:
    """Headers of a chat request: no cached answer, router metadata on; `extra` overrides."""
    headers = httpx.Headers(CHAT_HEADERS)
    headers.update(extra or {})
    return headers
