"""Faults that are errors before the answer: statuses, rate limits, filters, refusals of the request."""

from __future__ import annotations

import json
from dataclasses import replace
from email.utils import formatdate
from typing import Any

from sandbox import failures
from sandbox.answers import Scene
from sandbox.failures import Failure
from sandbox.faults.registry import Params, choice, fault, number, text
from sandbox.faults.shapes import ERROR_PAGE, PROVIDER_ERROR, SHAPE, SHAPES, typed
from sandbox.turn import Opening, Turn


def failing(turn: Turn, failure: Failure) -> Turn:
    """The turn with the failure in place of an answer; errors come as fast as first tokens do."""
    return replace(turn, opening=Opening.FAILURE, failure=failure)


def upstream_failure(turn: Turn, status: int, shape: str) -> Failure:
    """The upstream's error in one of the known shapes."""
    return Failure(status=status, error=SHAPES[shape](status, turn.shown_provider))


@fault("server_error", status=number(503, least=400, most=599), shape=SHAPE, retry_after=text())
def server_error(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The upstream answers with an error status, in any of the known shapes of the body."""
    failure = upstream_failure(turn, params.whole("status"), params.text("shape"))
    headers, hint_s = retry_after(params.text("retry_after"), scene.wall_s)
    return failing(turn, replace(failure, headers=headers, retry_after_s=hint_s))


@fault("client_error", status=number(402, least=400, most=499), shape=SHAPE)
def client_error(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The upstream blames the request or the account: 400, 401, 402, 403, 404, 413 or 422."""
    return failing(turn, upstream_failure(turn, params.whole("status"), params.text("shape")))


def retry_after(value: str, wall_s: float) -> tuple[failures.Headers, float | None]:
    """The Retry-After header for a scenario's value, and its seconds where they are known.

    "7" is sent as it is, "date:7" as the HTTP date seven seconds from now, anything else verbatim.
    """
    if not value:
        return (), None
    if value.startswith("date:"):
        seconds = float(value.removeprefix("date:"))
        return (("Retry-After", formatdate(wall_s + seconds, usegmt=True)),), seconds
    seconds_or_none = float(value) if value.replace(".", "", 1).isdigit() else None
    return (("Retry-After", value),), seconds_or_none


@fault(
    "rate_limited",
    whose=choice("upstream", "own"),
    retry_after=text(),
    shape=choice("raw", "typed", "pool", "capacity"),
)
def rate_limited(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A 429: the upstream's, naming it, or the gateway's own with X-RateLimit headers."""
    headers, hint_s = retry_after(params.text("retry_after"), scene.wall_s)
    if params.text("whose") == "own":
        reset_ms = int(scene.wall_s * 1000) + 60_000
        hint = headers[0][1] if headers else None
        return failing(turn, failures.own_rate_limit(limit=20, reset_ms=reset_ms, retry_after=hint).failure)
    if params.text("shape") == "capacity":
        failure = failures.capacity_exhausted(
            scene.model.id, [scene.endpoint.base_slug], int(hint_s or 40)
        ).failure
        return failing(turn, failure)
    error = _rate_limit_error(turn, scene, params.text("shape"))
    return failing(turn, Failure(status=429, error=error, headers=headers, retry_after_s=hint_s))


def _rate_limit_error(turn: Turn, scene: Scene, shape: str) -> dict[str, Any]:
    """An upstream 429 as recorded in 2025 (`raw`), typed, or as reported in 2026 (`pool`)."""
    if shape == "typed":
        return typed(429, turn.shown_provider)
    raw = (
        f"{scene.model.id} is temporarily rate-limited upstream. Please retry shortly, or add your own key to "
        "accumulate your rate limits: https://openrouter.ai/settings/integrations"
    )
    metadata: dict[str, Any] = {"provider_name": turn.shown_provider, "raw": raw}
    if shape == "pool":
        metadata["limit_source"] = "upstream_provider_shared_pool"
        metadata["remedy_hint"] = "Add your own provider key, or try another provider."
    return {"message": PROVIDER_ERROR, "code": 429, "metadata": metadata}


@fault("filtering", how=choice("finish", "native", "refusal_field", "moderation_403", "policy_400", "empty"))
def filtering(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A content filter strikes: as a finish reason, a refusal field, a moderation error or an empty answer."""
    how = params.text("how")
    if how in ("moderation_403", "policy_400"):
        return failing(turn, _policyupstream_failure(turn, scene, how))
    stopped = replace(turn, text="", tool_calls=(), duration_s=0.0)
    match how:
        case "finish":
            return replace(stopped, finish="content_filter", native_finish="content_filter")
        case "native":
            return replace(stopped, finish="stop", native_finish="PROHIBITED_CONTENT")
        case "refusal_field":
            return replace(stopped, refusal="The request was declined by the provider's content policy.")
        case _:
            return stopped


def _policyupstream_failure(turn: Turn, scene: Scene, how: str) -> Failure:
    if how == "policy_400":
        metadata: dict[str, Any] = {
            "error_type": "content_policy_violation",
            "provider_code": "content_policy_violation",
            "provider_name": turn.shown_provider,
        }
        error = {
            "message": "The request violates the provider's content policy.",
            "code": 400,
            "metadata": metadata,
        }
        return Failure(status=400, error=error)
    metadata = {
        "reasons": ["sexual", "violence"],
        "flagged_input": scene.request.last_text[:100],
        "provider_name": turn.shown_provider,
        "model_slug": scene.model.permaslug,
    }
    message = f'{scene.model.id} requires moderation on {turn.shown_provider}. Your input was flagged for "violence"'
    return Failure(status=403, error={"message": message, "code": 403, "metadata": metadata})


@fault("context_overflow", limit=number(8192, least=1), shape=choice("recorded", "typed"))
def context_overflow(turn: Turn, scene: Scene, params: Params) -> Turn:
    """The prompt is said to be longer than the context."""
    limit = params.whole("limit")
    failure = failures.context_overflow(limit, max(scene.request.prompt_tokens, limit + 1), previous=1)
    if params.text("shape") == "typed":
        metadata = {"error_type": "context_length_exceeded", "provider_code": "context_length_exceeded"}
        failure = replace(failure, error={"message": "Prompt is too long", "code": 400, "metadata": metadata})
    return failing(turn, failure)


@fault("prefill_rejected")
def prefill_rejected(turn: Turn, scene: Scene, params: Params) -> Turn:
    """A conversation that ends with an assistant's message is refused with a 400."""
    if not scene.request.has_prefill:
        return turn
    raw = json.dumps({"error": {"message": "The last message must be from the user."}})
    error = {
        "message": PROVIDER_ERROR,
        "code": 400,
        "metadata": {"provider_name": turn.shown_provider, "raw": raw},
    }
    return failing(turn, Failure(status=400, error=error))


@fault("html_error", status=number(502, least=200, most=599))
def html_error(turn: Turn, scene: Scene, params: Params) -> Turn:
    """An HTML page of the edge in place of JSON, with an error status or even a 200."""
    return failing(turn, Failure(status=params.whole("status"), page=ERROR_PAGE))
