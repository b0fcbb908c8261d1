"""What surrounds an answer's text: ids, provider, usage, router metadata, and the JSON that carries them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.turn import Turn, Usage

Metadata = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """The parts that every chunk of one answer repeats; `provider` None leaves the key out."""

    id: str
    created: int
    model: str
    provider: str | None
    metadata: Metadata | None

    def head(self, kind: str) -> dict[str, Any]:
        """The leading keys of a body (`chat.completion`) or chunk (`chat.completion.chunk`)."""
        head: dict[str, Any] = {"id": self.id, "object": kind, "created": self.created, "model": self.model}
        if self.provider is not None:
            head["provider"] = self.provider
        return head


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """One upstream attempt as the router's metadata reports it."""

    provider: str
    model: str
    status: int


def router_metadata(
    requested: str,
    available: Sequence[tuple[str, str]],
    *,
    region: str,
    selected: int | None,
    attempts: Sequence[Attempted],
) -> Metadata:
    """The `openrouter_metadata` object; without attempts no upstream was asked.

    `available` holds (provider, model) pairs, and `selected` is the place in it of the one that answered.
    """
    rows = [
        {"provider": provider, "model": model, "selected": place == selected}
        for place, (provider, model) in enumerate(available)
    ]
    listed = {"total": len(rows), "available": rows}
    if not attempts:
        return {"requested": requested, "strategy": "direct", "attempt": 0, "endpoints": listed}
    return {
        "requested": requested,
        "strategy": "direct",
        "region": region,
        "summary": f"available={len(rows)}, selected={'none' if selected is None else available[selected][0]}",
        "attempt": len(attempts),
        "is_byok": False,
        "endpoints": listed,
        "attempts": [
            {"provider": attempt.provider, "model": attempt.model, "status": attempt.status}
            for attempt in attempts
        ],
    }


def usage_body(usage: Usage) -> dict[str, Any]:
    """The `usage` object with costs in USD."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.completion_tokens,
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        "cost": round(usage.cost, 9),
        "is_byok": False,
        "prompt_tokens_details": {
            "cached_tokens": 0,
            "cache_write_tokens": 0,
            "audio_tokens": 0,
            "video_tokens": 0,
        },
        "cost_details": {
            "upstream_inference_cost": round(usage.cost, 9),
            "upstream_inference_prompt_cost": round(usage.prompt_cost, 9),
            "upstream_inference_completions_cost": round(usage.completion_cost, 9),
        },
        "completion_tokens_details": {
            "reasoning_tokens": usage.reasoning_tokens,
            "image_tokens": 0,
            "audio_tokens": 0,
        },
    }


def reasoning_details(text: str) -> list[dict[str, Any]]:
    """The structured form of a piece of reasoning."""
    return [{"type": "reasoning.text", "text": text, "format": None, "index": 0}]


def completion_body(envelope: Envelope, turn: Turn) -> dict[str, Any]:
    """The body of an answer that is not streamed."""
    body = envelope.head("chat.completion")
    body["system_fingerprint"] = None
    body["service_tier"] = None
    body["choices"] = None if turn.null_choices else [_choice(turn)]
    body["usage"] = usage_body(turn.usage)
    if envelope.metadata is not None:
        body["openrouter_metadata"] = envelope.metadata
    return body


def _choice(turn: Turn) -> dict[str, Any]:
    return {
        "index": 0,
        "logprobs": None,
        "finish_reason": turn.finish,
        "native_finish_reason": turn.native_finish,
        "message": _message(turn),
    }


def _message(turn: Turn) -> dict[str, Any]:
    message: dict[str, Any] = {
        "role": "assistant",
        "content": turn.text,
        "refusal": turn.refusal,
        "reasoning": turn.reasoning or None,
    }
    if turn.reasoning:
        message["reasoning_details"] = reasoning_details(turn.reasoning)
    if turn.tool_calls:
        message["tool_calls"] = [
            {
                "type": "function",
                "index": index,
                "id": call.id,
                "function": _function(call.name, call.arguments),
            }
            for index, call in enumerate(turn.tool_calls)
        ]
    return message


def _function(name: str, arguments: str | None) -> dict[str, str]:
    return {"name": name} if arguments is None else {"name": name, "arguments": arguments}


def chunk_prefix(envelope: Envelope) -> bytes:
    """`data: {"id":…,"provider":…,` ready for what differs between chunks."""
    head = json.dumps(envelope.head("chat.completion.chunk"), ensure_ascii=False, separators=(",", ":"))
    return b"data: " + head[:-1].encode("utf-8") + b","
