"""An answer as server-sent events, each with the moment it is due."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from sandbox.envelope import Envelope, chunk_prefix, reasoning_details, usage_body
from sandbox.exchange import encode
from sandbox.turn import Ending, ErrorPlacement, ToolCall, Turn

COMMENT = b": OPENROUTER PROCESSING\n\n"
DONE = b"data: [DONE]\n\n"
JUNK = b'data: {"id":"gen-broken","choices":[{"index":0,"delta":{"content":"\n\n'
_PIECE_LETTERS = 16
_LONGEST_PIECE = 28
# A first token later than this comes after an early role-only delta, as upstreams send it.
_LATE_S = 1.0

Beat = tuple[float, bytes]


def pieces(text: str) -> list[str]:
    """The text in pieces of a few words, or of a fixed length where there are no spaces; they join to the text."""
    found: list[str] = []
    start = 0
    while start < len(text):
        end = text.find(" ", start + _PIECE_LETTERS, start + _LONGEST_PIECE)
        end = end if end > 0 else min(start + _PIECE_LETTERS, len(text))
        found.append(text[start:end])
        start = end
    return found


def events(envelope: Envelope, turn: Turn) -> Iterator[Beat]:
    """The events of the answer, as (seconds since the request, bytes), up to where the turn's ending begins."""
    prefix = chunk_prefix(envelope)
    yield (turn.ttft_s / 2 if turn.ttft_s > _LATE_S else turn.ttft_s), _chunk(prefix, {"content": ""})
    if turn.null_choices:
        yield turn.ttft_s, prefix + b'"choices":null}\n\n'
        return
    deltas = _deltas(turn)
    kept = len(deltas) if turn.break_at >= 1 else math.floor(len(deltas) * turn.break_at)
    junk = {math.floor(share * len(deltas)) for share in turn.junk_at}
    step_s = turn.duration_s / len(deltas) if deltas else 0.0
    for index, delta in enumerate(deltas[:kept]):
        due_s = turn.ttft_s + index * step_s
        if index in junk:
            yield due_s, JUNK
        yield due_s, _chunk(prefix, delta)
    yield turn.ttft_s + kept * step_s, b""


def closing(envelope: Envelope, turn: Turn) -> bytes:
    """The finish chunk, the usage chunk that repeats its reason, and `[DONE]`, as far as the ending has them."""
    prefix = chunk_prefix(envelope)
    if turn.ending is Ending.ERROR_EVENT:
        return _error_events(envelope, turn, prefix)
    delta: dict[str, Any] = {"content": ""}
    if turn.refusal is not None:
        delta["refusal"] = turn.refusal
    data = _chunk(prefix, delta, turn.finish, turn.native_finish)
    data += _usage_chunk(envelope, turn, turn.finish, turn.native_finish)
    return data if turn.ending is Ending.NO_DONE else data + DONE


def _deltas(turn: Turn) -> list[dict[str, Any]]:
    """Reasoning first, then text, then tool calls."""
    deltas: list[dict[str, Any]] = [
        {"content": "", "reasoning": piece, "reasoning_details": reasoning_details(piece)}
        for piece in pieces(turn.reasoning)
    ]
    deltas += [{"content": piece} for piece in pieces(turn.text or "")]
    for index, call in enumerate(turn.tool_calls):
        deltas += _call_deltas(index, call)
    return deltas


def _call_deltas(index: int, call: ToolCall) -> list[dict[str, Any]]:
    """The call's name with empty arguments, the same again as upstreams do, then the arguments in pieces."""
    function: dict[str, Any] = {"name": call.name}
    if call.arguments is not None:
        function["arguments"] = ""
    opening = {"index": index, "id": call.id, "type": "function", "function": function}
    parts = ["", *pieces(call.arguments)] if call.arguments is not None else []
    return [
        {"content": None, "tool_calls": [opening]},
        *(
            {"content": None, "tool_calls": [{"index": index, "function": {"arguments": part}}]}
            for part in parts
        ),
    ]


def _chunk(
    prefix: bytes, delta: dict[str, Any], finish: str | None = None, native: str | None = None
) -> bytes:
    content, *others = delta.items()
    ordered = dict([content, ("role", "assistant"), *others])
    choice = {"index": 0, "delta": ordered, "finish_reason": finish, "native_finish_reason": native}
    return prefix + b'"choices":[' + encode(choice) + b"]}\n\n"


def _usage_chunk(envelope: Envelope, turn: Turn, finish: str | None, native: str | None) -> bytes:
    delta = {"content": "", "role": "assistant"}
    choice = {"index": 0, "delta": delta, "finish_reason": finish, "native_finish_reason": native}
    chunk = envelope.head("chat.completion.chunk")
    chunk |= {"service_tier": None, "choices": [choice], "usage": usage_body(turn.usage)}
    if envelope.metadata is not None:
        chunk["openrouter_metadata"] = envelope.metadata
    return b"data: " + encode(chunk) + b"\n\n"


def _error_events(envelope: Envelope, turn: Turn, prefix: bytes) -> bytes:
    """The error event that ends the stream, after an early finish chunk where the turn has one."""
    if turn.finish_before_error is not None:
        early = turn.finish_before_error
        return _chunk(prefix, {"content": ""}, early, early) + error_event(envelope, turn, finish=None) + DONE
    return error_event(envelope, turn, finish="error")


def error_event(envelope: Envelope, turn: Turn, *, finish: str | None) -> bytes:
    """One event with the turn's error; after a finish chunk it also carries the usage, as one was recorded to."""
    chunk = envelope.head("chat.completion.chunk")
    choice: dict[str, Any] = {"index": 0, "delta": {"content": ""}, "finish_reason": finish}
    match turn.error_placement:
        case ErrorPlacement.TOP:
            chunk |= {"error": turn.error_event, "choices": [choice]}
        case ErrorPlacement.CHOICE:
            chunk["choices"] = [{**choice, "error": turn.error_event}]
        case ErrorPlacement.NO_CHOICES:
            chunk |= {"error": turn.error_event, "choices": []}
    if finish is None:
        chunk["usage"] = usage_body(turn.usage)
    if envelope.metadata is not None:
        chunk["openrouter_metadata"] = envelope.metadata
    return b"data: " + encode(chunk) + b"\n\n"
