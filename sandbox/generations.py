"""What /generation says of an answer afterwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from sandbox.envelope import Attempted, Envelope
from sandbox.turn import Turn

# Keys of the documented answer about which the sandbox has nothing to say.
_NEVER_SET = (
    "app_id",
    "cache_discount",
    "external_user",
    "http_referer",
    "moderation_latency",
    "preset_id",
    "router",
    "session_id",
    "upstream_id",
    "user_agent",
    "web_search_engine",
)
_ALWAYS_ZERO = (
    "native_tokens_cached",
    "native_tokens_completion_images",
    "num_fetches",
    "num_input_audio_prompt",
    "num_media_completion",
    "num_media_prompt",
    "num_search_results",
)


def generation_body(
    envelope: Envelope,
    turn: Turn,
    attempts: Sequence[Attempted],
    *,
    generation_time_ms: int,
    facts: Mapping[str, Any],
) -> dict[str, Any]:
    """The `data` object; `facts` are keys of the request and its end which stand in it as they are."""
    usage, latency_ms = turn.usage, round(turn.ttft_s * 1000)
    return {
        **dict.fromkeys(_NEVER_SET),
        **dict.fromkeys(_ALWAYS_ZERO, 0),
        **facts,
        "id": envelope.id,
        "api_type": "completions",
        "created_at": datetime.fromtimestamp(envelope.created, UTC).isoformat(),
        "data_region": "global",
        "finish_reason": turn.finish,
        "generation_time": generation_time_ms,
        "is_byok": False,
        "latency": latency_ms,
        "model": envelope.model,
        "native_finish_reason": turn.native_finish,
        "native_tokens_completion": usage.completion_tokens,
        "native_tokens_prompt": usage.prompt_tokens,
        "native_tokens_reasoning": usage.reasoning_tokens,
        "origin": "",
        "provider_name": envelope.provider,
        "provider_responses": [_response(attempt, latency_ms) for attempt in attempts],
        "tokens_completion": usage.completion_tokens,
        "tokens_prompt": usage.prompt_tokens,
        "total_cost": round(usage.cost, 9),
        "upstream_inference_cost": round(usage.cost, 9),
        "usage": round(usage.cost, 9),
    }


def _response(attempt: Attempted, latency_ms: int) -> dict[str, Any]:
    return {
        "provider_name": attempt.provider,
        "status": attempt.status,
        "latency": latency_ms,
        "endpoint_id": None,
        "id": None,
        "is_byok": False,
        "model_permaslug": attempt.model,
    }
