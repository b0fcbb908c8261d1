"""One chat answer put together from what OpenRouter sent of it: stream chunks or a whole completion.

Both have the same skeleton (`choices[0]` with a `delta` or a `message`, `usage`, `provider`, …), so one
accumulator reads both. It is permissive in shape and never drops text in silence: `add` says when a part
that may have held text could not be read.
"""

import json
from collections.abc import Mapping
from typing import Any

from routing.gateways.base import Exchange, Usage
from routing.gateways.hostile_json import (
    as_cost,
    as_count,
    as_int,
    as_list,
    as_mapping,
    as_ms,
    as_name,
    bounded,
    whole_text,
)

MAX_TOOL_CALLS = 128
"""Calls kept of one answer; a count beyond what any recorded answer or tool list holds."""
MAX_ROUTER_ENTRIES = 256
"""Endpoints kept of the router's metadata; no model has had more than some dozens."""


class Answer:
    """What has come of an answer so far; `first_token_ms` and `first_text_ms` are set as it comes."""

    def __init__(self) -> None:
        self.first_token_ms: float | None = None
        self.first_text_ms: float | None = None
        self.finish_reason: str | None = None
        self._native_finish_reason: str | None = None
        self._text: list[str] = []
        self._reasoning: list[str] = []
        self._refusal: list[str] = []
        self._calls = ToolCalls()
        self._served_by: str | None = None
        self._served_model: str | None = None
        self._id: str | None = None
        self._router: Mapping[str, Any] = {}
        self._usage = Usage()

    def add(self, document: Mapping[str, Any], at_ms: float | None) -> bool:
        """Take in one chunk or completion that came at `at_ms`; False when it held text nobody could read."""
        self._add_envelope(document)
        choices = document.get("choices")
        if choices is None or choices == []:
            return True
        choice = next(iter(as_list(choices)), None)
        if not isinstance(choice, dict):
            return False
        if as_int(choice.get("index")):
            return True
        self.finish_reason = as_name(choice.get("finish_reason")) or self.finish_reason
        self._native_finish_reason = as_name(choice.get("native_finish_reason")) or self._native_finish_reason
        return self._add_message(choice, at_ms)

    def exchange(self, *, header_generation_id: str | None, header_provider: str | None) -> Exchange:
        """The answer as an `Exchange` that still lacks status, end and failure."""
        return Exchange(
            text=whole_text(self._text),
            reasoning=whole_text(self._reasoning),
            refusal=whole_text(self._refusal) or None,
            tool_calls=self._calls.as_tuple(),
            finish_reason=self.finish_reason,
            native_finish_reason=self._native_finish_reason,
            served_by=self._served_by or as_name(header_provider),
            served_model=self._served_model,
            generation_id=as_name(header_generation_id) or self._id,
            router_metadata=self._router,
            usage=self._usage,
            first_token_ms=as_ms(self.first_token_ms),
            first_text_ms=as_ms(self.first_text_ms),
        )

    def _add_envelope(self, document: Mapping[str, Any]) -> None:
        self._id = self._id or as_name(document.get("id"))
        self._served_by = as_name(document.get("provider")) or self._served_by
        self._served_model = as_name(document.get("model")) or self._served_model
        router = document.get("openrouter_metadata")
        if isinstance(router, dict):
            self._router = bounded(router, items=MAX_ROUTER_ENTRIES)
        if isinstance(document.get("usage"), dict):
            self._usage = _read_usage(document["usage"], self._usage)

    def _add_message(self, choice: Mapping[str, Any], at_ms: float | None) -> bool:
        part = choice.get("delta")
        if part is None and not any(self._text):
            part = choice.get("message")
        if part is None:
            return True
        if not isinstance(part, dict):
            return False
        text, refusal = _text_of(part.get("content")), _text_of(part.get("refusal"))
        reasoning, called = _reasoning_of(part), self._calls.add(part.get("tool_calls"))
        self._text.append(text or "")
        self._reasoning.append(reasoning)
        self._refusal.append(refusal or "")
        is_token = bool(reasoning.strip() or refusal or called or _has_encrypted(part))
        self._mark(at_ms, text or "", is_token=is_token)
        return text is not None and refusal is not None and called is not None

    def _mark(self, at_ms: float | None, text: str, *, is_token: bool) -> None:
        has_text = bool(text.strip())
        if has_text and self.first_text_ms is None:
            self.first_text_ms = at_ms
        if (has_text or is_token) and self.first_token_ms is None:
            self.first_token_ms = at_ms


