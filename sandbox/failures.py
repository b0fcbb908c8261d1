"""The error answers of the gateway, in the shapes that were recorded or documented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

USER_ID = "user_sandbox"
Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Failure:
    """An HTTP error answer: `error` is the value of the body's `error` key, or, with `page`, the body is HTML.

    `retry_after_s` is the upstream's hint as far as the gateway understood it, for the summary of several attempts.
    """

    status: int
    error: Mapping[str, Any] | str = ""
    headers: Headers = ()
    page: str | None = None
    with_user: bool = True
    retry_after_s: float | None = None
    with_metadata: bool = True

    def body(self) -> dict[str, Any]:
        """The JSON body, without the router's metadata."""
        return {"error": self.error, "user_id": USER_ID} if self.with_user else {"error": self.error}


class GatewayRefusal(Exception):
    """Raised where the gateway itself, not an upstream, refuses a request."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.error)
        self.failure = failure


def refusal(status: int, message: str, *, with_user: bool = False, **extra: Any) -> GatewayRefusal:
    """A refusal by the gateway with the plain `{message, code}` error, plus any further error keys."""
    error = {"message": message, "code": status, **extra}
    return GatewayRefusal(Failure(status=status, error=error, with_user=with_user))


def bad_request(message: str) -> GatewayRefusal:
    """A 400 for what the caller sent; the recorded one carries the user's id."""
    return refusal(400, message, with_user=True)


def unknown_provider_keys(keys: Iterable[str]) -> GatewayRefusal:
    """The recorded 400 for a key which the `provider` object does not have."""
    names = ", ".join(f"'{key}'" for key in keys)
    return bad_request(f"Unrecognized key(s) in object: {names}")


def edge_refusal(status: int, message: str, headers: Headers = ()) -> GatewayRefusal:
    """A refusal before routing: it never carries the router's metadata."""
    error = {"message": message, "code": status}
    return GatewayRefusal(
        Failure(status=status, error=error, headers=headers, with_user=False, with_metadata=False)
    )


def own_rate_limit(*, limit: int, reset_ms: int, retry_after: str | None = None) -> GatewayRefusal:
    """The gateway's own 429, told from an upstream's by its X-RateLimit headers and the missing provider name."""
    values = {
        "X-RateLimit-Limit": str(limit),
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": str(reset_ms),
    }
    headers = tuple(values.items())
    error = {
        "message": "Rate limit exceeded: requests-per-min. ",
        "code": 429,
        "metadata": {"headers": values, "provider_name": None},
    }
    if retry_after is not None:
        headers = (*headers, ("Retry-After", retry_after))
    return GatewayRefusal(Failure(status=429, error=error, headers=headers, with_metadata=False))


def all_ignored() -> GatewayRefusal:
    """The recorded 404 when `ignore` leaves nobody."""
    return refusal(
        404,
        "All providers have been ignored. To change your default ignored providers, visit: "
        "https://openrouter.ai/settings/privacy",
    )


def only_miss(model: str, serving: Sequence[str], only: Sequence[str]) -> GatewayRefusal:
    """The recorded 404 when `only` names nobody who serves the model."""
    return refusal(
        404,
        f"No allowed providers are available for the selected model. Providers serving {model}: "
        f"{', '.join(serving)}, but your request's provider.only preference permits only: {', '.join(only)}.",
    )


def constraint_filtered(message: str, *, field: str, model: str, slugs: Sequence[str]) -> GatewayRefusal:
    """A 404 because a preference left no endpoint, with the documented `availability` object."""
    availability = {
        "code": "constraint_filtered",
        "retryable": False,
        "requested_models": [model],
        "affected_providers": list(slugs),
        "excluded_by": [field],
    }
    return refusal(404, message, availability=availability)


def context_overflow(limit: int, tokens: int, *, previous: int = 0) -> Failure:
    """The recorded 400 for a prompt beyond the context; `previous` repeats it as earlier attempts' errors."""
    message = (
        f"This endpoint's maximum context length is {limit} tokens. However, you requested about {tokens} tokens "
        f"({tokens} of text input). Please reduce the length of either one, or use the context-compression plugin "
        "to compress your prompt automatically."
    )
    earlier = [{"code": 400, "message": message}] * previous
    metadata = {"provider_name": None, "previous_errors": earlier}
    return Failure(status=400, error={"message": message, "code": 400, "metadata": metadata})


def too_long(limit: int, tokens: int, *, previous: int) -> GatewayRefusal:
    """The same before any upstream was asked, because no context is long enough."""
    return GatewayRefusal(context_overflow(limit, tokens, previous=previous))


def capacity_exhausted(model: str, slugs: Sequence[str], retry_after_s: int) -> GatewayRefusal:
    """The documented 429 with `availability` and `http_status` instead of `code`."""
    error = {
        "message": f"All providers for {model} are at capacity. Retry after {retry_after_s} seconds.",
        "error_type": "rate_limit_exceeded",
        "http_status": 429,
        "availability": {
            "code": "capacity_exhausted",
            "retryable": True,
            "retry_after": retry_after_s,
            "requested_models": [model],
            "affected_providers": list(slugs),
            "fallback_models": [],
            "docs_url": "https://openrouter.ai/docs/errors#capacity_exhausted",
        },
        "metadata": {
            "previous_errors": [
                {"provider": slug, "code": "capacity_exhausted", "status": 429} for slug in slugs
            ]
        },
    }
    headers = (("Retry-After", str(retry_after_s)),)
    return GatewayRefusal(Failure(status=429, error=error, headers=headers, with_user=False))
