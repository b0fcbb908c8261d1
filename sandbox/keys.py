"""Bearer keys: which are taken, in what state they are, and what /key says of them."""

from __future__ import annotations

from typing import Any

from sandbox.exchange import Exchange
from sandbox.failures import USER_ID, edge_refusal
from sandbox.scenario import Key, KeyState
from sandbox.state import SandboxState

# Only the sentence about the missing header was recorded; the others are the gateway's, from its documentation.
_REFUSALS = {
    KeyState.REVOKED: (401, "User not found."),
    KeyState.OUT_OF_CREDIT: (
        402,
        "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
    ),
    KeyState.LIMIT_REACHED: (
        403,
        "Key limit exceeded (total limit). Manage it using https://openrouter.ai/settings/keys",
    ),
}


def _token(exchange: Exchange) -> str:
    scheme, _, token = exchange.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def is_authenticated(exchange: Exchange) -> bool:
    """Whether the request carries any bearer token."""
    return bool(_token(exchange))


def checked_key(state: SandboxState, exchange: Exchange) -> tuple[Key, str]:
    """The key and its token. Raises GatewayRefusal (401) when it is missing or revoked."""
    token = _token(exchange)
    if not token:
        raise edge_refusal(401, "Missing Authentication header")
    key = state.key_state(token)
    if key.state is KeyState.REVOKED:
        raise edge_refusal(*_REFUSALS[key.state])
    return key, token


def paying_key(state: SandboxState, exchange: Exchange) -> None:
    """Raise GatewayRefusal unless the key may buy an answer now (401, 402 or 403)."""
    key, _ = checked_key(state, exchange)
    if key.state in _REFUSALS:
        raise edge_refusal(*_REFUSALS[key.state])


def key_body(state: SandboxState, key: Key, token: str) -> dict[str, Any]:
    """The answer of /key."""
    used = round(state.spent_usd, 6)
    remaining = None if key.limit_usd is None else round(max(0.0, key.limit_usd - used), 6)
    if key.state is not KeyState.OK:
        remaining = 0
    return {
        "data": {
            "label": f"{token[:12]}...{token[-3:]}",
            "limit": key.limit_usd,
            "limit_remaining": remaining,
            "limit_reset": None,
            "usage": used,
            "usage_daily": used,
            "usage_weekly": used,
            "usage_monthly": used,
            "byok_usage": 0,
            "byok_usage_daily": 0,
            "byok_usage_weekly": 0,
            "byok_usage_monthly": 0,
            "include_byok_in_limit": False,
            "is_free_tier": False,
            "is_management_key": False,
            "is_provisioning_key": False,
            "creator_user_id": USER_ID,
            "expires_at": None,
            "rate_limit": {
                "requests": 1000,
                "interval": "1h",
                "note": "This field is deprecated and safe to ignore.",
            },
        }
    }