class ToolCalls:
    """Tool calls merged from deltas: by `index`, a new id or a second complete call starting another one.

    Some upstreams repeat index and id for distinct calls, some leave `arguments` out (read as empty), some
    send a finished call twice; a repeat of the same id, name and arguments is the same call.
    """

    def __init__(self) -> None:
        self._calls: list[dict[str, Any]] = []
        self._at_index: dict[int, dict[str, Any]] = {}

    def add(self, deltas: object) -> bool | None:
        """Merge one chunk's calls: True when there were any, None when one could not be read."""
        if deltas is None or deltas == []:
            return False
        parts = as_list(deltas)
        if not parts or not all(isinstance(part, dict) for part in parts):
            return None
        read = [self._merge(position, part) for position, part in enumerate(parts)]
        return all(read) or None

    def as_tuple(self) -> tuple[Mapping[str, Any], ...]:
        """The calls in the order they began, `arguments` as the text the model wrote."""
        return tuple(
            {
                **call,
                "function": {
                    "name": call["function"]["name"],
                    "arguments": whole_text([call["function"]["arguments"]]),
                },
            }
            for call in self._calls
        )

    def _merge(self, position: int, part: Mapping[str, Any]) -> bool:
        stated = as_int(part.get("index"))
        index = position if stated is None else stated
        call_id, function = as_name(part.get("id")), as_mapping(part.get("function"))
        name, arguments = as_name(function.get("name")), _arguments_of(function.get("arguments"))
        call = self._at_index.get(index)
        if (
            call is not None
            and call_id in (None, call["id"])
            and name
            and arguments.strip()
            and _is_complete(call)
        ):
            if (name, arguments) == (call["function"]["name"], call["function"]["arguments"]):
                return True
            call = None
        if call is None or (call_id and call["id"] and call_id != call["id"]):
            call = self._begin(index)
        if call is None:
            return False
        call["id"] = call["id"] or call_id
        call["function"]["name"] = call["function"]["name"] or name
        call["function"]["arguments"] += arguments
        return True

    def _begin(self, index: int) -> dict[str, Any] | None:
        if len(self._calls) >= MAX_TOOL_CALLS:
            return None
        call = {
            "index": len(self._calls),
            "id": None,
            "type": "function",
            "function": {"name": None, "arguments": ""},
        }
        self._calls.append(call)
        self._at_index[index] = call
        return call


def _text_of(content: object) -> str | None:
    """The text of a `content` or `refusal`: a string, null or a list of text parts; None when unreadable."""
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts = [as_mapping(part).get("text", "") for part in content]
    return "".join(texts) if all(isinstance(text, str) for text in texts) else None


def _reasoning_of(part: Mapping[str, Any]) -> str:
    """Reasoning text: the plain field, else the text or summary of its details, which repeat it."""
    plain = part.get("reasoning") or part.get("reasoning_content")
    if isinstance(plain, str):
        return plain
    details = [as_mapping(detail) for detail in as_list(part.get("reasoning_details"))]
    texts = [detail.get("text") or detail.get("summary") for detail in details]
    return "".join(text for text in texts if isinstance(text, str))


def _has_encrypted(part: Mapping[str, Any]) -> bool:
    return any(as_mapping(detail).get("data") for detail in as_list(part.get("reasoning_details")))


def _arguments_of(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(bounded(value), ensure_ascii=False)


def _is_complete(call: Mapping[str, Any]) -> bool:
    arguments = call["function"]["arguments"]
    if not arguments.rstrip().endswith("}"):
        return False
    try:
        json.loads(arguments)
    except (ValueError, RecursionError):
        return False
    return True


def _read_usage(usage: Mapping[str, Any], before: Usage) -> Usage:
    """Tokens and cost of a usage object; what it leaves out, or cannot mean, stays as an earlier one said."""
    details = as_mapping(usage.get("completion_tokens_details"))
    prompt, completion = as_count(usage.get("prompt_tokens")), as_count(usage.get("completion_tokens"))
    reasoning, cost = as_count(details.get("reasoning_tokens")), as_cost(usage.get("cost"))
    return Usage(
        prompt_tokens=before.prompt_tokens if prompt is None else prompt,
        completion_tokens=before.completion_tokens if completion is None else completion,
        reasoning_tokens=before.reasoning_tokens if reasoning is None else reasoning,
        cost_usd=before.cost_usd if cost is None else cost,
    )
