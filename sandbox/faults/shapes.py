"""The shapes in which upstream errors were seen: what may stand as `error` for a status and a provider."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from sandbox.faults.registry import choice

MESSAGES = {
    400: "Bad request",
    401: "Invalid credentials",
    402: "Insufficient funds",
    403: "Forbidden",
    404: "Not found",
    408: "Request timed out",
    413: "Payload too large",
    422: "Unprocessable entity",
    429: "Rate limit exceeded",
    500: "Internal server error",
    502: "Bad gateway",
    503: "The model is overloaded",
    504: "Gateway timeout",
    524: "A timeout occurred",
    529: "Overloaded",
}
TYPES = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    408: "timeout",
    413: "payload_too_large",
    422: "unprocessable",
    429: "rate_limit_exceeded",
    500: "server",
    502: "provider_unavailable",
    503: "provider_overloaded",
    504: "timeout",
    524: "timeout",
    529: "provider_overloaded",
}
PROVIDER_ERROR = "Provider returned error"
ERROR_PAGE = (
    "<!DOCTYPE html><html><head><title>Bad gateway</title></head><body><h1>Bad gateway</h1>"
    "<p>The web server reported a bad gateway error. Please try again in a few minutes.</p></body></html>"
)


def _raw(status: int, name: str | None) -> dict[str, Any]:
    raw = json.dumps({"error": {"message": MESSAGES.get(status, "Error"), "code": status}})
    return {"message": PROVIDER_ERROR, "code": status, "metadata": {"provider_name": name, "raw": raw}}


def _raw_object(status: int, name: str | None) -> dict[str, Any]:
    raw = {"error": {"message": MESSAGES.get(status, "Error"), "type": TYPES.get(status, "server")}}
    return {"message": PROVIDER_ERROR, "code": status, "metadata": {"provider_name": name, "raw": raw}}


def typed(status: int, name: str | None) -> dict[str, Any]:
    """The newer shape, with `error_type`."""
    metadata: dict[str, Any] = {
        "error_type": TYPES.get(status, "server"),
        "provider_code": str(status),
        "provider_name": name,
        "previous_errors": [],
    }
    return {"message": MESSAGES.get(status, "Error"), "code": status, "metadata": metadata}


def _string_code(status: int, name: str | None) -> dict[str, Any]:
    return {
        "message": MESSAGES.get(status, "Error"),
        "code": "server_error",
        "metadata": {"provider_name": name},
    }


def _no_code(status: int, name: str | None) -> dict[str, Any]:
    return {
        "message": MESSAGES.get(status, "Error"),
        "error_type": TYPES.get(status, "server"),
        "http_status": status,
        "metadata": {"provider_name": name},
    }


def _string_error(status: int, name: str | None) -> str:
    return f"{name or 'provider'}: {MESSAGES.get(status, 'Error')}"


SHAPES: dict[str, Callable[[int, str | None], dict[str, Any] | str]] = {
    "raw": _raw,
    "raw_object": _raw_object,
    "typed": typed,
    "string_code": _string_code,
    "no_code": _no_code,
    "string_error": _string_error,
}
SHAPE = choice(*SHAPES)
